"""A learner that notes what it is given."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin


class Spy(ClassifierMixin, BaseEstimator):
    """A learner that says yes to all, and notes the labels and weights it is given."""

    labels: list
    weights: list

    def fit(self, X, y, sample_weight=None):
        self.labels.append(y)
        self.weights.append(sample_weight)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones(X.shape[0])


@pytest.fixture
def spy():
    """Return a spy with an empty notebook, shared by all its clones."""
    return type("Spy", (Spy,), {"labels": [], "weights": []})
