"""The benchmark of more than two labels, on made-up people."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from people import three_labels

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


@pytest.fixture
def multiclass(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return pytest.importorskip("multiclass")


def run(module, monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["multiclass", *map(str, arguments)])
    module.main()
    return capsys.readouterr().out


def test_random_problems(multiclass, monkeypatch, capsys):
    said = run(multiclass, monkeypatch, capsys, "--problems", 10).splitlines()[-1]
    worst = float(said.split("violation within ")[1].split()[0])
    assert worst < 1e-7
    assert "expressions" in said


@pytest.mark.parametrize(
    ("data", "splits", "reads"),
    [
        ("communities", "own", "communities"),
        ("communities", "linearpost", "read_notebook"),
        ("diabetes130", "own", "diabetes130"),
    ],
)
def test_a_data_set_beside_a_peer(multiclass, monkeypatch, capsys, data, splits, reads):
    """The peer is a stub here: it decides label 0 for everybody, so no groups differ."""
    X, y, A = three_labels(300)
    folder = BENCHMARKS / "nowhere"
    people = pd.DataFrame(X, columns=["one", "two"]), y, A, np.arange(len(y))
    given = people if splits == "own" else people[:3]
    monkeypatch.setattr(multiclass, reads, lambda *_: given)

    def stub(command, **_):
        given = np.load(command[2])
        n, V = given["chance"].shape
        nobody = np.zeros((len(given["bounds"]), n), dtype=int)
        np.savez(command[3], y_pred=nobody, y_proba=np.eye(V)[nobody])

    monkeypatch.setattr(multiclass.subprocess, "run", stub)
    monkeypatch.setattr(multiclass, "BOUNDS", (0.1,))
    options = ("--data", data, "--splits", splits, "--seeds", 2, "--folder", folder)
    options = (*options, "--peer", "python")
    text = run(multiclass, monkeypatch, capsys, *options, "--peer-bounds", 0.1)
    assert "Majority class" in text
    row = next(line for line in text.splitlines() if line.startswith("| 0.1 |"))
    gap, accuracy = (float(cell.split("±")[0]) for cell in row.split("|")[2:4])
    assert gap < 0.4
    assert accuracy > 0.4
    assert "holisticai, asked 0.1: " in text
    assert " at 0.000 ± 0.000; drawn" in text
