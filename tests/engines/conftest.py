from __future__ import annotations

import hypothesis  # noqa: F401  its plugin would import it at the end, beside running threads
import numpy as np
import pytest
from clusters import N, two_workers


@pytest.fixture(scope="session")
def cluster():
    """For all tests that leave the workers alive."""
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of one test: nothing of a test before it is left on the workers."""
    from distributed import Client

    with Client(cluster) as client:
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
