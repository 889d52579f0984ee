"""Decisions of classifiers, checked."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.oracles.decisions import binary_predictions


@pytest.mark.parametrize(
    "given", [[0, 1, 1], [0.0, 1.0, 1.0], [False, True, True], [[0], [1], [1]]]
)
def test_predictions_that_are_binary(given):
    class Model:
        def predict(self, X):
            return np.array(given)

    np.testing.assert_array_equal(binary_predictions(Model(), None), [0, 1, 1])


@pytest.mark.parametrize(
    "given", [[0.5, 1], [-1, 1], [0, 2], ["0", "1"], [np.nan, 1], [[0, 1], [1, 0]]]
)
def test_predictions_that_are_not_binary(given):
    class Model:
        def predict(self, X):
            return np.array(given)

    with pytest.raises(ValueError, match=r"Model\.predict returned.*expected one 0 or 1 per row"):
        binary_predictions(Model(), None)
