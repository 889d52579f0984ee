"""A table of made-up people in a file, and a way to run commands on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("typer", reason="needs equipoise[cli]")
pytest.importorskip("skops", reason="needs equipoise[cli]")
pytest.importorskip("pyarrow", reason="needs equipoise[cli]")

from hiring import COLUMNS, make_table, write_table
from typer.testing import CliRunner

from equipoise.cli.app import app


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder; a traceback fails the test."""
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments: object) -> Ran:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run_command


@pytest.fixture
def data(tmp_path):
    """Return a CSV file of 600 people."""
    write_table(make_table(), tmp_path / "people.csv")
    return tmp_path / "people.csv"


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Make a model and a frontier once; return the folder that they are in."""
    folder = tmp_path_factory.mktemp("made")
    write_table(make_table(), folder / "people.csv")
    data = str(folder / "people.csv")
    fit = ["fit", data, *COLUMNS, "--eps", "0.05", "-o", str(folder / "fair.equipoise")]
    trace = ["frontier", data, *COLUMNS, "--bounds", "0.02,0.05,0.2", "--no-page"]
    for command in (fit, [*trace, "-o", str(folder / "f.equipoise")]):
        assert CliRunner().invoke(app, command).exit_code == 0
    return folder


@pytest.fixture
def model(made, data):
    """Return a model file."""
    return Path(shutil.copy(made / "fair.equipoise", data.parent))


@pytest.fixture
def frontier(made, data):
    """Return a frontier file."""
    return Path(shutil.copy(made / "f.equipoise", data.parent))
