"""The benchmark of the monitor runs at a small size, and its figures are within their limits."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


def test_false_alarms_and_delays(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monitor = pytest.importorskip("monitor")
    monkeypatch.setattr(sys, "argv", ["monitor", "--quick", "--runs", "40"])
    small = [monitor.COMMON, replace(monitor.COMMON, people=10), *monitor.ARRIVALS[2:]]
    monkeypatch.setattr(monitor, "ARRIVALS", small)
    monkeypatch.setattr(monitor, "SETTINGS", small)
    monitor.main()
    lines = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()]
    lines = [[cell.strip() for cell in line] for line in lines if line[:1] and "DP" in line[0]]
    false, drifts, present = lines[:3], lines[3:9], lines[9:]
    assert all(float(line[2].split()[0]) <= 2000 / 150_000 + 0.05 for line in false)
    in_days = [float(line[3].replace(",", "")) for line in drifts[:2]]
    assert max(in_days) <= 5000
    assert all(float(line[1].split()[0]) <= 5 for line in present)


def test_one_rate_beside_mapie(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monitor = pytest.importorskip("monitor")
    monkeypatch.setattr(monitor, "mapie_alarm", lambda wrong: 2500.0)
    assert monitor.one_rate(10, 0, 3000)[4:] == ["2,500", "2,500"]
    assert float(monitor.one_rate(10, 0, 3000)[2].replace(",", "")) < 2500
