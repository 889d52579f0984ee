"""Decisions of a trained learner: its own, or its scores cut where the costs are least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells import Array


class ThresholdedClassifier:
    """A trained learner whose decision is ``score > threshold`` instead of its own.

    The score is the learner's ``decision_function``, or the probability of class 1.
    """

    def __init__(self, classifier: Any, threshold: float) -> None:
        self.classifier, self.threshold = classifier, threshold

    def __repr__(self) -> str:
        return f"<{type(self.classifier).__name__} cut at {self.threshold:.4g}>"

    def predict(self, X: Any) -> NDArray:
        """Decide 0 or 1 for each row."""
        return (scores(self.classifier, X) > self.threshold).astype(np.int64)


def has_scores(classifier: Any) -> bool:
    """Whether a trained binary classifier gives more than its decisions."""
    two = len(getattr(classifier, "classes_", ())) == 2
    return two and (
        hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")
    )


def scores(classifier: Any, X: Any) -> Array:
    """Return the scores of a binary classifier, higher for class 1."""
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X), dtype=float)
    return np.asarray(classifier.predict_proba(X), dtype=float)[:, 1]


def tuned(
    classifier: Any, X: Any, label: NDArray, weight: Array
) -> tuple[ThresholdedClassifier, NDArray[np.bool_]]:
    """Cut the scores where the weighted error is least; return the classifier and its decisions.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 1, 1, 0])
    >>> logistic = LogisticRegression().fit(X, y)
    >>> cut, decisions = tuned(logistic, X, y, np.array([1.0, 5.0, 5.0, 1.0]))
    >>> decisions.tolist()
    [True, True, True, False]
    """
    score = scores(classifier, X)
    order = np.argsort(score)[::-1]
    if not weight.all():  # rows without weight have no say in where to cut
        order = order[weight[order] > 0]
    # Selecting the first k in order of score costs the sum of their signed costs. The steps are
    # taken in place: with a million rows, memory is what limits this.
    cost = np.zeros(len(order) + 1)
    np.take(weight, order, out=cost[1:], mode="clip")
    np.negative(cost[1:], out=cost[1:], where=label[order] == 1)
    np.cumsum(cost, out=cost)
    ranked = score[order]
    del order
    # A cut is possible only between different scores.
    cost[1:-1][ranked[1:] == ranked[:-1]] = np.inf
    # Of cuts that cost the same up to rounding, the nearest to the learner's own is taken.
    own, least = _own_threshold(classifier), cost.min() + 1e-9 * weight.sum()
    if cost[np.count_nonzero(ranked > own)] <= least:
        threshold = own
    else:
        cuts = np.array([_between(ranked, int(k)) for k in np.flatnonzero(cost <= least)])
        threshold = float(cuts[np.argmin(np.abs(cuts - own))])
    return ThresholdedClassifier(classifier, threshold), score > threshold


def _own_threshold(classifier: Any) -> float:
    return 0.0 if hasattr(classifier, "decision_function") else 0.5


def _between(ranked: Array, k: int) -> float:
    """Return a threshold that exactly the first k of the scores, in falling order, exceed."""
    if k == 0:
        return float("inf")
    if k == len(ranked):
        return float("-inf")
    middle = (ranked[k - 1] + ranked[k]) / 2
    return float(middle if middle < ranked[k - 1] else ranked[k])


def binary_predictions(classifier: Any, X: Any) -> NDArray[np.bool_]:
    """Return whom a classifier trained on labels 0 and 1 selects, its predictions checked."""
    h = np.asarray(classifier.predict(X))
    if h.ndim == 2 and h.shape[1] == 1:
        h = h[:, 0]
    if h.ndim != 1 or not _is_binary(h):
        seen = np.unique(h)
        shown = ", ".join(map(str, seen[:4])) + (", ..." if len(seen) > 4 else "")
        raise ValueError(
            f"{type(classifier).__name__}.predict returned an array of shape {h.shape} with values "
            f"{shown}; expected one 0 or 1 per row. equipoise needs a classifier, not a "
            "regressor or a model of scores."
        )
    return h.astype(bool, copy=False)


def _is_binary(h: NDArray) -> bool:
    if h.dtype.kind in "iu":  # many times as fast as comparing, and without a copy
        return bool(np.bitwise_or.reduce(h) in (0, 1))
    return h.dtype == bool or bool(((h == 0) | (h == 1)).all())
