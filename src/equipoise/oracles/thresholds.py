"""Thresholds on the scores of a trained learner, placed where the costs are least."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from equipoise.cells.table import Array

T = TypeVar("T")
#: What NumPy, Cython, SciPy and Python say to those who write where they may not.
_REFUSED = re.compile(r"read-?only|not writ(e)?able", re.IGNORECASE)


class Guard:
    """Calls learners on views that cannot be written to, or on copies where they must write.

    Nothing is copied for a learner that only reads. scikit-learn's own estimators copy a read-only
    array where they would work in place. Whoever else tries to write gets an error, is called
    once more on copies, and on copies from then on.

    Examples
    --------
    >>> def centre(X):  # works in place
    ...     X -= X.mean()
    ...     return X.tolist()
    >>> rows = np.array([0.0, 2.0])
    >>> Guard()(centre, rows), rows.tolist()
    ([-1.0, 1.0], [0.0, 2.0])
    """

    _copies = False

    def __call__(self, function: Callable[..., T], *tables: Any) -> T:
        """Return ``function(*tables)``; it is called twice if it writes, so it must start anew."""
        if not self._copies:
            try:
                with _copy_on_write():
                    return function(*map(read_only, tables))
            except (ValueError, TypeError, BufferError) as error:
                if not _REFUSED.search(str(error)):
                    raise
            self._copies = True
        return function(*map(fresh, tables))


def read_only(table: Any) -> Any:
    """Return the table over the same memory, without the right to change it.

    Arrays and sparse matrices refuse to be written to. A write to a data frame goes to a copy that
    pandas makes then. Tables of other kinds are returned as they are.
    """
    if isinstance(table, np.ndarray):
        view = table.view()
        view.flags.writeable = False
        return view
    if issparse(table):
        if table.format in ("lil", "dok"):  # of lists and dictionaries
            return table.copy()
        other = copy(table)
        for name, part in vars(table).items():
            if isinstance(part, np.ndarray):
                vars(other)[name] = read_only(part)
            elif isinstance(part, tuple) and all(isinstance(x, np.ndarray) for x in part):
                vars(other)[name] = tuple(map(read_only, part))
        return other
    if nw.dependencies.is_pandas_dataframe(table):
        return table.copy(deep=False)
    return table.clone() if nw.dependencies.is_polars_dataframe(table) else table


def fresh(table: Any) -> Any:
    """Return a copy of a table, in the same layout."""
    if isinstance(table, np.ndarray):
        return np.array(table, order="K", subok=True)
    if issparse(table) or nw.dependencies.is_pandas_dataframe(table):
        return table.copy()
    return table


def _copy_on_write() -> AbstractContextManager:
    """Let pandas before 3 copy frames when they are written to, as later ones always do."""
    pandas = sys.modules.get("pandas")
    if pandas is None or int(pandas.__version__.partition(".")[0]) >= 3:
        return nullcontext()
    return pandas.option_context("mode.copy_on_write", True)


@dataclass(eq=False, repr=False)
class ThresholdedClassifier:
    """A trained learner whose decision is ``score > threshold`` instead of its own.

    The score is the learner's ``decision_function``, or the probability of class 1.
    """

    classifier: Any
    threshold: float

    def __repr__(self) -> str:
        return f"<{type(self.classifier).__name__} cut at {self.threshold:.4g}>"

    def predict(self, X: Any) -> NDArray:
        """Decide 0 or 1 for each row."""
        return (scores(self.classifier, X) > self.threshold).astype(np.int64)


def is_tuned(threshold: str, trained: Any) -> bool:
    """Whether the threshold of a trained learner is to be moved to where the costs are least.

    That of any learner with scores where ``threshold`` is "tuned", that of a linear one where it is
    "auto", and none where it is "learner".
    """
    if threshold not in ("auto", "tuned", "learner"):
        raise ValueError(f"threshold is {threshold!r}; expected 'auto', 'tuned' or 'learner'.")
    if threshold == "learner" or not has_scores(trained):
        return False
    return threshold == "tuned" or is_linear(trained)


def learner_of(classifier: Any) -> Any:
    """Return the trained learner behind a classifier, its own threshold or not."""
    return classifier.classifier if isinstance(classifier, ThresholdedClassifier) else classifier


def has_scores(classifier: Any) -> bool:
    """Whether a trained binary classifier gives more than its decisions."""
    two = len(getattr(classifier, "classes_", ())) == 2
    return two and (
        hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")
    )


def is_linear(classifier: Any) -> bool:
    """Whether scores are linear in the features, or in what a pipeline makes of them.

    Such a classifier has few parameters and does not know its training rows by heart, so a
    threshold tuned on these serves others as well. Trees and forests do; there it does not.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> learners = LogisticRegression(), DecisionTreeClassifier()
    >>> [is_linear(learner.fit([[0.0], [1.0]], [0, 1])) for learner in learners]
    [True, False]
    """
    steps = getattr(classifier, "steps", None)
    return hasattr(steps[-1][1] if steps else classifier, "coef_")


def scores(classifier: Any, X: Any) -> Array:
    """Return the scores of a binary classifier, higher for class 1."""
    if hasattr(classifier, "decision_function"):
        return np.asarray(Guard()(classifier.decision_function, X), dtype=float)
    return np.asarray(Guard()(classifier.predict_proba, X), dtype=float)[:, 1]


def tuned(
    classifier: Any, X: Any, label: NDArray, weight: Array
) -> tuple[ThresholdedClassifier, NDArray[np.bool_]]:
    """Return the classifier cut where the weighted error is least, and its decisions.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 1, 1, 0])
    >>> logistic = LogisticRegression().fit(X, y)
    >>> cut, decisions = tuned(logistic, X, y, np.array([1.0, 5.0, 5.0, 1.0]))
    >>> decisions.tolist()
    [True, True, True, False]
    """
    score = scores(classifier, X)
    signed = np.where(label == 1, -weight, weight)
    own, rounding = own_threshold(classifier), 1e-9 * weight.sum()
    least, cuts = _best_cuts(score, signed, rounding)
    # Of cuts that cost the same up to rounding, the nearest to the learner's own is taken.
    if np.sum(signed, where=score > own) <= least + rounding:
        threshold = own
    else:
        threshold = _below(cuts[np.argmin(np.abs(cuts - own))], score[signed != 0])
    return ThresholdedClassifier(classifier, threshold), score > threshold


def _best_cuts(score: Array, signed: Array, rounding: float) -> tuple[float, Array]:
    """Return the least sum of signed costs over scores from some value on, and all such values.

    The scores are first sorted roughly, into bins. What a cut inside a bin can cost at the least
    follows from sums over bins, and only bins where it could be the least of all are sorted in
    full: a few rows in a hundred, as a rule.
    """
    bins = _bins(score)
    sums = np.bincount(bins, weights=signed)
    gains = np.bincount(bins, weights=np.minimum(signed, 0.0))
    above = np.append(np.cumsum(sums[::-1])[::-1][1:], 0.0)  # selecting all of the bins above
    sort = above + gains <= min(0.0, (above + sums).min()) + rounding
    rows = np.flatnonzero(sort[bins] & (signed != 0))  # who weighs nothing has no say
    order = rows[np.argsort(score[rows])[::-1]]
    ranked = score[order]
    skipped = np.append(np.cumsum(np.where(sort, 0.0, sums)[::-1])[::-1][1:], 0.0)
    cost = np.cumsum(signed[order]) + skipped[bins[order]]
    cost[:-1][ranked[1:] == ranked[:-1]] = np.inf  # a cut is between different scores
    least = float(min(cost.min(initial=0.0), 0.0))
    nobody = [np.inf] if least + rounding >= 0 else []
    return least, np.append(ranked[cost <= least + rounding], nobody)


def _bins(score: Array, n_bins: int = 2048, enough: int = 1 << 14) -> NDArray[np.uint16]:
    """Return the bin of each score, in order; one for all when there is little to sort."""
    sample = score[:: max(len(score) // 4096, 1)]
    low, high = np.quantile(sample, [0.01, 0.99]) if len(sample) else (0.0, 0.0)
    if len(score) < enough or not low < high < np.inf:
        return np.zeros(len(score), dtype=np.uint16)
    scaled = score - low
    scaled *= n_bins / (high - low)
    np.fmin(np.fmax(scaled, 0.0, out=scaled), n_bins - 1, out=scaled)
    return scaled.astype(np.uint16)


def _below(cut: float, score: Array) -> float:
    """Return a threshold that exactly the scores from ``cut`` on exceed."""
    if cut == np.inf:
        return float("inf")
    lower = score.max(initial=-np.inf, where=score < cut)
    middle = lower + (cut - lower) / 2 if lower > -np.inf else lower
    return float(middle if middle < cut else lower)


def own_threshold(classifier: Any) -> float:
    """Return the threshold that the learner itself puts on its scores."""
    return 0.0 if hasattr(classifier, "decision_function") else 0.5
