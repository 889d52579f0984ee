"""People who apply, in groups that differ."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

SEEDS = range(6)


def applicants(seed: int = 0, n: int = 400, groups: int = 2):
    rng = np.random.default_rng(seed)
    A = rng.integers(0, groups, n)
    X = np.column_stack([A + rng.normal(size=n), rng.normal(size=n), A])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.5 * groups).astype(int)
    return X, y, A


def rates(h, where, weight):
    return np.sum(h[where] * weight[where]) / np.sum(weight[where])


class Scores(LogisticRegression):
    """Not a learner: the first feature is the score."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])
