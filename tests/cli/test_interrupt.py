"""Ctrl-C: exit code 130, what was found is written, and the same command goes on."""

import sys
from io import StringIO

import pytest
from hiring import COLUMNS
from rich.console import Console

from equipoise.cli import terminal
from equipoise.files import read_manifest

LEARNER = """
import os, signal
from pathlib import Path
from sklearn.linear_model import LogisticRegression

class Learner(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        with Path("fits").open("a") as file:
            file.write("fit ")
        fits = Path("fits").read_text().split()
        if len(fits) == 4 and Path("stop").exists():
            os.kill(os.getpid(), signal.SIGINT)
        return super().fit(X, y, sample_weight)
"""


@pytest.fixture
def stopped(run, data):
    """Return a function that runs a command whose fourth fit is interrupted."""
    (data.parent / "stopping.py").write_text(LEARNER)
    sys.modules.pop("stopping", None)
    options = ("--learner", "stopping:Learner", "--checkpoint", "kept")
    (data.parent / "stop").touch()
    yield lambda command, *more: run(command, data, *COLUMNS, *options, *more)
    sys.modules.pop("stopping", None)


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("fit", ("--eps", "0.01", "-o", "m.equipoise", "--held-out", "rest.csv")),
        ("frontier", ("--bounds", "0.01,0.02,0.05", "-o", "m.equipoise")),
    ],
)
def test_an_interrupted_command_keeps_what_it_found_and_goes_on(stopped, data, command, more):
    ran = stopped(command, *more)
    assert ran.code == 130, ran.err
    assert "what was found is written" in ran.err
    told = ran.err.index("the best so far is measured and written")
    assert told < ran.err.index("what was found is written")
    model = data.parent / "m.equipoise"
    made = read_manifest(model)["metadata"]["made"]
    assert str(model) in made["unfinished"]
    (data.parent / "stop").unlink()
    before = len((data.parent / "fits").read_text().split())
    again = stopped(command, *more)
    assert again.code == 0, again.err
    assert "unfinished" not in read_manifest(model)["metadata"]["made"]
    fits = len((data.parent / "fits").read_text().split())
    assert fits > before
    third = stopped(command, *more)  # a finished file is not replaced
    assert third.code == 2
    assert "exists already" in third.err


def test_another_command_does_not_replace_an_unfinished_file(stopped, data, monkeypatch):
    more = ("--eps", "0.01", "-o", "m.equipoise")
    assert stopped("fit", *more).code == 130
    monkeypatch.setattr(sys, "argv", ["equipoise", "fit", "other.csv"])
    assert "exists already" in stopped("fit", *more).err


def test_the_bar_moves_before_anything_is_known(monkeypatch):
    totals = []
    monkeypatch.setattr(
        "rich.progress.BarColumn.render", lambda self, task: totals.append(task.total) or ""
    )
    terminal.start(machine=False)
    terminal.running().err = Console(file=StringIO(), force_terminal=True, width=120)
    with terminal.progress("Deciding", of="the file") as tick:
        assert set(totals) == {None}  # rich draws a bar without a total as one that moves
        tick(0.5, "3 fits")
    assert totals[-1] == 1.0
    assert "50 % of the file" in terminal.running().err.file.getvalue()
