from __future__ import annotations

import hypothesis  # noqa: F401  its plugin would import it at the end, beside running threads
import numpy as np
import pytest
from clusters import N


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def people():
    """Features of few values, so that bins are the values, in whatever order rows come."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, N)
    X = np.round(rng.normal(size=(N, 4)), 1)
    X[:, 0] += A
    X += 0.0  # no -0.0, which equals 0.0 and is written otherwise
    y = (X.sum(axis=1) + rng.normal(size=N) > 1).astype(int)
    return X, y, A
