"""report, datasets, reproduce and demo; help and version."""

import csv
import re
from pathlib import Path

import pytest
from hiring import COLUMNS

import equipoise
from equipoise.cli import files
from equipoise.cli.app import app
from equipoise.cli.names import CONSTRAINTS, LEARNERS
from equipoise.report.contents import ReportContents


@pytest.fixture
def pages(monkeypatch):
    """Stand in for the writer of pages; remember what it was given."""
    given = []

    def write_report(path, contents, **options):
        given.append(contents)
        path.write_text(contents.title)

    monkeypatch.setattr("equipoise.report.write_report", write_report, raising=False)
    return given


def test_a_frontier_comes_with_a_page(run, data, pages):
    ran = run("frontier", data, *COLUMNS, "--bounds", "0.05,0.1", "-o", "f.equipoise", "--json")
    assert ran.json["page"] == "f.html"
    assert (data.parent / "f.html").read_text() == "demographic parity in people.csv"
    (contents,) = pages
    assert isinstance(contents, ReportContents)
    assert contents.points[0].command == (
        "equipoise at f.equipoise --eps 0.05 --output model.equipoise"
    )
    assert contents.points[0].python == "equipoise.load('f.equipoise').at(eps=0.05)"
    again = run("frontier", data, *COLUMNS, "-o", "g.equipoise", "--page", "f.html")
    assert again.code == 2
    assert "f.html exists already" in again.err


def test_a_page_can_be_made_again_from_the_file_alone_or_with_new_data(run, data, pages, frontier):
    assert run("report", frontier).code == 0
    assert (data.parent / "f.html").exists()
    assert run("report", frontier, data, "-o", "new.html").code == 0
    alone, with_data = pages
    assert {entry.data for entry in alone.points[0].measured} == {"training", "test"}
    assert alone.points[0].measured[1].people == 120
    assert with_data.points[0].measured[-1].people == 600
    assert with_data.data.test_rows == 600
    assert ReportContents.from_dict(alone.to_dict()) == alone


def test_the_page_of_a_model(run, data, pages, model):
    assert run("report", model, data, "-o", "m.html").code == 0
    (contents,) = pages
    assert contents.kind == "model"
    assert contents.points[0].eps == 0.05
    assert [entry.data for entry in contents.points[0].measured] == ["training", "test"]
    ran = run("audit", data, "--label", "hired", "--sensitive", "sex", "--page", "audit.html")
    assert ran.code == 0
    assert pages[-1].kind == "audit"
    assert pages[-1].audit.groups[0].group == "overall"


def test_without_a_writer_of_pages_there_are_none(run, data, frontier, monkeypatch):
    monkeypatch.setattr(files, "page_writer", lambda: None)
    monkeypatch.setattr("equipoise.cli.commands.report.page_writer", lambda: None)
    assert run("report", frontier, "-o", "other.html").code == 2
    assert not (data.parent / "other.html").exists()
    ran = run("report", frontier, "--json")
    assert ran.json["report"]["kind"] == "frontier"


def test_data_sets_are_listed_and_written(run, tmp_path):
    listed = run("datasets", "--json").json["datasets"]
    assert "adult" in listed
    ran = run("datasets", "adult", "--json")
    assert ran.json["rows"] == 48842
    assert ran.json["label"] == "label"
    with (tmp_path / "adult.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 48842
    assert {"sex", "race", "label", "age"} <= set(rows[0])
    assert "income" not in rows[0]
    share = sum(row["label"] == "1" for row in rows) / len(rows)
    assert share == pytest.approx(0.2393, abs=1e-4)


def test_reproduce_writes_table_and_verdict(run, tmp_path):
    options = ("--quick", "--problem", "adult", "--rows", "600", "--no-figures")
    ran = run("reproduce", *options, "-o", "out", "--json")
    assert ran.code == 0
    assert "adult, logistic, DP, seed 0: unconstrained" in ran.err
    with (tmp_path / "out" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert ran.json["rows"] == len(rows)
    assert {row["problem"] for row in rows} == {"adult"}
    assert {row["n"] for row in rows} == {"450", "150"}
    assert str(Path("out", "verdict.md")) in ran.json["files"]
    assert (tmp_path / "out" / "verdict.md").read_text().startswith("# Verdict")


def test_demo_shows_models_side_by_side(run, tmp_path):
    pytest.importorskip("matplotlib")
    ran = run("demo", "-o", "picture.png")
    assert ran.code == 0
    assert "32,561 people to learn from, 16,281 held out" in ran.out
    assert "CERTIFICATE of EO 0.01" in ran.out
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_help_and_version(run):
    ran = run("--help")
    for command in ("audit", "frontier", "fit", "at", "predict", "certify", "report", "datasets"):
        assert command in ran.out
        assert run(command, "--help").code == 0
    assert run("--version").out.strip() == f"equipoise {equipoise.__version__}"


def test_the_page_names_every_command_and_only_options_that_exist(run):
    page = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
    text = page.read_text(encoding="utf-8")
    commands = {command.name for command in app.registered_commands}
    assert commands == {name for name in commands if f"`{name}" in text}
    known = "".join(run(command, "--help").out for command in commands)
    named = set(re.findall(r"`(--[a-z][a-z-]+)", text)) | set(
        re.findall(r" (--[a-z][a-z-]+) ", text)
    )
    assert len(named) > 20
    assert {option for option in named if option not in known} == set()
    listed = re.findall(r"`([a-z-]+)`", text.split("| `--constraint` |")[1].split("|")[0])
    assert listed == list(CONSTRAINTS)
    listed = re.findall(r"`([a-z-]+)`", text.split("| `--learner` |")[1].split("|")[0])
    assert listed == list(LEARNERS)
