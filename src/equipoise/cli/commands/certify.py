"""``certify``: whether a model keeps its bounds on other people; its exit code says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.exits import decide_certify

if TYPE_CHECKING:
    from equipoise.cli.model_files import ModelFile
    from equipoise.cli.tables.people import Examples, Reader
    from equipoise.report.measurement import MeasuredContents


def certify(
    model: opt.ModelFile,
    data: opt.Data,
    eps: opt.FrontierEps = None,
    drop_missing: opt.DropMissing = False,
    *,
    format: opt.Format,
    min_size: opt.MinSizeOfFit = None,
    min_people: Annotated[
        int, opt.option("Rates of fewer people prove nothing: their intervals cannot be relied on.")
    ] = 30,
    suppress_below: opt.SuppressBelow = opt.SUPPRESS_BELOW,
    trust: opt.Trust = None,
    level: opt.Level = 0.95,
    machine: opt.Json = False,
) -> None:
    """Measure a model on new data.

    The exit code is 1 where a bound is exceeded beyond its confidence interval, 4 where nothing was
    compared, and 0 otherwise, so that a pipeline can stop.
    """
    from equipoise.cli.model_files import open_classifier
    from equipoise.cli.result_tables import EXCEEDED, UNKNOWN, verdict
    from equipoise.cli.spelling import spelled
    from equipoise.cli.tables.people import Reader
    from equipoise.report.evaluate import model_points

    opened = open_classifier(model, eps, trust, min_size, numbers=True)
    if opened.columns.numeric:
        from equipoise.cli.regression import certify_numbers
        from equipoise.estimators.regression.intervals import Level

        reader, sure = Reader(terminal.note, format.dialect()), Level(level, min_people)
        certify_numbers(opened, data, reader, drop_missing, suppress_below, sure)
        return
    reader = Reader(terminal.note, format.dialect()).for_constraint(opened.model.constraint_)
    people = _read(opened, data, reader, drop_missing)
    opened.note_unknown(people.X)
    point, _ = model_points(
        opened.model,
        {"test": people},
        level=level,
        file=model.name,
        suppress_below=suppress_below,
        min_people=min_people,
    )
    point = point.in_order(opened.columns.order)
    (measured,) = [entry for entry in point.measured if entry.data == "test"]
    rows = [
        {**vars(row), "verdict": verdict(row.excess, row.people, min_people)}
        for row in measured.rows
    ]
    exceeded = [row["text"] for row in rows if row["verdict"] == EXCEEDED]
    compared = sum(row["verdict"] != UNKNOWN for row in rows)
    certain = len(exceeded) + measured.hidden_certain
    decide_certify(bool(certain), bool(compared))
    terminal.say(f"{spelled(opened.model.constraint_)} on {data.name}")
    _show(point, measured, rows, opened.columns.labels, level, suppress_below)
    # Bounds of the fit that nobody here is about are none of the rows.
    of_fit = 0 if min_size else len(opened.model.certificate_.rows)
    terminal.say(_outcome(certain, compared, max(len(rows) + measured.hidden, of_fit), level))
    found = {"exceeded": bool(certain), "exceeded_rows": exceeded, "compared": bool(compared)}
    how = {"constraint": repr(opened.model.constraint_), "level": level}
    labels = {"labels": people.y is not None}
    terminal.emit({**found, **how, **labels, **_summary(point, measured, rows)})


def _summary(point: Any, measured: MeasuredContents, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what was measured, for `--json`."""
    return {
        "learned_from": measured.overlap and measured.overlap._asdict(),
        "measured": {**vars(measured), "rows": rows},
        "groups": point.groups["test"],
        "switched": point.switched.get("test", []),
        "remarks": point.remarks,
    }


def _show(
    point: Any,
    measured: MeasuredContents,
    rows: list[dict[str, Any]],
    labels: tuple[str, ...],
    level: float,
    suppress_below: int,
) -> None:
    """Print who was measured, the inequalities with their verdicts, groups and switched people."""
    from equipoise.cli.result_tables import (
        note_small,
        say_labels,
        say_who,
        show_groups,
        show_rows,
        show_switched,
    )
    from equipoise.report.text import whose

    who = f"{measured.people:,} {whose(measured)}"
    say_who(who, point.remarks, measured.overlap)
    show_rows(rows, measured.people, level)
    say_labels(labels, [row["text"] for row in rows])
    if measured.hidden:
        terminal.say(
            f"{measured.hidden} inequalities about small groups, or that would tell of them, are "
            f"suppressed; exceeded among them: {measured.hidden_exceeded}, beyond chance: "
            f"{measured.hidden_certain}.\n"
        )
    show_groups(point)
    note_small(point.groups["test"], suppress_below)
    show_switched(point, labels[1])


def _read(opened: ModelFile, data: Path, reader: Reader, drop_missing: bool) -> Examples:
    """Return the people of a table, with their labels where the constraint needs them."""
    from equipoise.report.evaluate import needs_labels

    cells = next(iter(opened.model.tallies_.values())).cells
    labelled = True if needs_labels(opened.model.constraint_, cells) else None
    people = reader.known(data, opened.columns, drop_missing=drop_missing, labelled=labelled)
    if people.y is None:
        reader.note(f"{data.name} has no labels; what is shown needs none.")
    return people


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
