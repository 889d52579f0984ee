"""``reproduce``: the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import options as opt
from equipoise.cli.terminal import Terminal


def reproduce(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for everything.")
    ] = Path("outputs/experiments"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of it, in about a minute.")
    ] = False,
    seeds: Annotated[int, typer.Option("--seeds", help="Random splits.")] = 1,
    problem: Annotated[
        list[str] | None, typer.Option("--problem", help="Only this data set; again for more.")
    ] = None,
    learner: Annotated[
        list[str] | None, typer.Option("--learner", help="Only this learner; again for more.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", help="No more rows of a data set than these.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Tasks at a time.")] = 1,
    figures: Annotated[bool, typer.Option(help="Draw figures; needs matplotlib.")] = True,
    machine: opt.Json = False,
) -> None:
    """Run the experiments of the paper.

    A run that was stopped goes on where it ended.
    """
    terminal = Terminal.current()
    from equipoise.experiments import reproduce as run_experiments

    made = run_experiments(
        output,
        quick=quick,
        seeds=seeds,
        problems=problem,
        learners=learner,
        rows=rows,
        n_jobs=jobs,
        figures=figures,
        echo=terminal.progress_line,
    )
    files = [str(file) for file in made.files]
    terminal.say("Written: " + ", ".join(files))
    terminal.emit({"files": files, "left_out": made.left_out, "rows": len(made.rows)})
