"""Groups on a page: their rates as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from equipoise.cells.table import Array
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import SELECTION, of_decision, rate_and_decision
from equipoise.game.switches import Switched, SwitchedRow
from equipoise.metrics import GroupTable
from equipoise.metrics.audit import Audit, group_rows
from equipoise.metrics.by_group import decision_table
from equipoise.metrics.decisions import Decisions
from equipoise.metrics.intervals import rate_intervals
from equipoise.metrics.predictive import PREDICTIVE
from equipoise.metrics.summaries import few_people
from equipoise.metrics.unknown import Bounds, UnknownGroup, UnknownPeople
from equipoise.report.contents import (
    PREDICTIVE_RATES,
    RATES,
    GroupContents,
    MovedContents,
    SwitchedContents,
)
from equipoise.report.measurement import Range
from equipoise.report.switches import MovedGroup, SwitchedGroup

_ENDS = ("", "_low", "_high")
#: Sentences about people whose group is unknown.
_MOST_SENTENCES = 7
#: A number that is not known.
NOT_KNOWN = Range(None, None, None)


Counted = TypeVar("Counted", GroupContents, SwitchedGroup, MovedGroup)


def largest_groups(groups: Sequence[Counted], most: int) -> list[Counted]:
    """Return the groups to show, in their order: all, or the largest; everybody always.

    Size decides, and not a rate, so that every classifier shows the same groups.

    >>> groups = [GroupContents("", "all", 9, {}), *(GroupContents("a", str(n), n, {})
    ...           for n in (2, 3, 4))]
    >>> [group.group for group in largest_groups(groups, 2)]
    ['all', '3', '4']
    """
    order = sorted(
        (at for at, group in enumerate(groups) if group.feature),
        key=lambda at: -groups[at].count,
    )
    left_out = set(order[most:])
    return [group for at, group in enumerate(groups) if at not in left_out]


def with_predictive(audit: Audit | Decisions, level: float) -> GroupTable:
    """Return the table of an audit with predictive values too."""
    if isinstance(audit, Decisions):
        table = decision_table(audit, level=level, stratified=False)
        columns = dict(table.columns)
        for number, decision in enumerate(audit.names):
            of_one = audit.against_rest(number)
            found = _predictive(of_one, level)
            columns |= {of_decision(name, decision, end): part for name, end, part in found}
        return replace(table, columns=columns)
    table = GroupTable.from_audit(audit, level=level, stratified=False)
    found = _predictive(audit, level)
    return replace(table, columns=table.columns | {f"{name}{end}": v for name, end, v in found})


def _predictive(audit: Audit, level: float) -> list[tuple[str, str, Array]]:
    """Return predictive values of an audit: names, ends of intervals, numbers by group."""
    masks = np.array([mask for _, _, mask in group_rows(audit, "both")])
    return [
        (rate.column, end, found)
        for rate in PREDICTIVE
        for end, found in zip(_ENDS, rate_intervals(audit, rate, masks, level, None), strict=True)
    ]


def _rates(table: GroupTable) -> list[str]:
    """Return the rates that a table has, in the order in which they are shown."""
    known = (*RATES, *PREDICTIVE_RATES)
    others = [name for name in table.columns if rate_and_decision(name)[1] is not None]
    others = [name for name in others if rate_and_decision(name)[0] in known]
    first = [rate for rate in known if rate in table.columns]
    return [*(name for name in others if not name.endswith(_ENDS[1:])), *first]


def group_contents(table: GroupTable) -> list[GroupContents]:
    """Return a table of groups as plain data."""
    unknown = () if table.unknown is None else table.unknown.groups
    bounds = {(group.feature, group.group): _bounds(group) for group in unknown}
    return [
        GroupContents(
            feature=feature,
            group=group_name(group),
            count=int(table["count"][at]),
            rates={
                rate: Range.of(*(table[f"{rate}{end}"][at] for end in _ENDS))
                for rate in _rates(table)
            },
            **bounds.get((feature, group), {}),
        )
        for at, (group, feature) in enumerate(zip(table.groups, table.features, strict=True))
    ]


def _bounds(group: UnknownGroup) -> dict[str, Any]:
    """Return limits of the rates of a group; not those of nobody."""

    def known(bounds: dict[str, Bounds]) -> dict[str, Bounds]:
        return {name: ends for name, ends in bounds.items() if math.isfinite(ends.low)}

    return {"worst": known(group.worst), "within_odds": known(group.within_odds)}


def unknown_remarks(people: UnknownPeople | None) -> list[str]:
    """Return sentences about people whose group is unknown."""
    remarks = [] if people is None else people.sentences()
    if len(remarks) > _MOST_SENTENCES:
        remarks[_MOST_SENTENCES:] = [f"so for {len(remarks) - _MOST_SENTENCES} groups more."]
    return remarks


def small_group_remarks(groups: Sequence[GroupContents]) -> list[str]:
    """Return a sentence about groups that are too small to say anything about.

    >>> groups = [GroupContents("sex", "F", 400, {}), GroupContents("sex", "X", 13, {})]
    >>> small_group_remarks(groups)
    ['X (13) has fewer than 30 people: too few to say anything about its rates.']
    """
    counts = np.array([row.count for row in groups], dtype=int)
    return few_people([row.feature for row in groups], [row.group for row in groups], counts)


def moved_contents(switched: Switched) -> list[MovedContents]:
    """Return who moves between more than two decisions as plain data, labels together."""
    rows = []
    for feature, group, mask in switched.groups():
        names = feature, group_name(group)
        people = round(float(switched.cells.count[mask].sum()))
        moves = [
            MovedContents(*names, people, str(before), str(after), number)
            for before, after, number in switched.between(mask)
        ]
        rows += moves or [MovedContents(*names, people, None, None, 0.0)]
    return rows


def switched_contents(
    switched: Switched, *, labelled: bool
) -> Sequence[SwitchedContents | MovedContents]:
    """Return switched decisions as plain data; where labels are not known, of both together."""
    if not switched.is_binary:
        return moved_contents(switched)
    rows = switched.rows
    contents = []
    for of_group in zip(rows[::2], rows[1::2], strict=True):
        parts = enumerate(zip(of_group)) if labelled else [(None, of_group)]
        contents += [_switched(label, part) for label, part in parts]
    return contents


def _switched(label: int | None, rows: Sequence[SwitchedRow]) -> SwitchedContents:
    """Return rows of a group added up."""
    people, gained, lost = (
        sum(getattr(row, name) for row in rows) for name in ("people", "gained", "lost")
    )
    names = rows[0].feature, group_name(rows[0].group)
    return SwitchedContents(*names, label, round(people), gained, lost)


def without_labels(group: GroupContents) -> GroupContents:
    """Return a group of people whose labels are not known, with the rates that need none."""
    rates = {
        name: rate if rate_and_decision(name)[0] == SELECTION.column else NOT_KNOWN
        for name, rate in group.rates.items()
    }
    return replace(group, rates=rates)
