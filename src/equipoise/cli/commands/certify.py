"""``certify``: whether a model keeps its bounds on other people; its exit code says so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from equipoise.cli import exits
from equipoise.cli import options as opt
from equipoise.cli.exits import Ended
from equipoise.cli.files import open_classifier
from equipoise.cli.shown import EXCEEDED, show_groups, show_rows, verdict
from equipoise.cli.tables.people import Examples, Reader
from equipoise.cli.terminal import Terminal
from equipoise.constraints.base import Constraint
from equipoise.report.evaluate import model_point


def certify(
    model: Annotated[Path, typer.Argument(help="A model file; or a frontier file, with --eps.")],
    data: opt.Data,
    eps: Annotated[float | None, typer.Option("--eps", help="The bound, for a frontier.")] = None,
    drop_missing: opt.DropMissing = False,
    min_people: Annotated[
        int,
        typer.Option(
            "--min-people",
            help="Rates of fewer people prove nothing: their intervals cannot be relied on.",
        ),
    ] = 30,
    trust: opt.Trust = None,
    level: opt.Level = 0.95,
    machine: opt.Json = False,
) -> None:
    """Measure a model on new data.

    The exit code is 1 where a bound is exceeded beyond its confidence interval, and 0 where none
    is, so that a pipeline can stop.
    """
    terminal = Terminal.current()
    opened = open_classifier(model, eps, trust)
    people = Reader(terminal.note).known(data, opened.columns, drop_missing=drop_missing)
    point = model_point(opened.model, {"test": people}, level=level, file=model.name)
    (measured,) = [entry for entry in point.measured if entry.data == "test"]
    counted = people_by_row(opened.model.constraint_, people)
    verdicts = [
        verdict(row.excess, n, min_people) for row, n in zip(measured.rows, counted, strict=True)
    ]
    exceeded = [
        row for row, found in zip(measured.rows, verdicts, strict=True) if found == EXCEEDED
    ]
    terminal.say(f"{opened.model.constraint_!r} on {data.name}")
    show_rows(terminal, measured, counted, min_people, level)
    show_groups(terminal, point, level)
    if exceeded:
        terminal.say(
            f"EXCEEDED: {len(exceeded)} of {len(measured.rows)} bounds, by more than chance "
            f"explains at the {level:.0%} level."
        )
    else:
        terminal.say(f"No bound is exceeded beyond its {level:.0%} interval.")
    terminal.emit(
        {
            "exceeded": bool(exceeded),
            "exceeded_rows": [row.text for row in exceeded],
            "constraint": repr(opened.model.constraint_),
            "level": level,
            "measured": vars(measured)
            | {
                "rows": [
                    {**vars(row), "people": n, "verdict": found}
                    for row, n, found in zip(measured.rows, counted, verdicts, strict=True)
                ]
            },
            "groups": point.groups["test"],
        }
    )
    if exceeded:
        raise Ended(exits.EXCEEDED)


def people_by_row(constraint: Constraint, people: Examples) -> list[float]:
    """Return how many people the rarest rate of each inequality was measured on."""
    cells, _ = People(people.X, people.y, **people.metadata).read()
    moments = constraint.moments(cells)
    count = np.where(moments.M != 0, moments.event_count, np.inf)
    return count.min(axis=1, initial=np.inf).tolist()
