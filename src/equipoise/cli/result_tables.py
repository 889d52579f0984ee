"""Tables of results, as commands print them: frontiers, measurements, groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from equipoise.cli import terminal
from equipoise.cli.spelling import in_options
from equipoise.constraints.rates import rate_and_decision
from equipoise.game.switches import number
from equipoise.metrics.headline import COMPARED, RULE
from equipoise.metrics.summaries import FEW, few_people
from equipoise.metrics.verdict import verdict_on
from equipoise.report.contents import (
    RATES,
    AuditContents,
    ColumnContents,
    GroupContents,
    PointContents,
    ReportContents,
)
from equipoise.report.groups import small_group_remarks
from equipoise.report.measurement import Range, RowContents
from equipoise.report.rate_names import rate_name, rates_of
from equipoise.report.switches import (
    MovedGroup,
    SwitchedGroup,
    moved_groups,
    moved_sentence,
    switched_groups,
    switched_sentence,
)
from equipoise.report.text import moves_of, whose, why_no_rate
from equipoise.rows.fingerprint import Overlap

#: Columns of a table that are listed; the rest are counted.
_MOST_COLUMNS = 60


def show_columns(
    columns: Sequence[ColumnContents],
    labels: tuple[str, ...] | None,
    format_: str = "",
) -> None:
    """Print how each column of a table was read, and which label is the favourable one."""
    rows = [
        [col.name, col.role, col.kind, "" if col.values is None else col.values, col.missing or ""]
        for col in columns[:_MOST_COLUMNS]
    ]
    title = f"How the columns were read{format_ and ': '}{format_}"
    if len(columns) > _MOST_COLUMNS:
        rows.append([f"and {len(columns) - _MOST_COLUMNS} more", "", "", "", ""])
    terminal.table(title, ["column", "used as", "read as", "values", "missing"], rows, as_note=True)
    if labels is None:  # a number
        return
    if len(labels) > 2:
        terminal.progress_line(
            f"Labels: {', '.join(labels)}. Each is a decision; with --positive one of them is the "
            "favourable one, and all others count as one."
        )
        return
    other, favourable = labels
    if other == f"not {favourable}":
        terminal.progress_line(f"Favourable label: {favourable!r}; all others count as one.")
        return
    terminal.progress_line(
        f"Favourable label: {favourable!r}. If it is {other!r}, say so with --positive."
    )


def show_frontier(contents: ReportContents) -> None:
    """Print the trade-off, a line for each bound."""
    found = [entry.data for entry in contents.points[0].measured]
    header = ["bound", *(f"error {data}" for data in found), *(f"diff. {data}" for data in found)]
    rows = []
    alone = [] if contents.unconstrained is None else [contents.unconstrained]
    for point in [*contents.points, *alone]:
        by_data = {entry.data: entry for entry in point.measured}
        bound = "none" if point.eps is None else f"{point.eps:.4f}"
        errors = [_short(by_data[d].error, interval=False) if d in by_data else "" for d in found]
        gaps = [
            _short(by_data[d].difference, interval=d != "training") if d in by_data else ""
            for d in found
        ]
        price = "" if point.price is None else f"{point.price:.3f}"
        rows.append([bound, *errors, *gaps, price, *_everybody(point), str(len(point.members))])
    name = contents.constraint.name if contents.constraint is not None else ""
    moved = ["differ"] if contents.data.decisions else ["gain", "lose"]
    terminal.table(f"Frontier: {name}", [*header, "price", *moved, "mixed"], rows)
    _say_remarks(contents.points[0])
    error = contents.objective or "share of wrong decisions"
    terminal.say(
        f"error: {error}. diff.: the largest difference {COMPARED}. [...]: {contents.level:.0%} "
        "intervals.\nprice: error saved for each unit that the bound is loosened. mixed: how many "
        "classifiers are.\n"
        f"{', '.join(moved)}: people decided on differently than without the constraint, "
        f"{contents.points[0].main_data} data."
    )


def _everybody(point: PointContents) -> list[str]:
    """Return how many people gain and lose by a point, empty where that is not known."""
    if moved := moved_groups(point.switched.get(point.main_data, [])):
        return [number(moved[0].total)]
    groups = switched_groups(point.switched.get(point.main_data, []))
    found = next((row for row in groups if not row.feature), None)
    return ["", ""] if found is None else [number(found.gained), number(found.lost)]


def note_small(groups: Sequence[GroupContents], min_size: int | None = None) -> None:
    """Note groups that are too small to say anything about, to the owner alone."""
    for text in small_group_remarks(groups):
        terminal.note(text, keep=False)
    fewest = min((row.count for row in groups if row.feature), default=FEW)
    note_compared(fewest, min_size)


def note_compared(fewest: int, min_size: int | None) -> None:
    """Note that groups are compared which are too small to say anything about, if there are any."""
    if min_size is not None and fewest < FEW and min_size < FEW:
        terminal.note(
            f"groups of fewer than {FEW} people are compared like all others, although their rates "
            f"are mostly chance; --min-size {FEW} leaves them out of comparisons and bounds."
        )


def _note_exceeded(point: PointContents) -> None:
    """Note that a bound is exceeded on others than those learned from, if chance is no reason."""
    entry = point.on("test")
    if entry is None:
        return
    rows = [row for row in entry.rows if verdict_on(row.excess, row.people).is_exceeded]
    if rows:
        worst = max(rows, key=lambda row: row.excess.low or 0.0)
        terminal.note(
            f"on the test data the bound is exceeded by more than chance explains: {worst.text}, "
            f"excess {_long(worst.excess, '+')} ({worst.people:,} people). Out-of-fold decisions "
            "(--cv 5), larger groups (--min-size) or a smaller --eps may help.",
            keep=False,
        )


def show_classifier(
    point: PointContents,
    level: float,
    labels: tuple[str, ...],
    objective: Any = None,
) -> None:
    """Print the certificate, what was measured on each of the data, the groups, who switches."""
    terminal.say(point.certificate["text"])
    say_labels(labels, [row.text for entry in point.measured for row in entry.rows])
    if objective is not None:
        terminal.say(f"error is what was minimised: {objective!r}")
    rows = [
        [
            entry.data,
            f"{entry.people:,}",
            _long(entry.error),
            "nothing compared" if (row := entry.headline) is None else _long(row.excess, "+"),
            "" if row is None else f"{row.text} ({row.people:,})",
        ]
        for entry in point.measured
    ]
    header = ["data", "people", "error", "excess over the bound", "of (people)"]
    terminal.table(f"Measured, [{level:.0%} intervals]", header, rows)
    terminal.say(f"excess: of the inequality with {RULE}.")
    _say_remarks(point)
    _note_exceeded(point)
    show_groups(point)
    show_switched(point, labels[1])


def say_labels(labels: tuple[str, ...], rows: Iterable[str]) -> None:
    """Print which labels are meant by 0 and 1, where inequalities speak of them."""
    if len(labels) == 2 and labels != ("0", "1") and any(" given label " in row for row in rows):
        terminal.say(f"label 1 is {labels[1]!r}, the favourable one; label 0 is {labels[0]!r}.")


def note_small_switched(point: PointContents) -> None:
    """Note groups that are too small to say anything about, where no rates of groups are known."""
    groups = switched_groups(point.switched.get(point.main_data, []))
    counts = np.array([row.count for row in groups], dtype=int)
    for text in few_people([row.feature for row in groups], [row.group for row in groups], counts):
        terminal.note(text, keep=False)


def _say_remarks(point: PointContents) -> None:
    """Print whose data the test data are, and what is easily overlooked."""
    if (entry := point.on("test")) is not None:
        terminal.say(f"test: {entry.people:,} {whose(entry)}.")
    for text in map(in_options, point.remarks):
        terminal.note(text, keep=False)


def say_who(who: str, remarks: Sequence[str], overlap: Overlap | None) -> None:
    """Print who was measured, and what is easily overlooked."""
    terminal.say(f"Measured on {who}.\n")
    for text in map(in_options, remarks):
        terminal.note(text, keep=False)
    seen = overlap is not None and (overlap.estimate or overlap.relabelled)
    if overlap is None or (seen and not overlap.set_apart):
        terminal.note(
            "what holds for people learned from says little about others. Certify on people held "
            "out: fit and frontier write them with --held-out FILE."
        )


def _name(group: GroupContents | SwitchedGroup | MovedGroup) -> str:
    return f"{group.feature}: {group.group}" if group.feature else group.group


def show_groups(point: PointContents) -> None:
    """Print the rates of every group, on other people than those of the fit if there are any."""
    if point.groups:
        data = list(point.groups)[-1]
        show_group_rows(f"Groups, {data} data", point.groups[data])


def _decisions_of(groups: Sequence[GroupContents]) -> list[str]:
    """Return the decisions that groups have rates of, where there are more than two."""
    names = (rate_and_decision(rate)[1] for group in groups for rate in group.rates)
    return list(dict.fromkeys(name for name in names if name is not None))


def show_switched(point: PointContents, favourable: str) -> None:
    """Print who is decided on differently than by the unconstrained model, if that is known."""
    if point.main_data not in point.switched:
        return
    if moved := moved_groups(point.switched[point.main_data]):
        return _show_moved(f"Switched decisions, {point.main_data} data", moved)
    groups = switched_groups(point.switched[point.main_data])
    rows = [
        [
            _name(row),
            f"{row.count:,}",
            *_counts(row),
        ]
        for row in groups
    ]
    labelled = any(row.gained_qualified is not None for row in groups)
    of_label = f" (label {favourable})" if labelled else ""
    header = ["group", "people", f"gain{of_label}", f"lose{of_label}"]
    title = f"Switched decisions, {point.main_data} data"
    terminal.table(title, header, rows)
    if sentence := switched_sentence(groups, favourable):
        terminal.say(f"{sentence[0].upper()}{sentence[1:]}")


def _show_moved(title: str, groups: Sequence[MovedGroup]) -> None:
    """Print who moves from one of more than two decisions to another."""
    rows = [[_name(group), *move] for group in groups for move in moves_of(group)]
    terminal.table(title, ["group", "people", "without", "with", "people who move"], rows)
    if sentence := moved_sentence(groups):
        terminal.say(f"{sentence[0].upper()}{sentence[1:]}")


def _counts(group: SwitchedGroup) -> list[str]:
    """Return who gains and who loses, in brackets those with the favourable label."""
    pairs = (group.gained, group.gained_qualified), (group.lost, group.lost_qualified)
    return [
        number(every) + (f" ({number(some)})" if some is not None else "") for every, some in pairs
    ]


def show_group_rows(
    title: str,
    groups: Sequence[GroupContents],
    rates: Sequence[str] = RATES,
) -> None:
    """Print the rates of every group, all of them or some; of several decisions one by one."""
    if decisions := _decisions_of(groups):
        for decision in decisions:
            one = rates_of(rates, decision)
            _show_rates(f"{title}, decision {decision}", groups, one)
        if "error_rate" in rates:
            _show_rates(f"{title}, errors", groups, ["error_rate"])
        return
    _show_rates(title, groups, rates)


def _show_rates(title: str, groups: Sequence[GroupContents], rates: Sequence[str]) -> None:
    rows = [
        [
            _name(row),
            f"{row.count:,}",
            *(shown(row.rates[rate], ".1%", ".1%") or why_no_rate(row, rate) for rate in rates),
        ]
        for row in groups
    ]
    terminal.table(title, ["group", "people", *(rate_name(rate).lower() for rate in rates)], rows)


def show_disparities(found: AuditContents, level: float) -> None:
    """Print the disparities of an audit, and between whom they are."""
    rows = [
        [words, _long(value), found.between.get(name, "")]
        for name, value, words in found.disparities
    ]
    header = ["disparity", "value", "between (people)"]
    terminal.table(f"Disparities, [{level:.0%} intervals]", header, rows)
    words = {name: text for name, _, text in found.disparities}
    for name, text in found.by_estimate.items():
        terminal.say(f"{words[name]}, by the estimate alone: {text}")
    if found.by_estimate:
        terminal.say(
            f"In the table is the one with {RULE}, since estimates of few people may be chance."
        )


def show_rows(rows: Sequence[RowContents], people: int, level: float) -> None:
    """Print every constraint and by how much it exceeds its bound, the worst first."""
    ordered = sorted(rows, key=lambda row: -(row.excess.estimate or 0.0))
    title = f"Constraints on {people:,} people, [{level:.0%} intervals that hold at once]"
    terminal.table(
        title,
        ["constraint", "people", "excess over the bound", "verdict"],
        [[row.text, f"{row.people:,}", _long(row.excess, "+"), row.verdict] for row in ordered],
    )


def _short(value: Range | None, *, interval: bool) -> str:
    return "" if value is None else shown(value, ".4f", ".3f" if interval else None)


def _long(value: Range, sign: str = "") -> str:
    return shown(value, f"{sign}.4f", f"{sign}.4f")


def shown(value: Range, form: str, interval: str | None) -> str:
    """Return an estimate, with its interval if that is known and asked for.

    >>> shown(Range(0.25, 0.2, 0.3), ".1%", ".0%"), shown(Range(None, None, None), ".2f", None)
    ('25.0% [20%, 30%]', '')
    """
    if value.estimate is None:
        return ""
    text = f"{value.estimate:{form}}"
    if interval is None or value.low is None or value.high is None:
        return text
    return f"{text} [{value.low:{interval}}, {value.high:{interval}}]"
