"""Thresholds on the scores of a trained learner, placed where the costs are least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.oracles.decisions import ThresholdedClassifier, scores


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
