"""The benchmark of the monitor runs at a small size, and its figures are within their limits."""

import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


def test_false_alarms_and_delays(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monitor = pytest.importorskip("monitor")
    monkeypatch.setattr(sys, "argv", ["monitor", "--runs", "300", "--certify-runs", "1"])
    monkeypatch.setattr(monitor, "SETTINGS", monitor.SETTINGS[:2])
    monkeypatch.setattr(monitor, "DRIFTS", monitor.DRIFTS[1:2])
    monitor.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| DP")]
    false = [float(line.split("|")[3].split("±")[0]) for line in lines[:2]]
    assert max(false) <= 5
    from_the_start, later = ([float(r) for r in re.findall(r"\((.*?)\)", x)] for x in lines[2:])
    assert max(from_the_start[1:]) <= 2.5
    assert min(later) > min(from_the_start)
