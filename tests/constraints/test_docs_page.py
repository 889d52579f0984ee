"""docs/constraints.md runs as printed and names all there is; the benchmark and the plot work."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.constraints.base import Constraint

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "constraints.md"


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_every_block_runs_as_printed() -> None:
    result = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted > 40
    assert result.failed == 0


def test_every_constraint_is_in_the_table() -> None:
    table = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    named = set(re.findall(r"`(\w+)", "\n".join(table)))
    for name in eq.__all__:
        entry = getattr(eq, name)
        if isinstance(entry, type) and issubclass(entry, Constraint) and entry is not Constraint:
            assert name in named, name


def test_the_plot_is_there_and_says_how_it_was_made() -> None:
    assert (ROOT / "docs" / "constraints.png").stat().st_size > 20_000
    assert "python docs/constraints_plot.py" in PAGE.read_text()


def test_four_fifths_on_adult(capsys, monkeypatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("four_fifths", "_machine"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import four_fifths

    four_fifths.main(["--quick"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if "0." in line]
    learners = [row for row in rows if row[0].strip("| ") in ("logistic regression", "LightGBM")]
    assert len(learners) == 2
    for row in learners:
        _, _, free_ratio, _, ratio, price, pairs, met, *_ = row
        assert float(free_ratio) < 0.8
        assert float(ratio) >= 0.8
        assert float(price) > 0
        assert int(pairs) == 6
        assert met == "yes"
