"""``certify``: whether a model keeps its bounds on other people; its exit code says so."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from equipoise.cli import exits
from equipoise.cli import options as opt
from equipoise.cli.exits import Ended
from equipoise.cli.model_files import open_classifier
from equipoise.cli.result_tables import EXCEEDED, show_groups, show_rows, verdict
from equipoise.cli.tables.people import Examples, Reader
from equipoise.cli.terminal import Terminal
from equipoise.estimators.reductions import FairClassifier
from equipoise.report.evaluate import model_point


def certify(
    model: opt.ModelFile,
    data: opt.Data,
    eps: opt.FrontierEps = None,
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
    rows = [
        {**vars(row), "people": n, "verdict": verdict(row.excess, n, min_people)}
        for row, n in zip(measured.rows, people_by_row(opened.model, people), strict=True)
    ]
    exceeded = [row["text"] for row in rows if row["verdict"] == EXCEEDED]
    terminal.say(f"{opened.model.constraint_!r} on {data.name}")
    show_rows(terminal, rows, measured.people, level)
    show_groups(terminal, point)
    if exceeded:
        terminal.say(
            f"EXCEEDED: {len(exceeded)} of {len(rows)} bounds, by more than chance explains at the "
            f"{level:.0%} level."
        )
    else:
        terminal.say(f"No bound is exceeded beyond its {level:.0%} interval.")
    terminal.emit(
        {
            "exceeded": bool(exceeded),
            "exceeded_rows": exceeded,
            "constraint": repr(opened.model.constraint_),
            "level": level,
            "measured": {**vars(measured), "rows": rows},
            "groups": point.groups["test"],
        }
    )
    if exceeded:
        raise Ended(exits.EXCEEDED)


def people_by_row(model: FairClassifier, people: Examples) -> list[float]:
    """Return how many people the rarest rate of each inequality was measured on."""
    cells, _ = people.read()
    moments = model.constraint_.moments(cells, model.tallies_["training"].cells)
    count = np.where(moments.M != 0, moments.event_count, np.inf)
    return count.min(axis=1, initial=np.inf).tolist()
