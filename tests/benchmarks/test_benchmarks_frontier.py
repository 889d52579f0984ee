"""The benchmarks of frontiers run at a small size, and count what they say they count."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return pytest.importorskip


def rows_of(text):
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_many_groups_adds_up(script, monkeypatch, capsys):
    many_groups = script("many_groups")
    small = ("--rows", "4000", "--groups", "6", "--bounds", "2", "--learners", "logistic")
    monkeypatch.setattr(sys, "argv", ["many_groups", *small])
    many_groups.main()
    (row,) = rows_of(capsys.readouterr().out)
    parts = sum(float(row[name]) for name in ("learner, s", "LP, s", "rest, s"))
    assert parts == pytest.approx(float(row["all, s"]), abs=0.11)
    assert int(row["LPs"]) > 0
    assert float(row["excess"]) < 1e-6


def test_large_frontier_without_the_data_says_so(script, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("EQUIPOISE_SHARED_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["large_frontier"])
    script("large_frontier").main()
    assert capsys.readouterr().out.startswith("skipped: acs_income_2018.parquet")


def test_matched_violations_are_read_off_the_lower_hull(script):
    pytest.importorskip("lightgbm")
    plugin = script("plugin")
    curve = plugin.Curve("c", violation=[0.02, 0.0, 0.01], error=[0.10, 0.20, 0.19])
    found = curve.errors_at(np.array([0.0, 0.01, 0.015, 0.03]))
    np.testing.assert_allclose(found, [0.20, 0.15, 0.125, np.nan])  # 0.19 lies above the hull


def test_growth_tells_what_is_too_slow(script, monkeypatch, tmp_path):
    growth = script("growth")
    size, file = growth.Size(rows=500), tmp_path / "data.npz"
    np.savez(file, **growth.make_data(500, 2, 2))
    found = growth.measure_apart("equipoise", size, file, 60)
    assert found["calls"] >= 1
    assert found["seconds"] > 0

    def killed(*args, **kwargs):
        return type("Done", (), {"returncode": -signal.SIGXCPU})

    monkeypatch.setattr(growth.subprocess, "run", killed)
    ended = growth.measure_apart("fairlearn", size, file, 7)
    assert ended == {"ended": "too slow (> 7 s)"}
    results = {("rows", size, "equipoise"): found, ("rows", size, "fairlearn"): ended}
    assert "| too slow (> 7 s) |" in growth.table("rows", [size], results)


def test_a_table_larger_than_the_limit(script, tmp_path):
    pytest.importorskip("xgboost", minversion="3.0")
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is read from /proc")
    out_of_core = script("out_of_core")
    file = tmp_path / "people.parquet"
    assert out_of_core.write_table(file, 10_000, 4) == 160_000
    found = out_of_core.fit_apart(file, "on disk", 2, 2000)
    assert found["fits"] > 1
    assert found["excess"] < 1e-6
    failed = out_of_core.row_of({"kind": "in memory", "failed": "no memory", "peak": 2**20})
    assert failed[:4] == ["in memory", "fails: no memory", "", "1"]


def test_errors_at_equal_violation_are_averaged_over_splits_first(script):
    pytest.importorskip("fairlearn")
    frontier = script("frontier")
    curve = np.array([[0.20, 0.00], [0.16, 0.01], [0.14, 0.02]])  # error, violation
    shifts = np.array([0.001, 0.004, -0.002, 0.003])
    lifted = curve + np.stack([shifts, np.zeros(4)], axis=-1)[:, None]
    splits = np.stack([lifted, np.broadcast_to(curve, lifted.shape)], axis=1)
    difference = frontier.at_equal_violation(*splits.mean(axis=0))
    assert difference == pytest.approx(shifts.mean())
    assert frontier.jackknife(splits) == pytest.approx(shifts.std(ddof=1) / 2)
    # Noise that cancels out at each bound lowers the envelopes of the splits, not that of the mean.
    noise = np.array([[1, -1, 1], [-1, 1, -1]])[..., None] * [0.01, 0.0]
    noisy = np.stack([curve + noise, np.broadcast_to(curve, (2, 3, 2))], axis=1)
    assert frontier.at_equal_violation(*noisy.mean(axis=0)) == pytest.approx(0.0, abs=1e-12)
    assert np.mean([frontier.at_equal_violation(*split) for split in noisy]) < -1e-3


def test_a_frontier_alone_is_asked_for_fairlearns_gap(script, monkeypatch, capsys):
    pytest.importorskip("fairlearn")
    frontier = script("frontier")
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 300)
    X = np.column_stack([A + rng.normal(size=300), rng.normal(size=300)])
    y = (X.sum(axis=1) + rng.normal(size=300) > 0.5).astype(int)
    monkeypatch.setattr(frontier, "read", lambda problem: (X, y, A))
    small = ("--ours-only", "--problems", "law", "--bounds", "2")
    monkeypatch.setattr(sys, "argv", ["frontier", *small])
    frontier.main()
    rows = rows_of(capsys.readouterr().out)
    assert [row["problem"] for row in rows] == ["law DP", "law EO"]
    for row, notion in zip(rows, frontier.NOTIONS, strict=True):
        other = frontier.theirs((X, y, A), (X, y, A), notion, "logistic", np.array([0.1]))
        assert float(row["gap asked"]) == pytest.approx(other.nu, abs=1e-6)
        assert int(row["fits"]) > 0
        assert 0 < float(row["mean error"]) < 0.5
        assert float(row["over a bound, largest"]) < 1e-6


def test_tuned_thresholds_are_compared_on_both_kinds_of_rows(script, monkeypatch, capsys):
    pytest.importorskip("fairlearn")
    tuned = script("tuned")
    rows = script("step").made_up(0, 2, 400)
    monkeypatch.setattr(tuned, "problems", lambda most: [("made up", rows)])
    monkeypatch.setattr(sys, "argv", ["tuned", "--seeds", "2", "--bounds", "2"])
    tuned.main()
    found = rows_of(capsys.readouterr().out)
    assert [row["problem"] for row in found] == ["made up DP", "made up EO"]
    for row in found:
        assert float(row["training error, tuned minus own"]) < 0.01  # up to the gap, and to zero
        assert abs(float(row["test error at equal violation"])) < 0.2
        assert float(row["standard error"]) >= 0


@pytest.mark.parametrize(
    ("row", "theirs"),
    [(("DP", 0.05), 0.26653), (("error", 0.005, 0.8), 0.27535), (("EO", 0.02, 0.8), 0.29665)],
)
def test_smoke_rows_reach_what_fairlearn_finds(script, row, theirs):
    smoke_rows = script("smoke_rows")
    found = smoke_rows.run(smoke_rows.Problem(*row), smoke_rows.People.of(), theirs=False)
    assert found.error <= theirs + smoke_rows.NU
    assert found.excess <= 1e-6
    assert found.calls <= 15


def test_draws_mixes_models_within_the_bound(script):
    draws = script("draws")
    y, A = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    decisions = np.array([[0, 0, 1, 1], [0, 0, 0, 0]])  # 1/2 apart from overall; nobody
    error, difference = draws.rates(decisions, y, A, (None,))
    assert error.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(difference, [[-0.5, 0.5], [0.0, 0.0]])
    weights = draws.best_mixtures(np.array([0.1, 0.5]), difference, np.array([0.1, 0.5]))
    np.testing.assert_allclose(weights, [[0.2, 0.8], [1.0, 0.0]], atol=1e-9)
