"""Runs that were killed go on, and one failure does not stop the others."""

import signal
import subprocess
import sys
from dataclasses import replace

from made import QUIET, ROWS

from equipoise.experiments import reproduce, runs, tasks
from equipoise.experiments.methods import METHODS
from equipoise.experiments.panels import Panel
from equipoise.experiments.tasks import make_tasks


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
    report = runs.run_all(todo, tmp_path, {"adult": 400}, echo=lines.append)
    assert report.done == 1
    assert list(report.failed.values()) == ["RuntimeError: no luck"]
    assert "FAILED" in lines[0]
    assert "left" in lines[1]
