"""Suppression: small groups are not shown, nor what they could be told from.

The rule of statistics offices, in two steps. Primary: a group of fewer people than asked for is
suppressed. Secondary: groups that add up to a group or total that is shown give a single missing
one away by subtraction, so the next smallest is suppressed too, until those missing are two at
least and together no fewer than asked for. Every sum of groups on the page is looked at, one at a
time; sums of sums are not.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.metrics import GroupTable
from equipoise.metrics.audit import Audit


def small_groups(table: GroupTable, least: int) -> Mask:
    """Return which rows of a group table are suppressed.

    >>> columns = {"count": np.array([112, 100, 9, 3])}
    >>> table = GroupTable(("overall", "F", "M", "X"), ("", "sex", "sex", "sex"), columns)
    >>> small_groups(table, 10).tolist(), small_groups(table, 5).tolist()
    ([False, False, True, True], [False, False, True, True])
    """
    count = table["count"]
    hidden: Mask = count < least
    sums, changed = _sums(table), True
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


def _sums(table: GroupTable) -> list[tuple[int, list[int]]]:
    """Return rows of the table with the rows that add up to each."""
    values = [_values(table, at) for at in range(len(table))]
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


def _names(table: GroupTable, hidden: Mask) -> set[Hashable]:
    """Return the groups suppressed, as inequalities call them: by value, or as "sex=F"."""
    found: set[Hashable] = set()
    for at in np.flatnonzero(hidden):
        found |= {table.groups[at], f"{table.features[at]}={table.groups[at]}"}
    return found


class RowFacts(NamedTuple):
    """What is known of each inequality over some cells, whatever is decided."""

    people: Array  #: How many people its rarest rate was measured on.
    hidden: Mask  #: Whether it is suppressed: about a suppressed group, or about too few people.

    @classmethod
    def of(cls, constraint: Constraint, cells: CellTable, known: CellTable, least: int) -> RowFacts:
        """Return the facts of a constraint's inequalities; ``known`` is the table of the fit."""
        names: set[Hashable] = set()
        if cells.is_plain:
            squares = (cells.square, cells.square, cells.square)
            audit = Audit.of_sums(cells.table(), cells.mass, squares)
            table = GroupTable.from_audit(audit, interval=None, stratified=False)
            names = _names(table, small_groups(table, least))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has warned of what is left out
            moments = constraint.moments(cells, None if known is cells else known)
        people = np.where(moments.M != 0, moments.event_count, np.inf).min(axis=1, initial=np.inf)
        named = [row.group in names or row.against in names for row in moments.rows]
        return cls(people, np.array(named, dtype=bool) | (people < least))
