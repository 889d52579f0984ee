"""The benchmarks of proofs run, and their numbers are those of the tests."""

import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_quick_tables(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(sys, "argv", ["proof_size.py", "--only", "needed", "cpu", "--quick"])
    pytest.importorskip("proof_size").main()
    printed = capsys.readouterr().out
    assert "| 0.05 | 0.0 | 0.5 | 59 | 59 | 1.000 ± 0.000 |" in printed
    assert re.search(r"20 candidates, 20 rows, 10,000 people: \d+\.\d+ CPU seconds", printed)
