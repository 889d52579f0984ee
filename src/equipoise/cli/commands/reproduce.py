"""``reproduce``: the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.exits import NOT_DONE, decide

_AGAIN = "; again for more"


def reproduce(
    output: Annotated[Path, opt.option("The folder for everything.", "--output", "-o")] = Path(
        "outputs/experiments"
    ),
    quick: Annotated[bool, opt.option("A small part of it, in about a minute.", "--quick")] = False,
    seeds: Annotated[int, opt.option("Random splits.")] = 1,
    problem: Annotated[list[str] | None, opt.option(f"Only this data set{_AGAIN}.")] = None,
    learner: Annotated[list[str] | None, opt.option(f"Only this learner{_AGAIN}.")] = None,
    notion: Annotated[list[str] | None, opt.option(f"Only DP or EO{_AGAIN}.")] = None,
    method: Annotated[list[str] | None, opt.option(f"Only this method{_AGAIN}.")] = None,
    others: Annotated[
        bool, opt.option("Also the methods of other libraries installed.", "--others")
    ] = False,
    rows: Annotated[int | None, opt.option("No more rows of a data set than these.")] = None,
    jobs: Annotated[int, opt.option("Tasks at a time.")] = 1,
    figures: Annotated[bool, opt.option("Draw figures; needs matplotlib.")] = True,
    only_collate: Annotated[
        bool, opt.option("Run nothing; write anew what is done.", "--only-collate")
    ] = False,
    machine: opt.Json = False,
) -> None:
    """Run the experiments of the paper.

    A run that was stopped goes on where it ended.
    """
    from equipoise.experiments import reproduce as run_experiments

    made = run_experiments(
        output,
        quick=quick,
        seeds=seeds,
        problems=problem,
        learners=learner,
        notions=notion,
        methods=method,
        others=others,
        rows=rows,
        n_jobs=jobs,
        figures=figures,
        only_collate=only_collate,
        echo=terminal.progress_line,
    )
    files, failed = [str(file) for file in made.files], made.report.failed
    if failed:
        decide(NOT_DONE)
    terminal.say(f"{len(made.verdicts)} verdicts from {len(made.rows)} rows.")
    terminal.say("Written: " + ", ".join(files))
    for task, failure in failed.items():
        terminal.note(f"failed: {task}: {failure}")
    result = {"files": files, "left_out": made.left_out, "rows": len(made.rows), "failed": failed}
    terminal.emit(result)
