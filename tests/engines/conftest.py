from __future__ import annotations

import hypothesis  # noqa: F401  its plugin would import it at the end, beside running threads
import numpy as np
import pytest
from clusters import N, client_of, split, trees, two_workers

from equipoise import ParquetRows
from equipoise.engines import engine_for
from equipoise.rows.people import People


@pytest.fixture(scope="session")
def cluster():
    """For all tests that leave the workers alive."""
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of one test: nothing of a test before it is left on the workers."""
    with client_of(cluster) as client:
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


@pytest.fixture(params=["memory", "disk", "dask"])
def opened(request, people, tmp_path):
    """Open an engine on the people, with further columns and settings."""

    pd = pytest.importorskip("pandas")

    def open_engine(*more, groups=None, labels=None, estimator=None, **settings):
        X, y, A = people
        A = A if groups is None else groups
        y = y if labels is None else labels
        if request.param == "dask":
            request.getfixturevalue("client")
            X, y, A, *more = [None if each is None else split(each)[0] for each in (X, y, A, *more)]
        if request.param == "disk":
            names = [f"x{j}" for j in range(X.shape[1])]
            pd.DataFrame(X, columns=names).to_parquet(tmp_path / "rows.parquet")
            X = ParquetRows(tmp_path, features=names, batch_size=512)
        kind = engine_for(X)
        assert kind.__name__.lower() == f"{request.param}engine"
        given = dict(zip(("utilities", "sample_weight"), more, strict=False))
        given |= {name: settings.pop(name) for name in ("missing", "bins") if name in settings}
        return kind.open(People(X, y, A, **given), estimator=estimator or trees(), **settings)

    return open_engine
