"""Tasks: which make sense, and when a stored result is not used."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace

from made import QUIET, ROWS

from equipoise.experiments import reproduce, tasks
from equipoise.experiments.methods import METHODS
from equipoise.experiments.panels import Panel
from equipoise.experiments.tasks import Task, make_tasks, read_result, run_task


def test_other_settings_are_computed_anew():
    task = Task(Panel("adult", "logistic", "DP"), "unconstrained", 0, ROWS)
    assert task.identity() != replace(task, quick=True).identity()
    assert task.identity() != replace(task, rows=None).identity()
    assert task.file_name == replace(task, quick=True).file_name


def test_a_broken_result_is_computed_again(tmp_path):
    task = Task(Panel("adult", "logistic", "DP"), "unconstrained", 0, 400)
    run_task(task, tmp_path)
    path = tmp_path / task.file_name
    path.write_bytes(path.read_bytes()[:200])
    assert read_result(task, tmp_path) is None
    report = tasks.run_all([task], tmp_path, {"adult": 400}, **QUIET)
    assert (report.found, report.done) == (0, 1)
    assert len(read_result(task, tmp_path).rows) == 2
    assert [p.name for p in tmp_path.iterdir()] == [task.file_name]  # no partial files


def test_methods_are_applied_where_they_can_be():
    panels = [Panel("adult4", "logistic", "DP"), Panel("adult", "gbm", "EO")]
    made = make_tasks(panels, METHODS, [0, 1], {"adult4": 4, "adult": 2})
    names = {(task.panel.problem, task.method) for task in made}
    assert ("adult4", "reweighting") in names
    assert not {("adult4", "relabeling"), ("adult4", "grid search")} & names
    assert not {("adult", "relabeling"), ("adult", "reweighting")} & names
    assert [task.seed for task in made] == sorted(task.seed for task in made)


def test_a_killed_run_goes_on(tmp_path):
    # It kills itself when the first task is reported: no clock decides how far it comes.
    code = (
        "import os, signal; from equipoise.experiments import reproduce;"
        f"reproduce({str(tmp_path)!r}, quick=True, rows={ROWS}, notions=['DP'],"
        "echo=lambda line: os.kill(os.getpid(), signal.SIGKILL))"
    )
    killed = subprocess.run([sys.executable, "-c", code])
    assert killed.returncode == -signal.SIGKILL
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("tasks/*.npz")}
    assert not (tmp_path / "results.csv").exists()
    methods = ["unconstrained", "reweighting", "post-processing"]
    made = reproduce(
        tmp_path, quick=True, rows=ROWS, notions=["DP"], methods=methods, figures=False, **QUIET
    )
    assert made.report.found == len(done) == 1
    assert made.report.found + made.report.done == 3
    assert all(path.stat().st_mtime_ns == then for path, then in done.items())


def test_one_failure_does_not_stop_the_others(tmp_path, monkeypatch):
    def break_one(split, notion, learner):
        raise RuntimeError("no luck")

    broken = METHODS | {"reweighting": replace(METHODS["reweighting"], run=break_one)}
    monkeypatch.setattr(tasks, "all_methods", lambda: broken)
    panels = [Panel("adult", "logistic", "DP")]
    todo = make_tasks(panels, ["reweighting", "unconstrained"], [0], {"adult": 2}, 400)
    lines = []
    report = tasks.run_all(todo, tmp_path, {"adult": 400}, echo=lines.append)
    assert report.done == 1
    assert list(report.failed.values()) == ["RuntimeError: no luck"]
    assert "FAILED" in lines[0]
    assert "left" in lines[1]
