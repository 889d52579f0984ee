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
    run_length: Annotated[
        int | None,
        opt.option("At most one false alarm in so many people on average; 150,000 by default."),
    ] = None,
    detect: Annotated[
        float | None, opt.option("The excess over a bound that should be found soon.")
    ] = None,
    period: Annotated[
        int | None,
        opt.option("People whom the present value is about, and wait; 10,000 by default."),
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

    It may be run every day: while bounds are kept, there is at most one alarm in --run-length
    people on average. The exit code is 5 from the first alarm on. Labels are needed where the
    constraint is about them.
    """
    from equipoise.cli.model_files import open_classifier
    from equipoise.cli.tables.people import Reader

    opened = open_classifier(model, eps, trust, min_size)
    asked = {"run_length": run_length, "detect": detect, "period": period}
    chosen = {name: value for name, value in asked.items() if value is not None}
    watch = _open(opened.model, state, chosen)
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


def _open(model: Any, state: Path, chosen: dict[str, Any]) -> Monitor:
    """Return the monitor of a state file, or a new one where there is none yet."""
    from equipoise.atomic_files import check_kind
    from equipoise.estimators import Monitor

    check_kind(state)
    if not state.exists():
        if not state.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {state.parent}; make it first.")
        return Monitor(model, **chosen)
    watch = Monitor.load(state, model)
    for name, value in chosen.items():
        if value != (begun := getattr(watch, name)):
            option = "--" + name.replace("_", "-")
            raise ValueError(
                f"{option} is {value}, but {state} was begun with {begun}; what a monitor promises "
                f"cannot change on its way. Leave {option} out, or name a new state."
            )
    return watch


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
            f"{row.waiting:,} ({row.dropped:,})",
            "-" if row.low is None else f"{row.present:+.4f} [{row.low:+.4f}, {row.high:+.4f}]",
            f"{row.bound:+.4f}",
            f"{row.evidence:,.3g}",
        ]
        for row in sorted(watch.rows_, key=lambda row: -row.evidence)
    ]
    header = [
        "bound",
        "people (rarest rate)",
        "waiting (dropped)",
        "present period",
        "at most",
        "evidence",
    ]
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
        "alarms": [alarm._asdict() for alarm in watch.alarms_],
        "run_length": watch.run_length,
        "detect": watch.detect,
        "period": watch.period,
        "days": len(watch.history_),
        "people": sum(day.people for day in watch.history_),
        "rows": [row._asdict() for row in watch.rows_],
    }
