"""The experiments: from data to table, figures and verdict; stopped runs; what is left out."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.experiments import command, reproduce, runs, tasks
from equipoise.experiments.learners import LEARNERS
from equipoise.experiments.methods import METHODS, outcomes_of
from equipoise.experiments.panels import NOTIONS, PROBLEMS, Panel, load_split
from equipoise.experiments.rival_methods import RIVALS
from equipoise.experiments.tasks import Task, make_tasks, read_result, run_task

ROWS = 1200
QUIET = {"echo": lambda line: None}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The whole of ``reproduce --quick``, on a small subset."""
    folder = tmp_path_factory.mktemp("quick")
    return folder, reproduce(folder, quick=True, rows=ROWS, **QUIET)


def violation_of(decided, y, A, notion):
    events = [y == 0, y == 1] if notion == "EO" else [np.ones(len(y), bool)]
    return max(
        abs(decided[event & (a == A)].mean() - decided[event].mean())
        for event in events
        for a in np.unique(A)
    )


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
    monkeypatch.setattr(runs, "run_task", lambda *_: pytest.fail("computed again"))
    again = reproduce(folder, quick=True, rows=ROWS, figures=False, **QUIET)
    assert again.report.found == len(before)
    assert again.report.done == 0
    assert again.rows == made.rows
    assert {path: path.stat().st_mtime_ns for path in (folder / "tasks").iterdir()} == before


def test_what_is_done_can_be_collated_alone(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()
    run_task(Task(Panel("adult", "logistic", "DP"), "unconstrained", 0, 400), tmp_path / "tasks")
    monkeypatch.setattr(runs, "run_task", lambda *_: pytest.fail("ran a task"))
    asked = {"problems": ["adult"], "learners": ["logistic"], "rows": 400, "figures": False}
    made = reproduce(tmp_path, only_collate=True, **asked, **QUIET)
    assert [row["method"] for row in made.rows] == ["unconstrained"] * 2
    assert (tmp_path / "verdict.md").exists()


def test_other_settings_are_computed_anew():
    task = Task(Panel("adult", "logistic", "DP"), "unconstrained", 0, ROWS)
    assert task.identity() != replace(task, quick=True).identity()
    assert task.identity() != replace(task, rows=None).identity()
    assert task.file_name == replace(task, quick=True).file_name


def test_a_killed_run_goes_on(tmp_path):
    code = (
        "from equipoise.experiments.command import main;"
        f"main(['--quick', '--rows', '{ROWS}', '--notions', 'DP', '--output', {str(tmp_path)!r}])"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("tasks/*.npz")):
        assert process.poll() is None, "the run ended without a result"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("tasks/*.npz")}
    assert not (tmp_path / "results.csv").exists()
    methods = ["unconstrained", "reweighting", "post-processing"]
    made = reproduce(
        tmp_path, quick=True, rows=ROWS, notions=["DP"], methods=methods, figures=False, **QUIET
    )
    assert made.report.found >= 1
    assert made.report.found + made.report.done == 3
    assert all(path.stat().st_mtime_ns == then for path, then in done.items())


def test_a_broken_result_is_computed_again(tmp_path):
    task = Task(Panel("adult", "logistic", "DP"), "unconstrained", 0, 400)
    run_task(task, tmp_path)
    path = tmp_path / task.file_name
    path.write_bytes(path.read_bytes()[:200])
    assert read_result(task, tmp_path) is None
    report = runs.run_all([task], tmp_path, {"adult": 400}, **QUIET)
    assert (report.found, report.done) == (0, 1)
    assert len(read_result(task, tmp_path).rows) == 2
    assert [p.name for p in tmp_path.iterdir()] == [task.file_name]  # no partial files


def test_one_failure_does_not_stop_the_others(tmp_path, monkeypatch):
    def break_one(split, notion, learner):
        raise RuntimeError("no luck")

    broken = METHODS | {"reweighting": replace(METHODS["reweighting"], run=break_one)}
    monkeypatch.setattr(tasks, "all_methods", lambda: broken)
    panels = [Panel("adult", "logistic", "DP")]
    todo = make_tasks(panels, ["reweighting", "unconstrained"], [0], {"adult": 2}, 400)
    lines = []
    report = runs.run_all(todo, tmp_path, {"adult": 400}, echo=lines.append)
    assert report.done == 1
    assert list(report.failed.values()) == ["RuntimeError: no luck"]
    assert "FAILED" in lines[0]
    assert "left" in lines[1]


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


def test_unknown_names_are_errors(tmp_path, capsys):
    with pytest.raises(ValueError, match=r"learners contain 'svm'; expected some of logistic, gbm"):
        reproduce(tmp_path, learners=["svm"])
    with pytest.raises(SystemExit):
        command.main(["--problems", "moon"])
    assert "invalid choice" in capsys.readouterr().err


def test_the_command_says_what_it_wrote(tmp_path, capsys):
    arguments = ["--quick", "--rows", "400", "--methods", "unconstrained", "plug-in"]
    assert command.main([*arguments, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert str(tmp_path / "verdict.md") in printed
    assert "[4/4" in printed


def test_methods_are_applied_where_they_can_be():
    panels = [Panel("adult4", "logistic", "DP"), Panel("adult", "gbm", "EO")]
    made = make_tasks(panels, METHODS, [0, 1], {"adult4": 4, "adult": 2})
    names = {(task.panel.problem, task.method) for task in made}
    assert ("adult4", "reweighting") in names
    assert not {("adult4", "relabeling"), ("adult4", "grid search")} & names
    assert not {("adult", "relabeling"), ("adult", "reweighting")} & names
    assert [task.seed for task in made] == sorted(task.seed for task in made)


def test_splits_are_three_to_one_and_keep_the_group_among_the_features():
    split = load_split("adult", "codes", seed=1)
    assert (len(split.train), len(split.test)) == (36631, 12211)
    same = (split.train.A[:, None] == split.train.X).all(axis=0)
    assert same.any()
    other = load_split("adult", "codes", seed=2)
    assert (split.test.y != other.test.y).any()


def test_scaling_looks_at_training_people_only():
    split = load_split("adult", "indicators", seed=0, rows=2000)
    assert np.abs(split.train.X.mean(axis=0)).max() < 1e-9
    assert np.abs(split.test.X.mean(axis=0)).max() > 1e-3


def test_learners_are_those_that_the_authors_name():
    gbm = LEARNERS["gbm"].make()
    assert (gbm.learning_rate, gbm.n_estimators, gbm.random_state) == (0.25, 150, 101)
    assert LEARNERS["logistic"].make().C == 0.01
    bounds = LEARNERS["logistic"].bounds()
    assert (bounds[0], bounds[-1]) == pytest.approx((0.001, 0.1))


@pytest.mark.parametrize("name", list(RIVALS))
@pytest.mark.parametrize("notion", ["DP", "EO"])
def test_other_libraries_decide_with_probabilities(name, notion):
    module = name.split()[0].replace("-", "_")
    pytest.importorskip(module, reason=f"{module} is not installed: pip install equipoise[compare]")
    split = load_split("adult", "indicators", seed=0, rows=800)
    learner = replace(LEARNERS["logistic"], n_eps=1)
    made = outcomes_of(RIVALS[name], split, NOTIONS[notion], learner)
    for outcome in made:
        assert outcome.test.shape == (200,)
        assert ((outcome.test >= 0) & (outcome.test <= 1)).all()
    fairest = min(violation_of(o.train, split.train.y, split.train.A, notion) for o in made)
    alone = outcomes_of(METHODS["unconstrained"], split, NOTIONS[notion], learner)[0]
    assert fairest < violation_of(alone.train, split.train.y, split.train.A, notion)


def test_stored_rows_are_plain_json(quick):
    folder, _ = quick
    stored = np.load(folder / "tasks" / "adult-logistic-DP-unconstrained-0.npz")
    rows = json.loads(str(stored["rows"]))
    assert [row["part"] for row in rows] == ["train", "test"]
    assert Path(folder / "tasks").is_dir()
    assert not [name for name in os.listdir(folder / "tasks") if "partial" in name]
