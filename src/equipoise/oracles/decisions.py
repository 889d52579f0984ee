"""Decisions of classifiers: their predictions, checked, and of several on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from equipoise.cells.table import Array
from equipoise.exceptions import DeploymentError
from equipoise.oracles.cell_probabilities import CellProbabilities
from equipoise.oracles.thresholds import Guard, ThresholdedClassifier, learner_of
from equipoise.rows.tables import Batched

#: Costs this small, relative to the largest, are rounding: nobody is selected for them.
ROUNDING = 1e-12


@dataclass(eq=False, repr=False)
class TransformedClassifier:
    """A classifier that transforms rows before it decides.

    A `sklearn.pipeline.Pipeline` would do the same, but its last step must be an estimator.

    Parameters
    ----------
    transformer : object with ``transform``
        Fitted; classifiers that share it also share its work, see
        `equipoise.oracles.decisions.decisions`.
    classifier : object with ``predict``
        Trained on transformed rows.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> scaler = StandardScaler().fit([[10.0], [30.0]])
    >>> stump = DecisionTreeClassifier().fit([[-1.0], [1.0]], [0, 1])
    >>> TransformedClassifier(scaler, stump).predict([[19.0], [21.0]])
    array([0, 1])
    """

    transformer: Any
    classifier: Any

    def __repr__(self) -> str:
        return f"<{self.classifier!r} after {type(self.transformer).__name__}>"

    def predict(self, X: Any) -> NDArray:
        """Decide 0 or 1 for each row."""
        return self.classifier.predict(Guard()(self.transformer.transform, X))


def select(probabilities: Array, costs: Array) -> NDArray:
    """Return whose expected cost is negative, from the probabilities of the cells (n, C).

    Of more than two decisions it is the number of the cheapest one.
    """
    rounding = -ROUNDING * np.abs(costs).max(initial=0.0)
    if len(costs) == probabilities.shape[1]:
        return probabilities @ costs < rounding
    each = probabilities @ np.reshape(costs, (probabilities.shape[1], -1))
    return np.where(each.min(axis=1) < rounding, each.argmin(axis=1) + 1, 0)


@dataclass(eq=False, repr=False)
class PluginClassifier:
    """Selects those whose expected cost is negative; of several decisions, takes the cheapest.

    Parameters
    ----------
    probabilities : CellProbabilities
        Shared by all classifiers of an oracle.
    costs : array of shape (C (V - 1),)
    """

    probabilities: CellProbabilities
    costs: Array

    def __repr__(self) -> str:
        return f"<threshold on the probabilities of {len(self.probabilities.table.label)} cells>"

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the decision, 0 to V - 1, for each row."""
        return self.select(self.probabilities(X)).astype(np.int64)

    def select(self, probabilities: Array) -> NDArray:
        """Return who is selected, from the probabilities of the cells of shape (n, C)."""
        return select(probabilities, self.costs)


def decisions(classifiers: Sequence[Any], X: Any, n_decisions: int = 2) -> Iterator[NDArray]:
    """Yield whom each classifier selects, or its decisions 0 to V - 1, one after the other.

    Plug-in classifiers share their probabilities, which are computed once for all of them, and
    classifiers behind the same fitted transformers the output of these. Rows on disk are read once,
    in batches.

    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> [h.tolist() for h in decisions([yes, no], [[0], [1]])]
    [[True, True], [False, False]]
    """
    if isinstance(X, Batched):
        yield from _from_batches(classifiers, X, n_decisions)
        return
    known: dict[int, Array] = {}
    transformed: dict[tuple[int, ...], Any] = {}
    parts = [_split(classifier) for classifier in classifiers]
    left = Counter(_key(transformers) for transformers, _ in parts)
    for transformers, classifier in parts:
        key = _key(transformers)
        if (rows := transformed.pop(key, None)) is None:
            rows = reduce(lambda rows, step: Guard()(step.transform, rows), transformers, X)
        left[key] -= 1
        if left[key]:  # others come after the same transformers
            transformed[key] = rows
        if isinstance(classifier, PluginClassifier):
            shared = classifier.probabilities
            if id(shared) not in known:
                known[id(shared)] = shared(rows)
            yield classifier.select(known[id(shared)])
        else:
            yield predictions(classifier, rows, n_decisions)


def _key(transformers: list[Any]) -> tuple[int, ...]:
    return tuple(map(id, transformers))


def _split(classifier: Any) -> tuple[list[Any], Any]:
    """Return the transformers that rows go through, and the classifier of what comes out."""
    if isinstance(classifier, TransformedClassifier):
        transformers, last = _split(classifier.classifier)
        return [classifier.transformer, *transformers], last
    if isinstance(classifier, ThresholdedClassifier):
        transformers, last = _split(classifier.classifier)
        return transformers, ThresholdedClassifier(last, classifier.threshold)
    if type(classifier) is Pipeline:
        *transformers, last = (step for _, step in classifier.steps)
        return [step for step in transformers if step not in (None, "passthrough")], last
    return [], classifier


def _from_batches(classifiers: Sequence[Any], rows: Batched, n_decisions: int) -> NDArray:
    dtype = bool if n_decisions == 2 else np.intp
    found = np.empty((len(classifiers), len(rows)), dtype=dtype)
    start = 0
    for batch in rows.batches():
        for decided, some in zip(found, decisions(classifiers, batch, n_decisions), strict=True):
            decided[start : start + len(batch)] = some
        start += len(batch)
    return found


def predictions(classifier: Any, X: Any, n_decisions: int = 2) -> NDArray:
    """Return the decisions of a classifier trained on labels 0 to V - 1, checked.

    Of two, it is who is selected: an array of bools.
    """
    h = np.asarray(Guard()(classifier.predict, X))
    if h.ndim == 2 and h.shape[1] == 1:
        h = h[:, 0]
    if n_decisions > 2:
        is_decision = h.dtype.kind in "iuf" and np.isin(h, np.arange(n_decisions)).all()
    elif h.dtype.kind in "iu":  # many times as fast as comparing, and without a copy
        is_decision = bool(np.bitwise_or.reduce(h, axis=None) in (0, 1))
    else:
        is_decision = h.dtype == bool or bool(((h == 0) | (h == 1)).all())
    if h.ndim != 1 or not is_decision:
        seen, most = np.unique(h), n_decisions - 1
        shown = ", ".join(map(str, seen[:4])) + (", ..." if len(seen) > 4 else "")
        raise ValueError(
            f"{type(classifier).__name__}.predict returned an array of shape {h.shape} with values "
            f"{shown}; expected one {'0 or 1' if n_decisions == 2 else f'of 0 to {most}'} per row. "
            "equipoise needs a classifier, not a regressor or a model of scores."
        )
    return h.astype(bool if n_decisions == 2 else np.intp, copy=False)


#: Shares of the same decisions may be added up in another order.
_REPEATED = 1e-9
_REMEDY = (
    "A certificate would speak of another classifier than the one deployed, so there is no result. "
    "Causes: predictions that draw at random or depend on earlier calls (fix random_state, or make "
    "predict a function of its rows); a transformer or learner that writes into its input past "
    "NumPy's protection (set copy=True); a checkpoint that was damaged, or written with another "
    "version of the learner (delete the folder)."
)


def check_shares(recorded: ArrayLike, again: ArrayLike, classifiers: Sequence[Any]) -> None:
    """Raise unless classifiers select, asked once more, what was recorded of them.

    Parameters
    ----------
    recorded, again : array of shape (P, C)
        Selected shares of each cell.
    classifiers : sequence of P classifiers

    Examples
    --------
    >>> check_shares([[0.25, 0.5]], [[0.25, 0.5 + 1e-12]], ["the same up to rounding"])
    """
    recorded, again = np.asarray(recorded), np.asarray(again)
    difference = np.abs(again - recorded).sum(axis=1)
    if (difference <= _REPEATED).all():
        return
    worst = int(np.argmax(np.nan_to_num(difference, nan=np.inf)))
    raise DeploymentError(
        f"{_kind(classifiers[worst])} does not decide as recorded: by weight, "
        f"{recorded[worst].sum():.4%} of the rows were selected when it was measured, and "
        f"{again[worst].sum():.4%} when it was asked about the same rows again (differences of "
        f"all cells together: {difference[worst]:.2g}). {_REMEDY}"
    )


def check_probabilities(recorded: Array, again: Array, learner: Any) -> None:
    """Raise unless a learner's model gives the probabilities that were recorded of it."""
    if not (difference := float(np.abs(again - recorded).max(initial=0.0))) <= _REPEATED:
        raise DeploymentError(
            f"{_kind(learner)} does not give the probabilities recorded: asked about the same rows "
            f"again, they differ by up to {difference:.2g}. {_REMEDY}"
        )


def _kind(classifier: Any) -> str:
    """Return the class of the learner behind a classifier."""
    if isinstance(classifier, TransformedClassifier):
        classifier = classifier.classifier
    learner = learner_of(classifier)
    steps = getattr(learner, "steps", None)
    inner = f" with {type(steps[-1][1]).__name__}" if steps else ""
    return f"{type(learner).__name__}{inner}"
