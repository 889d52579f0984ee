"""Tasks: which make sense, and when a stored result is not used."""

from dataclasses import replace

from made import QUIET, ROWS

from equipoise.experiments import runs
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
    report = runs.run_all([task], tmp_path, {"adult": 400}, **QUIET)
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
