"""``certify``: whether a model keeps its bounds on other people; its exit code says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.exits import decide_certify

if TYPE_CHECKING:
    from equipoise.cli.model_files import ModelFile
    from equipoise.cli.tables.people import Examples, Reader
    from equipoise.metrics.verdict import Verdict
    from equipoise.report.contents import PointContents
    from equipoise.report.measurement import MeasuredContents


def certify(
    model: opt.ModelFile,
    data: opt.Data,
    eps: opt.FrontierEps = None,
    drop_missing: opt.DropMissing = False,
    *,
    format: opt.Format,
    min_size: opt.MinSizeOfFit = None,
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
    from equipoise.cli.spelling import spelled
    from equipoise.cli.tables.people import Reader
    from equipoise.metrics.few import group_of_few, left_out
    from equipoise.metrics.verdict import verdict_on, worst_verdict
    from equipoise.report.evaluate import model_for_readers

    opened = open_classifier(model, eps, trust, min_size, numbers=True)
    limits = [0, suppress_below]
    if opened.columns.numeric:
        from equipoise.cli.regression import certify_numbers

        reader = Reader(terminal.note, format.dialect())
        certify_numbers(opened, data, reader, drop_missing, limits, level)
        return
    reader = Reader(terminal.note, format.dialect()).for_constraint(opened.model.constraint_)
    people = _read(opened, data, reader, drop_missing)
    opened.note_unknown(people.X)
    shown, _ = model_for_readers(
        opened.model, {"test": people}, level=level, file=model.name, limits=limits
    )
    point, for_others = (point.in_order(opened.columns.order) for point, _ in shown)
    measured = point.on("test")
    assert measured is not None  # nobody is left out on the terminal
    verdicts = {row.text: verdict_on(row.excess, row.people) for row in measured.rows}
    verdict = worst_verdict(verdicts.values())
    decide_certify(verdict.is_exceeded, verdict.is_known)
    terminal.say(f"{spelled(opened.model.constraint_)} on {data.name}")
    _show(point, measured, opened.columns.labels, level)
    exceeded = [text for text, found in verdicts.items() if found.is_exceeded]
    compared = sum(found.is_known for found in verdicts.values())
    # Bounds of the fit that nobody here is about are none of the rows.
    of_fit = 0 if min_size else len(opened.model.certificate_.rows)
    rows = max(len(verdicts), of_fit)
    terminal.say(_outcome(verdict, len(exceeded), compared, rows, level))
    entry = for_others.on("test")
    named = set() if entry is None else {row.text for row in entry.rows}
    few = group_of_few(suppress_below)
    leaves_out = entry is None or entry.people < measured.people
    terminal.emit(
        {
            "exceeded": verdict.is_exceeded,
            "exceeded_rows": [text if text in named else few for text in exceeded],
            "compared": verdict.is_known,
            "verdict": verdict.in_words(suppress_below) if entry is None else entry.verdict,
            "constraint": repr(opened.model.constraint_),
            "level": level,
            "labels": people.y is not None,
            "left_out": left_out(suppress_below) if leaves_out else "",
            "learned_from": entry and entry.overlap and entry.overlap._asdict(),
            "measured": entry,
            "groups": for_others.groups.get("test", []),
            "switched": for_others.switched.get("test", []),
            "remarks": for_others.remarks,
        }
    )


def _show(
    point: PointContents, measured: MeasuredContents, labels: tuple[str, ...], level: float
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
    show_rows(measured.rows, measured.people, level)
    say_labels(labels, [row.text for row in measured.rows])
    show_groups(point)
    note_small(point.groups["test"])
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


def _outcome(verdict: Verdict, exceeded: int, compared: int, rows: int, level: float) -> str:
    """Return the verdict on all bounds in a sentence; ``rows`` are those of the model."""
    if verdict.is_exceeded:
        evidence = verdict.in_words().removeprefix("exceeded")
        return (
            f"EXCEEDED: {exceeded} of {rows} bounds, by more than chance explains at the "
            f"{level:.0%} level{evidence}."
        )
    if not compared:
        return "NOTHING WAS COMPARED: no bound could be looked at on these people."
    if compared < rows:
        return (
            f"No bound of the {compared} looked at is exceeded beyond its {level:.0%} interval; "
            f"{rows - compared} are not known."
        )
    return f"No bound is exceeded beyond its {level:.0%} interval."
