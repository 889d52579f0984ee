"""``monitor``: count one more day of people; the exit code says whether there was an alarm."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from equipoise.cli import exits, terminal
from equipoise.cli import options as opt

if TYPE_CHECKING:
    from equipoise.cli.tables.people import Examples
    from equipoise.estimators import Monitor


def monitor(
    model: opt.ModelFile,
    data: opt.Data,
    state: Annotated[Path, opt.option("What is known of all days; made on the first day.")],
    eps: opt.FrontierEps = None,
    delta: Annotated[
        float | None, opt.option("The chance of a false alarm over all days; 0.05 by default.")
    ] = None,
    detect: Annotated[
        float | None, opt.option("The excess over a bound that should be found soon.")
    ] = None,
    again: Annotated[
        bool, opt.option("Count people who were counted before once more.", "--again")
    ] = False,
    drop_missing: opt.DropMissing = False,
    min_size: opt.MinSizeOfFit = None,
    *,
    format: opt.Format,
    trust: opt.Trust = None,
    machine: opt.Json = False,
) -> None:
    """Count one more day of people, and raise an alarm where bounds are not kept.

    It may be run every day: the chance of a false alarm is bounded over all days together. The
    exit code is 5 from the alarm on. Labels are needed where the constraint is about them.
    """
    from equipoise.cli.model_files import open_classifier
    from equipoise.cli.tables.people import Reader

    opened = open_classifier(model, eps, trust, min_size)
    watch = _open(opened.model, state, delta, detect)
    reader, columns = Reader(terminal.note, format.dialect()), replace(opened.columns, weight=None)
    people = reader.known(data, columns, drop_missing=drop_missing, labelled=watch.needs_labels)
    opened.note_unknown(people.X)
    if opened.columns.weight is not None:
        terminal.note(f"weights in {opened.columns.weight!r} are not used: everybody counts once.")
    _count(watch, people, data, again=again)
    if watch.alarm_:
        exits.decide(exits.ALARM)
    watch.save(state)
    _show(watch, opened.columns.labels)
    terminal.say(f"Written: {state} ({state.stat().st_size:,} bytes)")
    terminal.emit(_contents(watch))


def _open(model: Any, state: Path, delta: float | None, detect: float | None) -> Monitor:
    """Return the monitor of a state file, or a new one where there is none yet."""
    from equipoise.atomic_files import check_kind
    from equipoise.estimators import Monitor

    check_kind(state)
    if not state.exists():
        if not state.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {state.parent}; make it first.")
        return Monitor(model, 0.05 if delta is None else delta, detect)
    known = Monitor.load(state, model)
    for name, given, kept in (("delta", delta, known.delta), ("detect", detect, known.detect)):
        if given is not None and given != kept:
            raise ValueError(
                f"--{name} is {given}, but {state} was begun with {kept}; what a monitor promises "
                f"cannot change on its way. Leave --{name} out, or name a new state."
            )
    return known


def _count(watch: Monitor, people: Examples, data: Path, *, again: bool) -> None:
    from equipoise.exceptions import RepeatedBatchWarning

    try:
        with warnings.catch_warnings():
            if not again:
                warnings.simplefilter("error", RepeatedBatchWarning)
            watch.update(
                people.X,
                people.y,
                sensitive_features=people.sensitive_features,
                control_features=people.control_features,
            )
    except RepeatedBatchWarning:
        raise ValueError(
            f"the people of {data.name} were counted before; nothing was changed. Name the table "
            "of another day, or count them once more with --again."
        ) from None


def _show(watch: Monitor, labels: tuple[str, ...]) -> None:
    """Print the evidence against each bound, and where it is of too few people."""
    from equipoise.cli.result_tables import say_labels
    from equipoise.metrics.summaries import FEW

    rows = [
        [
            row.name,
            f"{row.people:,} ({row.fewest:,})",
            "-" if row.value is None else f"{row.value:+.4f}",
            f"{row.bound:+.4f}",
            f"{row.e_value:.3g}",
        ]
        for row in sorted(watch.rows_, key=lambda row: -row.e_value)
    ]
    header = ["bound", "people (rarest rate)", "so far", "at most", "e-value"]
    terminal.table(f"Day {len(watch.history_)}: evidence against each bound", header, rows)
    say_labels(labels, [row.name for row in watch.rows_])
    terminal.say(str(watch))
    if few := sum(row.fewest < FEW for row in watch.rows_):
        terminal.note(
            f"{few} of {len(watch.rows_)} bounds are about a rate of fewer than {FEW} people so "
            "far: that there is little evidence against them says nothing yet."
        )


def _contents(watch: Monitor) -> dict[str, Any]:
    return {
        "alarm": watch.alarm_,
        "alarm_day": watch.alarm_day_,
        "alarm_row": watch.alarm_row or None,
        "e_value": watch.e_value_,
        "alarm_at": 1 / watch.delta,
        "delta": watch.delta,
        "detect": watch.detect,
        "days": len(watch.history_),
        "people": sum(day.people for day in watch.history_),
        "rows": [row._asdict() for row in watch.rows_],
    }
