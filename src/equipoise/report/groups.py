"""Groups on a page: their rates as plain data, without those of small ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from equipoise.cells.table import Array, Mask
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import SELECTION
from equipoise.game.switched import Switched, SwitchedRow
from equipoise.metrics import GroupTable
from equipoise.metrics.audit import Audit, group_rows
from equipoise.metrics.predictive import predictive_values
from equipoise.metrics.small_groups import SUPPRESS_BELOW, small_groups
from equipoise.metrics.unknown import Bounds, UnknownGroup, UnknownPeople
from equipoise.report.contents import (
    PREDICTIVE_RATES,
    RATES,
    GroupContents,
    SwitchedContents,
)
from equipoise.report.measured import Range
from equipoise.report.switched import SwitchedGroup

_ENDS = ("", "_low", "_high")
#: Sentences about people whose group is unknown.
_MOST_SENTENCES = 7
#: A number that is not known.
NOT_KNOWN = Range(None, None, None)


Counted = TypeVar("Counted", GroupContents, SwitchedGroup)


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
        key=lambda at: -(groups[at].count or 0),
    )
    left_out = set(order[most:])
    return [group for at, group in enumerate(groups) if at not in left_out]


def with_predictive(audit: Audit, level: float) -> GroupTable:
    """Return the table of an audit with predictive values too."""
    table = GroupTable.from_audit(audit, level=level, stratified=False)
    masks = np.array([mask for _, _, mask in group_rows(audit, "both")])
    columns = dict(table.columns)
    for name, ends in predictive_values(audit, masks, level).items():
        columns |= {f"{name}{end}": found for end, found in zip(_ENDS, ends, strict=True)}
    return replace(table, columns=columns)


def group_contents(table: GroupTable, suppress_below: int = SUPPRESS_BELOW) -> list[GroupContents]:
    """Return a table of groups as plain data; small ones without size and rates."""
    hidden = small_groups(table, suppress_below)
    unknown = () if table.unknown is None else table.unknown.groups
    bounds = {(group.feature, group.group): _bounds(group) for group in unknown}
    return [
        GroupContents(
            feature=feature,
            group=group_name(group),
            count=None if hidden[at] else int(table["count"][at]),
            rates={
                rate: span(*(table[f"{rate}{end}"][at] for end in _ENDS))
                for rate in (*RATES, *PREDICTIVE_RATES)
                if not hidden[at] and rate in table.columns
            },
            **({} if hidden[at] else bounds.get((feature, group), {})),
        )
        for at, (group, feature) in enumerate(zip(table.groups, table.features, strict=True))
    ]


def _bounds(group: UnknownGroup) -> dict[str, Any]:
    """Return limits of the rates of a group; not those of nobody."""

    def known(bounds: dict[str, Bounds]) -> dict[str, Bounds]:
        return {name: ends for name, ends in bounds.items() if math.isfinite(ends.low)}

    return {"worst": known(group.worst), "within_odds": known(group.within_odds)}


def unknown_remarks(audit: Audit, shown: Sequence[GroupContents]) -> list[str]:
    """Return sentences about people whose group is unknown; none of groups that are suppressed."""
    people = UnknownPeople.of(audit)
    hidden = {(group.feature, group.group) for group in shown if group.count is None}
    told = [] if people is None else people.sentences(hidden)
    if len(told) > _MOST_SENTENCES:
        told[_MOST_SENTENCES:] = [f"so for {len(told) - _MOST_SENTENCES} groups more."]
    return told


def switched_contents(
    switched: Switched, suppress_below: int, *, labelled: bool
) -> list[SwitchedContents]:
    """Return switched decisions as plain data.

    Of a small group there are no numbers; of one with few people of a label, those of both labels
    together.
    """
    rows = switched.rows
    by_label = [rows[number::2] for number in range(2)]
    names = tuple(row.group for row in by_label[0]), tuple(row.feature for row in by_label[0])

    def hidden(count: Array) -> Mask:
        return small_groups(GroupTable(*names, {"count": count}), suppress_below)

    people = np.array([[row.people for row in some] for some in by_label])
    small, together = hidden(people.sum(axis=0)), np.full(len(names[0]), not labelled)
    for count in people[people.sum(axis=1) > 0]:
        together |= hidden(count)
    found = []
    for at, of_group in enumerate(zip(*by_label, strict=True)):
        parts = [(None, of_group)] if together[at] or small[at] else enumerate(zip(of_group))
        found += [_switched(label, some, hide=small[at]) for label, some in parts]
    return found


def _switched(label: int | None, rows: Sequence[SwitchedRow], *, hide: bool) -> SwitchedContents:
    """Return rows of a group added up."""
    sums = [sum(getattr(row, name) for row in rows) for name in ("people", "gained", "lost")]
    names = rows[0].feature, group_name(rows[0].group)
    return SwitchedContents(*names, label, *([None] * 3 if hide else [round(sums[0]), *sums[1:]]))


def without_labels(group: GroupContents) -> GroupContents:
    """Return a group of people whose labels are not known, with the rates that need none."""
    kept = {SELECTION.column}
    rates = {name: rate if name in kept else NOT_KNOWN for name, rate in group.rates.items()}
    return replace(group, rates=rates)


def span(estimate: float, low: float, high: float) -> Range:
    """Return an estimate with its interval; what is not a finite number becomes None."""
    ends = (estimate, low, high)
    return Range(*(float(value) if math.isfinite(value) else None for value in ends))
