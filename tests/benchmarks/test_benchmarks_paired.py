"""The benchmark of paired comparisons runs at a small size, and its figures are plausible."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


def test_size_and_power(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    paired = pytest.importorskip("paired")
    monkeypatch.setattr(sys, "argv", ["paired", "--runs", "100"])
    monkeypatch.setattr(paired, "ERRORS", [(2000, 0.05, 0.0, 0.02), (2000, 0.05, 0.02, 0.02)])
    monkeypatch.setattr(paired, "DISPARITIES", [(2000, 0.5, 0.1, 0.04), (2000, 0.5, 0.04, 0.04)])
    paired.main()
    lines = [
        line.split("|")[5:8] for line in capsys.readouterr().out.splitlines() if "000 |" in line
    ]
    power, size, other_power, other_size = [[float(cell) for cell in line] for line in lines]
    for goal, normal, separate in (power, other_power):
        assert min(goal, normal) > 0.65
        assert goal > separate + 0.1
    assert max(size[0], other_size[0]) <= 0.12  # 5 % and three standard errors
