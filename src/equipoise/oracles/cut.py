"""A cut through the scores of several classifiers: one rule in place of a mixture of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.table import Array
from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.decisions import ThresholdedClassifier, scores
from equipoise.oracles.thresholds import has_scores, own_threshold
from equipoise.rows.tables import batches


class LinearCut:
    """Selects where a weighted sum of the scores of trained classifiers is positive.

    Parameters
    ----------
    classifiers : sequence of trained classifiers
        Each with ``decision_function``, or else the probability of its second class.
    coefficients : array-like
        One for each classifier.
    intercept : float

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> up, late = (LogisticRegression().fit(X, X[:, 0] > cut) for cut in (0.5, 2.5))
    >>> LinearCut([up, late], [1.0, 1.0], 0.0).predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(
        self, classifiers: Sequence[Any], coefficients: ArrayLike, intercept: float
    ) -> None:
        self.classifiers, self.intercept = list(classifiers), float(intercept)
        self.coefficients = np.asarray(coefficients, dtype=float)
        self.classes_ = np.array([0, 1])

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in self.classifiers))
        return f"<cut through the scores of {len(self.classifiers)} classifiers ({kinds})>"

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Decide 0 or 1 for each row."""
        return (self.decision_function(X) > 0).astype(np.int64)

    def decision_function(self, X: Any) -> Array:
        """Return the weighted sum for each row; it is positive where the row is selected."""
        return scores_of(self.classifiers, X) @ self.coefficients + self.intercept


def scores_of(classifiers: Sequence[Any], X: Any) -> Array:
    """Return the scores of all classifiers, of shape (n, m); rows on disk are read once."""
    return np.concatenate(
        [np.column_stack([scores(part, batch) for part in classifiers]) for batch in batches(X)]
    )


def scored(member: Any) -> tuple[Any, float] | None:
    """Return the trained classifier behind a member and the cut on its scores; None without scores.

    A candidate of the user's counts if its classes are in the order of those of the fit.
    """
    if isinstance(member, ThresholdedClassifier):
        return member.classifier, member.threshold
    if isinstance(member, LabelAdapter):
        given, member = member.classes, member.classifier
        if not has_scores(member) or list(member.classes_) != list(given):
            return None
    return (member, own_threshold(member)) if has_scores(member) else None
