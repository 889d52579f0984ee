"""Inequalities about small groups, which are not shown on a page."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.metrics import GroupTable
from equipoise.metrics.audit import Audit, group_rows
from equipoise.metrics.small_groups import small_groups, small_parts


def _names(table: GroupTable, hidden: Mask) -> set[Hashable]:
    """Return the groups suppressed, as inequalities call them: by value, or as "sex=F"."""
    found: set[Hashable] = set()
    for at in np.flatnonzero(hidden):
        found |= {table.groups[at], f"{table.features[at]}={table.groups[at]}"}
    return found


def _names_of_labels(
    audit: Audit, table: GroupTable, cells: CellTable, least: int
) -> dict[Hashable, set[Hashable]]:
    """Return for each of several labels the groups of which few have it, or which tell of these."""
    masks = np.array([mask for _, _, mask in group_rows(audit, "both")])
    own = cells.label[:, None] == np.arange(cells.n_decisions)
    people = masks @ (own * cells.count[:, None])
    few = small_parts(table, np.where(people.any(axis=0), people, np.nan), least)
    return {label: _names(table, few[:, at]) for at, label in enumerate(cells.decisions)}


class RowFacts(NamedTuple):
    """What is known of each inequality over some cells, whatever is decided."""

    people: Array  #: How many people its rarest rate was measured on.
    hidden: Mask  #: Whether it is suppressed: about a suppressed group, or about too few people.
    names: Collection[str]  #: Of those suppressed, without their bounds.

    @classmethod
    def of(cls, constraint: Constraint, cells: CellTable, known: CellTable, least: int) -> RowFacts:
        """Return the facts of a constraint's inequalities; ``known`` is the table of the fit."""
        names: set[Hashable] = set()
        of_label: dict[Hashable, set[Hashable]] = {}
        if cells.is_plain:
            squares = (cells.square, cells.square, cells.square)
            # The groups count here, whatever is decided about them.
            alike = replace(cells.table(), label=np.zeros_like(cells.label), decisions=(0, 1))
            audit = Audit.of_sums(alike, cells.mass, squares)
            table = GroupTable.from_audit(audit, rates={}, interval=None, stratified=False)
            names = _names(table, small_groups(table, least))
            if cells.n_decisions > 2:
                of_label = _names_of_labels(audit, table, cells, least)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has warned of what is left out
            moments = constraint.moments(cells, None if known is cells else known)
        people = moments.people
        named = [
            bool({row.group, row.against} & (names | of_label.get(row.event.label, set())))
            for row in moments.rows
        ]
        hidden = np.array(named, dtype=bool) | (people < least)
        hidden_names = {str(row) for row, hide in zip(moments.rows, hidden, strict=True) if hide}
        return cls(people, hidden, hidden_names)
