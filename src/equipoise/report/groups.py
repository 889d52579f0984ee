"""Groups on a page: their rates as plain data, without those of small ones."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from equipoise.cells.table import Array, Mask
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import SELECTION, of_decision, rate_and_decision
from equipoise.game.switches import Switched, SwitchedRow
from equipoise.metrics import GroupTable
from equipoise.metrics.audit import Audit, group_rows
from equipoise.metrics.by_group import decision_table
from equipoise.metrics.decisions import Decisions
from equipoise.metrics.intervals import rate_intervals
from equipoise.metrics.predictive import PREDICTIVE
from equipoise.metrics.small_groups import SUPPRESS_BELOW, small_groups, small_parts
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
#: Columns of a table of several decisions: how many people have its label, and how many get it.
_HAVE_LABEL, _GET_IT = "have_label", "get_it"
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
        key=lambda at: -(groups[at].count or 0),
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
            found = [*_predictive(of_one, level), *_people(of_one)]
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


def _people(audit: Audit) -> list[tuple[str, str, Array]]:
    """Return how many people of each group have the label of one of several decisions, or get it.

    Those who get it are as many as expected. NaN where nobody does, or has the label at all: there
    is nobody to protect.
    """
    masks = np.array([mask for _, _, mask in group_rows(audit, "both")])
    count, mass = audit.cells.count, audit.mass
    share = np.divide(audit.selected, mass, out=np.zeros_like(mass), where=mass > 0)
    has = masks @ np.where(audit.cells.label == 1, count, 0.0)
    gets = np.round(masks @ (count * share), 6)
    has = has if has.any() else np.full_like(has, np.nan)
    return [(_HAVE_LABEL, "", has), (_GET_IT, "", np.where(gets > 0, gets, np.nan))]


def _rates(table: GroupTable) -> list[str]:
    """Return the rates that a table has, in the order in which they are shown."""
    known = (*RATES, *PREDICTIVE_RATES)
    others = [name for name in table.columns if rate_and_decision(name)[1] is not None]
    others = [name for name in others if rate_and_decision(name)[0] in known]
    first = [rate for rate in known if rate in table.columns]
    return [*(name for name in others if not name.endswith(_ENDS[1:])), *first]


def _of_few(table: GroupTable, least: int) -> dict[str, Mask]:
    """Return where rates of one of several decisions are suppressed, by name; none of two.

    Where few people of a group have the label, or few get the decision, all rates that depend on
    both are suppressed: each could be had from the others.
    """
    names = [name for name in table.columns if rate_and_decision(name)[0] == _HAVE_LABEL]
    decisions = [rate_and_decision(name)[1] for name in names]
    if not decisions:
        return {}
    of_label, of_decided = (
        small_parts(table, np.array([table[of_decision(part, v)] for v in decisions]).T, least)
        for part in (_HAVE_LABEL, _GET_IT)
    )
    found: dict[str, Mask] = {}
    for at, v in enumerate(decisions):
        found[of_decision(RATES[0], v)] = of_label[:, at]
        either = of_label[:, at] | of_decided[:, at]
        found |= {of_decision(rate, v): either for rate in (*RATES[2:4], *PREDICTIVE_RATES)}
    return found


def group_contents(table: GroupTable, suppress_below: int = SUPPRESS_BELOW) -> list[GroupContents]:
    """Return a table of groups as plain data; small ones without size and rates.

    Of several decisions, rates of few people are not known either, see `_of_few`.
    """
    hidden, few = small_groups(table, suppress_below), _of_few(table, suppress_below)
    unknown = () if table.unknown is None else table.unknown.groups
    # Whoever's group is unknown may have any label, so that few of it in one group count for all.
    hidden_rates = {rate for rate, where in few.items() if where.any()}
    bounds = {(group.feature, group.group): _bounds(group, hidden_rates) for group in unknown}
    return [
        GroupContents(
            feature=feature,
            group=group_name(group),
            count=None if hidden[at] else int(table["count"][at]),
            rates={
                rate: NOT_KNOWN
                if rate in few and few[rate][at]
                else Range.of(*(table[f"{rate}{end}"][at] for end in _ENDS))
                for rate in ([] if hidden[at] else _rates(table))
            },
            **({} if hidden[at] else bounds.get((feature, group), {})),
        )
        for at, (group, feature) in enumerate(zip(table.groups, table.features, strict=True))
    ]


def _bounds(group: UnknownGroup, few: Collection[str]) -> dict[str, Any]:
    """Return limits of the rates of a group; not those of nobody, or of few."""

    def known(bounds: dict[str, Bounds]) -> dict[str, Bounds]:
        finite = {name: ends for name, ends in bounds.items() if math.isfinite(ends.low)}
        return {name: ends for name, ends in finite.items() if name not in few}

    return {"worst": known(group.worst), "within_odds": known(group.within_odds)}


def unknown_remarks(people: UnknownPeople | None, shown: Sequence[GroupContents]) -> list[str]:
    """Return sentences about people whose group is unknown; none of groups that are suppressed."""
    hidden = {(group.feature, group.group) for group in shown if group.count is None}
    remarks = [] if people is None else people.sentences(hidden)
    if len(remarks) > _MOST_SENTENCES:
        remarks[_MOST_SENTENCES:] = [f"so for {len(remarks) - _MOST_SENTENCES} groups more."]
    return remarks


def small_group_remarks(groups: Sequence[GroupContents], suppress_below: int) -> list[str]:
    """Return sentences about groups that are suppressed, or too small to say anything about.

    >>> groups = [GroupContents("sex", "F", 400, {}), GroupContents("sex", "X", 13, {})]
    >>> small_group_remarks([*groups, GroupContents("sex", "Y", None, {})], 10)[1]
    'X (13) has fewer than 30 people: too few to say anything about its rates.'
    """
    shown = [(row.feature, row.group, row.count) for row in groups if row.count is not None]
    features, names, counts = zip(*shown, strict=True) if shown else ((), (), ())
    remarks = few_people(features, names, np.array(counts))
    if any(row.hides_a_label for row in groups):
        remarks.append(
            f"Rates about a label are suppressed where fewer than {suppress_below} people of a "
            "group have the label or get the decision, and where these could be told from the "
            "others."
        )
    if len(shown) == len(groups):
        return remarks
    hidden = (
        f"Groups of fewer than {suppress_below} people are suppressed, and where these could be "
        "told from the others, the next smallest too."
    )
    return [hidden, *remarks]


def moved_contents(switched: Switched, suppress_below: int) -> list[MovedContents]:
    """Return who moves between more than two decisions as plain data, labels together.

    Of a small group there are no numbers.
    """
    found, masks = [], []
    for feature, group, mask in switched.groups():
        found.append((feature, group))
        masks.append(mask)
    features, groups = zip(*found, strict=True)
    count = np.array(masks) @ switched.cells.count
    small = small_groups(GroupTable(groups, features, {"count": count}), suppress_below)
    rows = []
    for (feature, group), mask, people, hide in zip(found, masks, count, small, strict=True):
        names = feature, group_name(group)
        if hide:
            rows.append(MovedContents(*names, None, None, None, None))
            continue
        moves = [
            MovedContents(*names, round(people), str(before), str(after), number)
            for before, after, number in switched.between(mask)
        ]
        rows += moves or [MovedContents(*names, round(people), None, None, 0.0)]
    return rows


def switched_contents(
    switched: Switched, suppress_below: int, *, labelled: bool
) -> Sequence[SwitchedContents | MovedContents]:
    """Return switched decisions as plain data.

    Of a small group there are no numbers; of one with few people of a label, those of both labels
    together.
    """
    if not switched.is_binary:
        return moved_contents(switched, suppress_below)
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
    rates = {
        name: rate if rate_and_decision(name)[0] == SELECTION.column else NOT_KNOWN
        for name, rate in group.rates.items()
    }
    return replace(group, rates=rates)
