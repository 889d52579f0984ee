"""Decisions of classifiers, checked."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from equipoise.oracles.decisions import binary_predictions, decisions
from equipoise.oracles.thresholds import ThresholdedClassifier


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


def test_pipelines_share_the_work_of_their_transformers():
    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8) > 3
    calls = []
    transformer = FunctionTransformer(lambda X: calls.append(1) or X + 1).fit(X)
    parts = [LogisticRegression(C=C).fit(X + 1, y * 1) for C in (0.01, 1.0)]
    pipelines = [Pipeline([("t", transformer), ("l", part)]) for part in parts]
    members = [*pipelines, ThresholdedClassifier(pipelines[1], -0.5), parts[0]]
    found = list(decisions(members, X))
    assert len(calls) == 1
    for h, member in zip(found, members, strict=True):
        np.testing.assert_array_equal(h, member.predict(X) == 1)
