"""The experiments by one command: from data to table, figures and verdict; what is left out."""

import csv
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made import QUIET, ROWS, violation_of

from equipoise.experiments import reproduce, tasks
from equipoise.experiments.methods import METHODS
from equipoise.experiments.panels import PROBLEMS, Panel
from equipoise.experiments.tasks import Task, run_task


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The whole of ``reproduce --quick``, on a small subset."""
    folder = tmp_path_factory.mktemp("quick")
    return folder, reproduce(folder, quick=True, rows=ROWS, **QUIET)


def test_every_method_is_in_the_table(quick):
    _, made = quick
    found = {(row["notion"], row["method"]) for row in made.rows}
    both = set(METHODS) - {"reweighting", "relabeling"}
    assert found == {("DP", name) for name in METHODS} | {("EO", name) for name in both}
    assert made.report.failed == {}
    assert {row["part"] for row in made.rows} == {"train", "test"}
    assert {(row["part"], row["n"]) for row in made.rows} == {("train", 900), ("test", 300)}


def test_the_table_is_what_raw_decisions_say(quick):
    folder, _ = quick
    with (folder / "results.csv").open() as file:
        table = [row for row in csv.DictReader(file) if row["part"] == "test"]
    for notion, method in (("DP", "column generation"), ("EO", "post-processing")):
        stored = np.load(
            folder / "tasks" / f"adult-logistic-{notion}-{method.replace(' ', '_')}-0.npz"
        )
        y, A = stored["y_test"], stored["A_test"]
        rows = [r for r in table if (r["notion"], r["method"]) == (notion, method)]
        assert len(rows) == len(stored["test"]) >= 20
        for row, decided in zip(rows, stored["test"].astype(float), strict=True):
            error = np.where(y == 1, 1 - decided, decided).mean()
            assert float(row["error"]) == pytest.approx(error, abs=1e-5)
            assert float(row["violation"]) == pytest.approx(
                violation_of(decided, y, A, notion), abs=1e-5
            )
            assert float(row["error_low"]) < error < float(row["error_high"])


def test_reductions_keep_their_bounds_on_the_people_learned_from(quick):
    _, made = quick
    for row in made.rows:
        if row["part"] == "train" and row["method"] == "column generation":
            assert row["violation"] <= row["setting"] + 1e-6


def test_what_is_written(quick):
    folder, made = quick
    names = {path.name for path in made.files}
    pictures = {f"figure{n}.{kind}" for n in (1, 2, 3) for kind in ("png", "svg")}
    assert pictures | {"results.csv", "comparisons.csv", "verdict.md"} <= names
    assert (folder / "figure1.png").read_bytes()[1:4] == b"PNG"
    assert (folder / "figure3.svg").read_text().rstrip().endswith("</svg>")
    text = (folder / "verdict.md").read_text()
    assert "## logistic, DP" in text
    assert "| adult | relabeling |" in text
    assert {v.reduction for v in made.verdicts} == {
        "exponentiated gradient",
        "column generation",
        "plug-in",
    }


def test_parquet_holds_the_same(quick):
    parquet = pytest.importorskip("pyarrow.parquet")
    folder, made = quick
    table = parquet.read_table(folder / "results.parquet").to_pylist()
    assert len(table) == len(made.rows)
    assert table[0]["error"] == pytest.approx(made.rows[0]["error"], abs=1e-6)


def test_a_second_run_does_nothing_again(quick, monkeypatch):
    folder, made = quick
    before = {path: path.stat().st_mtime_ns for path in (folder / "tasks").iterdir()}
    monkeypatch.setattr(tasks, "run_task", lambda *_: pytest.fail("computed again"))
    again = reproduce(folder, quick=True, rows=ROWS, figures=False, **QUIET)
    assert again.report.found == len(before)
    assert again.report.done == 0
    assert again.rows == made.rows
    assert {path: path.stat().st_mtime_ns for path in (folder / "tasks").iterdir()} == before


def test_what_is_done_can_be_collated_alone(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()
    run_task(Task(Panel("adult", "logistic", "DP"), "unconstrained", 0, 400), tmp_path / "tasks")
    monkeypatch.setattr(tasks, "run_task", lambda *_: pytest.fail("ran a task"))
    asked = {"problems": ["adult"], "learners": ["logistic"], "rows": 400, "figures": False}
    made = reproduce(tmp_path, only_collate=True, **asked, **QUIET)
    assert [row["method"] for row in made.rows] == ["unconstrained"] * 2
    assert (tmp_path / "verdict.md").exists()


def test_data_that_cannot_be_had_are_left_out(tmp_path, monkeypatch):
    def nowhere():
        raise OSError("put compas.parquet into the folder EQUIPOISE_DATA")

    monkeypatch.setitem(PROBLEMS, "compas", replace(PROBLEMS["compas"], load=nowhere))
    lines = []
    made = reproduce(
        tmp_path,
        problems=["compas", "adult"],
        learners=["logistic"],
        methods=["unconstrained"],
        rows=400,
        figures=False,
        echo=lines.append,
    )
    assert set(made.left_out) == {"compas"}
    assert "left out: compas. put compas.parquet" in lines[0]
    assert {row["problem"] for row in made.rows} == {"adult"}


def test_unknown_names_are_errors(tmp_path):
    with pytest.raises(ValueError, match=r"learners contain 'svm'; expected some of logistic, gbm"):
        reproduce(tmp_path, learners=["svm"])
    with pytest.raises(ValueError, match=r"problems contain 'moon'; expected some of adult, "):
        reproduce(tmp_path, problems=["moon"])


def test_figures_that_cannot_be_drawn_are_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib.*equipoise\[plot\]"):
        reproduce(tmp_path / "never", quick=True, **QUIET)
    assert not (tmp_path / "never").exists()


def test_stored_rows_are_plain_json(quick):
    folder, _ = quick
    stored = np.load(folder / "tasks" / "adult-logistic-DP-unconstrained-0.npz")
    rows = json.loads(str(stored["rows"]))
    assert [row["part"] for row in rows] == ["train", "test"]
    assert Path(folder / "tasks").is_dir()
    assert not [name for name in os.listdir(folder / "tasks") if "partial" in name]
