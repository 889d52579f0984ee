"""``certify``: whether a model keeps its bounds on other people; its exit code says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from equipoise.cli import exits
from equipoise.cli import options as opt
from equipoise.cli.exits import Ended
from equipoise.cli.model_files import open_classifier
from equipoise.cli.result_tables import EXCEEDED, UNKNOWN, show_groups, show_rows, verdict
from equipoise.cli.tables.people import Reader
from equipoise.cli.terminal import Terminal
from equipoise.report.contents import SUPPRESS_BELOW, MeasuredContents
from equipoise.report.evaluate import model_point
from equipoise.report.text import whose


def certify(
    model: opt.ModelFile,
    data: opt.Data,
    eps: opt.FrontierEps = None,
    drop_missing: opt.DropMissing = False,
    min_people: Annotated[
        int, opt.option("Rates of fewer people prove nothing: their intervals cannot be relied on.")
    ] = 30,
    suppress_below: opt.SuppressBelow = SUPPRESS_BELOW,
    trust: opt.Trust = None,
    level: opt.Level = 0.95,
    machine: opt.Json = False,
) -> None:
    """Measure a model on new data.

    The exit code is 1 where a bound is exceeded beyond its confidence interval, 4 where nothing was
    compared, and 0 otherwise, so that a pipeline can stop.
    """
    terminal = Terminal.current()
    opened = open_classifier(model, eps, trust)
    people = Reader(terminal.note).known(data, opened.columns, drop_missing=drop_missing)
    point = model_point(
        opened.model, {"test": people}, level=level, file=model.name, suppress_below=suppress_below
    )
    (measured,) = [entry for entry in point.measured if entry.data == "test"]
    rows = [
        {**vars(row), "verdict": verdict(row.excess, row.people, min_people)}
        for row in measured.rows
    ]
    terminal.say(f"{opened.model.constraint_!r} on {data.name}")
    _say_who(terminal, measured, point.remarks)
    show_rows(terminal, rows, measured.people, level)
    if measured.hidden:
        terminal.say(
            f"{measured.hidden} inequalities about few people are suppressed; "
            f"{measured.hidden_exceeded} of them are exceeded.\n"
        )
    show_groups(terminal, point)
    exceeded = [row["text"] for row in rows if row["verdict"] == EXCEEDED]
    compared = sum(row["verdict"] != UNKNOWN for row in rows)
    terminal.say(_outcome(len(exceeded), compared, len(rows) + measured.hidden, level))
    terminal.emit(
        {
            "exceeded": bool(exceeded),
            "exceeded_rows": exceeded,
            "compared": bool(compared),
            "constraint": repr(opened.model.constraint_),
            "level": level,
            "learned_from": measured.overlap and measured.overlap._asdict(),
            "measured": {**vars(measured), "rows": rows},
            "groups": point.groups["test"],
            "remarks": point.remarks,
        }
    )
    if exceeded:
        raise Ended(exits.EXCEEDED)
    if not compared:
        raise Ended(exits.NOTHING_COMPARED)


def _say_who(terminal: Terminal, measured: MeasuredContents, remarks: Sequence[str]) -> None:
    """Print who was measured, and what is easily overlooked."""
    terminal.say(f"Measured on {measured.people:,} {whose(measured)}.\n")
    for text in remarks:
        terminal.note(text)
    overlap = measured.overlap
    if overlap is None or (overlap.estimate and not overlap.set_apart):
        terminal.note(
            "what holds for people learned from says little about others. Certify on people held "
            "out: fit and frontier write them with --held-out FILE."
        )


def _outcome(exceeded: int, compared: int, rows: int, level: float) -> str:
    if exceeded:
        return (
            f"EXCEEDED: {exceeded} of {rows} bounds, by more than chance explains at the "
            f"{level:.0%} level."
        )
    if not compared:
        return "NOTHING WAS COMPARED: no bound could be looked at on these people."
    if compared < rows:
        return (
            f"No bound of the {compared} looked at is exceeded beyond its {level:.0%} interval; "
            f"{rows - compared} are suppressed or not known."
        )
    return f"No bound is exceeded beyond its {level:.0%} interval."
