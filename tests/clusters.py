"""Clusters for tests, and people for engines: learners, arrays in partitions, shares."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

N = 3000
BOUNDS = [0.01, 0.03, 0.1]

#: What workers need: imported once, by the process that they are forked off.
PRELOADED = ["distributed", "dask.array", "dask.dataframe", "xgboost"]
PRELOADED += ["equipoise.engines.dask.engine", "sklearn.linear_model"]


@contextmanager
def two_workers():
    """Start a Dask cluster of two processes, without two interpreters that import everything."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    dask = pytest.importorskip("dask")
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(PRELOADED)
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            yield cluster


@contextmanager
def client_of(cluster):
    """Connect to a cluster; afterwards nothing is computed there, whatever else is connected."""
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    with dask.config.set(scheduler=None), distributed.Client(cluster) as client:
        yield client


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
