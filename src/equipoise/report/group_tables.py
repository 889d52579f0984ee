"""Tables of groups: every rate with its interval, the unconstrained beside the fair classifier."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.report.contents import GroupContents
from equipoise.report.markup import Html, element, join, named
from equipoise.report.numbers import (
    DECISION_RATES,
    RATE_MEANINGS,
    RATE_NAMES,
    group_name,
)
from equipoise.report.tables import cell, range_cell, table, whole_table


def shown_groups(groups: Sequence[GroupContents], most: int) -> list[GroupContents]:
    """Return the groups to show, in their order: all, or the largest; everybody always.

    Size decides, and not a rate, so that every classifier shows the same groups.

    >>> groups = [GroupContents("", "all", 9, {}), *(GroupContents("a", str(n), n, {})
    ...           for n in (2, 3, 4))]
    >>> [group.group for group in shown_groups(groups, 2)]
    ['all', '3', '4']
    """
    named_groups = [group for group in groups if group.feature]
    if len(named_groups) <= most:
        return list(groups)
    order = sorted(range(len(named_groups)), key=lambda at: -named_groups[at].count)
    kept = {id(named_groups[at]) for at in order[:most]}
    return [group for group in groups if not group.feature or id(group) in kept]


def side_by_side(
    groups: Sequence[GroupContents],
    without: Sequence[GroupContents] | None,
    title: str,
    data: str,
    level: float,
    most: int,
) -> Html:
    """Return the table of a classifier beside that of the unconstrained one, if it is given."""
    beside = without is not None and len(without) == len(groups)
    shown = shown_groups(groups, most)
    others = shown_groups(without, most) if without is not None and beside else shown
    caption = f"{title}, {data} data [{level:.0%} intervals, one by one]{_left_out(groups, shown)}"
    if not beside:
        return plain(shown, list(RATE_NAMES), caption)
    first = [
        element("th", "Group", scope="col", rowspan=2),
        element("th", "People", scope="col", rowspan=2),
        element("th", RATE_NAMES["base_rate"], scope="col", rowspan=2),
    ]
    for rate in DECISION_RATES:
        meaning = RATE_MEANINGS[rate]
        first.append(element("th", RATE_NAMES[rate], scope="colgroup", colspan=2, title=meaning))
    second = [
        element("th", name, scope="col", class_=kind)
        for _ in DECISION_RATES
        for name, kind in (("without", "free"), ("within", "fair"))
    ]
    body = [_both(group, free) for group, free in zip(shown, others, strict=True)]
    head = [element("tr", first), element("tr", second)]
    return join(whole_table(caption, head, body), meanings(DECISION_RATES))


def plain(groups: Sequence[GroupContents], rates: Sequence[str], caption: str) -> Html:
    """Return the rates of groups under one classifier, or of their labels."""
    header = ["Group", "People", *(RATE_NAMES[rate] for rate in rates)]
    rows = [
        [*_about(group), *(range_cell(group.rates.get(rate), share=True) for rate in rates)]
        for group in groups
    ]
    return join(table(caption, header, rows), meanings(rates))


def meanings(rates: Sequence[str]) -> Html:
    """Return what the rates are, in words."""
    text = "; ".join(f"{RATE_NAMES[rate].lower()}: {RATE_MEANINGS[rate]}" for rate in rates)
    return element("p", f"{text[0].upper()}{text[1:]}.", class_="small")


def _both(group: GroupContents, free: GroupContents) -> Html:
    cells = [*_about(group), range_cell(group.rates.get("base_rate"), share=True)]
    for rate in DECISION_RATES:
        cells.append(range_cell(free.rates.get(rate), share=True, kind="free"))
        cells.append(range_cell(group.rates.get(rate), share=True, kind="fair"))
    return element("tr", cells)


def _about(group: GroupContents) -> list[Html]:
    name = named(group_name(group.feature, group.group))
    return [element("th", name, scope="row"), cell(f"{group.count:,}")]


def _left_out(groups: Sequence[GroupContents], shown: Sequence[GroupContents]) -> str:
    if len(shown) == len(groups):
        return ""
    return f"; the largest groups only, {len(groups) - len(shown)} smaller ones are left out"
