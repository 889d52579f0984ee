"""Error and violations of expected predictions, from raw arrays and without either library."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Halves(NamedTuple):
    """People to learn from, and others to measure on, in the order of `train_test_split`."""

    X: NDArray
    X_test: NDArray
    y: NDArray
    y_test: NDArray
    A: NDArray
    A_test: NDArray


def expected_predictions(weighted_members: list[tuple[float, Any]], X: NDArray) -> NDArray:
    """Return the probability of deciding 1 for each row, given members and their weights."""
    expected = np.zeros(len(X))
    for weight, member in weighted_members:
        expected += weight * (np.asarray(member.predict(X)) == 1)
    return expected


def members(fitted: Any) -> list[tuple[float, Any]]:
    """Return the weights and members of a fitted equipoise or fairlearn classifier."""
    if hasattr(fitted, "classifier_"):
        mixture = fitted.classifier_
        return list(zip(mixture.weights.tolist(), mixture.members, strict=True))
    weights = fitted.weights_
    return [(float(weights[at]), fitted.predictors_[at]) for at in weights.index if weights[at] > 0]


def error(expected: NDArray, y: NDArray) -> float:
    """Expected share of wrong decisions."""
    return float(np.where(y == 1, 1 - expected, expected).mean())


def demographic_parity(expected: NDArray, y: NDArray, group: NDArray) -> float:
    """Largest difference between a group's selection rate and everybody's."""
    return max(abs(expected[group == a].mean() - expected.mean()) for a in np.unique(group))


def equalized_odds(expected: NDArray, y: NDArray, group: NDArray) -> float:
    """Largest difference between a group's rate and everybody's, given either label."""
    return max(
        abs(expected[(group == a) & (y == label)].mean() - expected[y == label].mean())
        for a, label in product(np.unique(group), (0, 1))
    )
