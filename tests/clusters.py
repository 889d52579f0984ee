"""People for engines: learners, arrays in partitions, and shares from raw arrays."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

N = 3000
BOUNDS = [0.01, 0.03, 0.1]


def logistic():
    return LogisticRegression(C=0.1, tol=1e-12, solver="newton-cholesky", max_iter=200)


def trees():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, random_state=0)


def split(*arrays, chunks=700):
    da = pytest.importorskip("dask.array")
    return [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


def raw_shares(model, X, y, A):
    """The share of everybody that is selected with each label in each group, from raw arrays."""
    h = np.asarray(model.predict(X)).astype(bool)
    return [(h & (a == A) & (y == b)).mean() for a in np.unique(A) for b in (0, 1)]


def restless(X):
    """Return other rows each time; here, so that workers can import it."""
    return X + np.random.default_rng().normal(scale=3.0, size=X.shape)
