"""The benchmarks of a Dask cluster run, at a small size."""

from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed")
pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be imported")
pytest.importorskip("xgboost")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


def test_dask_cluster(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    benchmark = pytest.importorskip("dask_cluster")
    found = benchmark.measure(4000, workers=1, trees=2, rounds=1, stock=False)
    assert found["rows"] == 4000
    assert found["calls"] >= 2
    for name in ("ours", "alone", "table ms", "fit", "driver MiB"):
        assert found[name] > 0


def test_kill_workers_summary(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    benchmark = pytest.importorskip("kill_workers")
    np = pytest.importorskip("numpy")
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 3)) + A[:, None]
    y = (X[:, 0] + rng.normal(size=500) > 0.5).astype(int)
    first, second = (benchmark.fitted(LogisticRegression(C=c), (X, y, A)) for c in (1.0, 0.001))
    assert benchmark.summary(first, X) == benchmark.summary(first, X)
    assert benchmark.summary(first, X) != benchmark.summary(second, X)
