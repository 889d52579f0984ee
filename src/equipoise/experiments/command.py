"""The command: all experiments from data to verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from equipoise.experiments import comparisons, measurements
from equipoise.experiments.comparisons import compare_panel
from equipoise.experiments.figures import draw_figures
from equipoise.experiments.learners import LEARNERS, PAPER_LEARNERS
from equipoise.experiments.measurements import Row, write_table
from equipoise.experiments.methods import METHODS, all_methods, installed_rivals
from equipoise.experiments.panels import NOTIONS, PAPER_PROBLEMS, PROBLEMS, Panel
from equipoise.experiments.tasks import Result, RunReport, Task, make_tasks, read_result, run_all
from equipoise.experiments.verdict import Verdict, judge, write_markdown
from equipoise.plotting import new_figure

#: Where tasks keep their results, inside the output folder.
TASKS = "tasks"


@dataclass
class Reproduction:
    """What a run gives."""

    rows: list[Row]  #: The results table.
    comparisons: list[Row]  #: Every reduction against every baseline.
    verdicts: list[Verdict]
    files: list[Path]  #: What was written, beside the results of single tasks.
    report: RunReport  #: Tasks found done, done, and failed.
    left_out: dict[str, str]  #: Problems and learners that could not be had, and why.


def reproduce(
    output: str | Path = "outputs/experiments",
    *,
    quick: bool = False,
    seeds: int = 1,
    problems: Sequence[str] | None = None,
    learners: Sequence[str] | None = None,
    notions: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    others: bool = False,
    rows: int | None = None,
    n_jobs: int = 1,
    figures: bool = True,
    only_collate: bool = False,
    echo: Callable[[str], object] = print,
) -> Reproduction:
    """Run the experiments of the paper, and write table, figures and verdict.

    A run that was stopped goes on where it ended: what is done is in files, one a task.

    Parameters
    ----------
    output : path
        The folder for everything.
    quick : bool
        Logistic regression on Adult, with fewer settings: about a minute.
    seeds : int
        Random splits, numbered from 0.
    problems, learners, notions, methods : sequences of str, optional
        Some of those in `PROBLEMS`, `LEARNERS`, `NOTIONS`, `METHODS`; by default the paper's.
    others : bool
        Also run the methods of other libraries, those that are installed.
    rows : int, optional
        Use no more rows of a data set than these; for trials.
    n_jobs : int
        Tasks at a time, each in a process of its own.
    figures : bool
        Whether to draw; needs matplotlib.
    only_collate : bool
        Run nothing; table, figures and verdict are made of the tasks that are done.
    echo : callable
        Gets the lines of progress.
    """
    if figures:
        new_figure()  # or say what is missing, before hours of work
    papers = {"problems": PAPER_PROBLEMS, "learners": PAPER_LEARNERS}
    papers = {"problems": ("adult",), "learners": ("logistic",)} if quick else papers
    names = {
        "problems": _read("problems", problems or papers["problems"], PROBLEMS),
        "learners": _read("learners", learners or papers["learners"], LEARNERS),
        "notions": _read("notions", notions or tuple(NOTIONS), NOTIONS),
        "methods": _read("methods", methods or tuple(METHODS), all_methods()),
    }
    if others:
        names["methods"] += [name for name in installed_rivals() if name not in names["methods"]]
    sizes, left_out = _what_is_there(names, rows)
    for name, reason in left_out.items():
        echo(f"left out: {name}. {reason}")
    panels = [
        Panel(problem, learner, notion)
        for learner in names["learners"]
        if learner not in left_out
        for problem in names["problems"]
        if problem not in left_out
        for notion in names["notions"]
    ]
    tasks = make_tasks(
        panels,
        names["methods"],
        range(seeds),
        {name: groups for name, (_, groups) in sizes.items()},
        rows,
        quick,
    )
    output = Path(output)
    report = run_all(
        [] if only_collate else tasks,
        output / TASKS,
        {name: size for name, (size, _) in sizes.items()},
        n_jobs=n_jobs,
        echo=echo,
    )
    return collate(tasks, output, report, left_out, figures)


def collate(
    tasks: Sequence[Task], output: Path, report: RunReport, left_out: dict[str, str], figures: bool
) -> Reproduction:
    """Make table, comparisons, verdict and figures of the tasks that are done."""
    output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    compared: list[Row] = []
    for (panel, seed), group in groupby(tasks, key=lambda task: (task.panel, task.seed)):
        results: dict[str, Result] = {}
        for task in group:
            if (result := read_result(task, output / TASKS)) is not None:
                results[task.method] = result
                rows += result.rows
        if results:
            compared += compare_panel(panel, seed, results, all_methods())
    verdicts = judge(compared)
    files = write_table(rows, measurements.COLUMNS, output / "results")
    files += write_table(compared, comparisons.COLUMNS, output / "comparisons")
    files.append(output / "verdict.md")
    files[-1].write_text(write_markdown(verdicts), encoding="utf-8")
    if figures:
        for prefix, part in (("", True), ("extension-", False)):
            if chosen := [row for row in rows if _is_papers(row) == part]:
                files += draw_figures(chosen, output, prefix)
    return Reproduction(rows, compared, verdicts, files, report, left_out)


def _is_papers(row: Row) -> bool:
    return row["problem"] in PAPER_PROBLEMS and row["learner"] in PAPER_LEARNERS


def _read(what: str, names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the names asked for, checked."""
    if strange := [name for name in names if name not in known]:
        raise ValueError(
            f"{what} contain {', '.join(map(repr, strange))}; expected some of {', '.join(known)}."
        )
    return list(names)


def _what_is_there(
    names: dict[str, list[str]], rows: int | None
) -> tuple[dict[str, tuple[int, int]], dict[str, str]]:
    """Return rows and groups of each problem that can be loaded, and why others cannot be had."""
    sizes: dict[str, tuple[int, int]] = {}
    missing: dict[str, str] = {}
    for name in names["problems"]:
        spec = PROBLEMS[name]
        try:
            data = spec.load()
        except (OSError, ImportError) as error:
            missing[name] = str(error)
        else:
            limits = [limit for limit in (spec.rows, rows) if limit is not None]
            groups = len(np.unique(np.asarray(data.sensitive[spec.attribute])))
            sizes[name] = (min([len(data.target), *limits]), groups)
    for name in names["learners"]:
        try:
            LEARNERS[name].make()
        except ImportError as error:
            missing[name] = str(error)
    return sizes, missing
