"""Made-up people to decide about, and learners that tell what they were given."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression


class People(NamedTuple):
    X: NDArray
    y: NDArray
    A: NDArray


def make_people(n: int = 400, *, groups: int = 2, seed: int = 0) -> People:
    """Three features, the first of which gives the group away, and a label that follows it."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, groups, n)
    X = rng.normal(size=(n, 3)) + np.array([1.0, 0.0, 0.0]) * A[:, None]
    y = (X @ [1.0, 1.0, 0.0] + rng.logistic(size=n) > 0.5).astype(int)
    return People(X, y, A)


def selection_gap(selected: NDArray, A: NDArray) -> float:
    """Return the largest distance of a group's selection rate from everybody's."""
    return max(abs(selected[a == A].mean() - selected.mean()) for a in np.unique(A))


class SpyLearner(ClassifierMixin, BaseEstimator):
    """Logistic regression on tables of any kind that notes each X, y and weight it is given."""

    seen: list[tuple[Any, Any, Any]]
    predicted: list[Any]

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    @classmethod
    def fresh(cls) -> type[SpyLearner]:
        """Return a spy with an empty notebook, shared by all its clones."""
        return type("SpyLearner", (cls,), {"seen": [], "predicted": []})

    def fit(self, X, y, sample_weight=None):
        self.seen.append((X, y, sample_weight))
        self.model_ = LogisticRegression(C=self.C).fit(to_matrix(X), y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        self.predicted.append(X)
        return self.model_.predict(to_matrix(X))


def to_matrix(X: Any) -> Any:
    """Return numbers that scikit-learn takes, from a table of any kind."""
    if issparse(X):
        return X.toarray()
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame.to_numpy() if isinstance(frame, nw.DataFrame) else X


def three_labels(n: int = 600, seed: int = 0):
    """Return features, labels "low", "mid" and "top", and the group of people, a or b."""
    rng = np.random.default_rng(seed)
    A = rng.choice(["a", "b"], n)
    X = np.column_stack([(A == "a") + rng.normal(size=n), rng.normal(size=n)])
    score = X.sum(axis=1) + 0.5 * rng.normal(size=n)
    return X, np.array(["low", "mid", "top"])[np.digitize(score, [0.0, 1.2])], A
