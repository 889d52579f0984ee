"""Suppression: small groups are not shown, nor what they could be told from.

The rule of statistics offices, in two steps. Primary: a group of fewer people than asked for is
suppressed. Secondary: groups that add up to a group or total that is shown give a single missing
one away by subtraction, so the next smallest is suppressed too, until those missing are two at
least and together no fewer than asked for. Every sum of groups is looked at, one at a time; sums
of sums are not. Parts of groups, such as the people of a label, are treated alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.metrics.audit import Audit, group_rows
from equipoise.metrics.table import GroupTable

#: Groups of fewer people are suppressed, by default.
SUPPRESS_BELOW = 10


def small_groups(table: GroupTable, least: int) -> Mask:
    """Return which rows of a group table are suppressed.

    >>> columns = {"count": np.array([112, 100, 9, 3])}
    >>> table = GroupTable(("overall", "F", "M", "X"), ("", "sex", "sex", "sex"), columns)
    >>> small_groups(table, 10).tolist(), small_groups(table, 5).tolist()
    ([False, False, True, True], [False, False, True, True])
    """
    values = [_values(table, at) for at in range(len(table))]
    return _hidden(table["count"], values, least)


def small_parts(table: GroupTable, people: Array, least: int) -> Mask:
    """Return which parts of groups are suppressed, given how many ``people`` each has, (G, V).

    Each column is a part of everybody, such as those of a label; together they are everybody. So a
    part is told by the other parts of its group, and by the same part of other groups. NaN is a
    part that is not looked at.

    >>> columns = {"count": np.array([90, 40, 50])}
    >>> table = GroupTable(("overall", "F", "M"), ("", "sex", "sex"), columns)
    >>> small_parts(table, np.array([[33, 35, 22.0], [3, 20, 17], [30, 15, 5]]), 10).tolist()
    [[False, False, False], [True, False, True], [True, False, True]]
    """
    groups = [_values(table, at) for at in range(len(table))]
    used = ~np.isnan(people)
    parts = [{**groups[at], "": int(part)} for at, part in np.argwhere(used)]
    hidden = _hidden(np.append(table["count"], people[used]), groups + parts, least)
    found: Mask = np.zeros(people.shape, dtype=bool)
    found[used] = hidden[len(groups) :]
    return found


def _hidden(count: Array, values: Sequence[Mapping[str, Hashable]], least: int) -> Mask:
    """Return what is suppressed of rows, whose counts add up where their values say so."""
    hidden: Mask = count < least
    sums, changed = _sums(values), True
    while changed:
        changed = False
        for whole, parts in sums:
            more = _also_hidden(count, hidden, whole, parts, least)
            if more is not None:
                hidden[more] = changed = True
    return hidden


def _also_hidden(
    count: Array, hidden: Mask, whole: int, parts: list[int], least: int
) -> int | None:
    """Return a row to suppress as well, None if those of this sum give nothing away."""
    missing = [at for at in parts if hidden[at]]
    if not missing or hidden[whole]:
        return None
    if len(missing) > 1 and count[missing].sum() >= least:
        return None
    shown = [at for at in parts if not hidden[at]]
    if shown:
        return min(shown, key=lambda at: count[at])
    return whole if whole and count[missing].sum() < least else None


def _sums(values: Sequence[Mapping[str, Hashable]]) -> list[tuple[int, list[int]]]:
    """Return rows with the rows that add up to each, given the values that they are of."""
    at_of = {frozenset(known.items()): at for at, known in enumerate(values)}
    parts: dict[tuple[int, frozenset[str]], list[int]] = {}
    for at, known in enumerate(values):
        for left_out in known:
            rest = frozenset((name, v) for name, v in known.items() if name != left_out)
            if rest in at_of:
                parts.setdefault((at_of[rest], frozenset(known)), []).append(at)
        if len(known) > 1:  # all combinations together are everybody
            parts.setdefault((0, frozenset(known)), []).append(at)
    return [(whole, some) for (whole, _), some in parts.items()]


def _values(table: GroupTable, at: int) -> dict[str, Hashable]:
    """Return the value of each feature in a row of the table; none for everybody."""
    feature, group = table.features[at], table.groups[at]
    if not feature:
        return {}
    single = [name for name in dict.fromkeys(table.features) if name and name != feature]
    if isinstance(group, tuple):
        for names in combinations(single, len(group)):
            if " x ".join(names) == feature:
                return dict(zip(names, group, strict=True))
    return {feature: group}


def small_cells(cells: CellTable, least: int) -> Mask:
    """Return the cells of small groups, and of those that would give them away.

    A group is here what cells tell apart: a combination of all sensitive and control features.
    Those suppressed are two at least, and no fewer people than asked for, if there are as many.

    >>> cells, _ = CellTable.from_sums(
    ...     [0, 1, 1, 0], {"sex": list("FFXM")}, {}, count=np.array([50.0, 40.0, 3.0, 60.0]))
    >>> [str(sex) for sex in cells.sensitive["sex"][small_cells(cells, 10)]]
    ['M', 'X']
    """
    named = [*cells.sensitive.items(), *cells.control.items()]
    columns = {f"{at} {name}": values for at, (name, values) in enumerate(named)}
    alike = replace(cells.as_kind(CellTable), sensitive=columns, control={})
    rows = group_rows(Audit(alike, np.empty(0)), "both")
    features, groups, masks = zip(*rows, strict=True)
    count = np.array(masks) @ cells.count
    hidden = small_groups(GroupTable(groups, features, {"count": count}), least)
    found: Mask = np.logical_or.reduce(np.array(masks)[1:][hidden[1:]], axis=0)
    if not found.any():
        return found
    finest = [mask for name, mask in zip(features, masks, strict=True) if name == features[-1]]
    for mask in sorted(finest, key=lambda mask: cells.count[mask].sum()):
        n_groups = sum(found[part].any() for part in finest)
        if n_groups > 1 and cells.count[found].sum() >= least:
            break
        found = found | mask
    return found
