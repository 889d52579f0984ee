"""Comparison: the parent of the parities, which compares a rate between groups, within events."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.groups import Bounds, GroupConstraint, RateOf, group_name
from equipoise.constraints.moments import MomentsBuilder
from equipoise.constraints.rates import SELECTION, Rate, number_of, shown
from equipoise.constraints.rows import DIFFERENCE, Row
from equipoise.memory import check_room

#: Memory for each inequality, in words and in numbers, as measured with 500,000 and 1,000,000.
_BYTES_A_ROW = 1_100
#: Cells of those who count, and what is averaged over them.
Compared = Mapping[RateOf, tuple[Mask, Array | str]]


@dataclass(repr=False)
class Parity(GroupConstraint):
    """A rate must be (nearly) the same for every group; the parent of the named parities.

    For every event (a label condition within a stratum of the control features) and every group
    ``a`` compared with its reference ``r``::

        ratio * mu_a - mu_r <= eps     and     ratio * mu_r - mu_a <= eps

    Parameters
    ----------
    eps : float, mapping or sequence, default=0.01
        Bound on the difference. A mapping gives each group (``{"F": 0.01, "M": 0.02}``) or each
        event (``{"label=1": 0.01, "label=0": 0.05}``) its own, a sequence each row.
    reference : "overall", "pairwise" or a group, default="overall"
        What a group's rate is compared with: the rate of everybody whose group is known (the
        paper), that of every other group (the gap that people report), or that of one named group.
    ratio : float in (0, 1], default=1
        Below one the comparison is a ratio: with ``eps=0`` every rate is at least ``ratio`` times
        its reference and at most ``1 / ratio`` times.
    decisions : sequence of decisions, optional
        Of more than two decisions, those whose rates are compared; all of them by default.
    positive : decision, optional
        The favourable decision, to which all others together are the other one: the constraint is
        then that of two labels. Of two decisions it is the second.
    on, groups, min_size, small
        Which groups, see `GroupConstraint`.
    """

    eps: Bounds = 0.01
    reference: Hashable = field(default="overall", kw_only=True)
    ratio: float = field(default=1.0, kw_only=True)
    decisions: Sequence[Hashable] | None = field(default=None, kw_only=True)
    positive: Hashable = field(default=None, kw_only=True)

    #: What is compared of two decisions, each given its own label.
    rates: ClassVar[tuple[Rate, ...]] = (SELECTION,)
    #: Whether of more than two decisions each is compared, as the favourable one in its turn.
    takes_turns: ClassVar[bool] = False

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Compare every group with its reference, event by event."""
        if not isinstance(self.ratio, (int, float, np.number)) or not 0 < self.ratio <= 1:
            raise ValueError(
                f"ratio of {type(self).__name__} is {self.ratio!r}; expected a number in (0, 1]."
            )
        compared = self.compared(builder.cells)
        among = {key: mask for key, (mask, _) in compared.items()}
        rows = []
        for event, mask in self.events(builder, among):
            members = self.members(builder, event, mask)
            everybody = self.overall(builder, mask, members)
            g = compared[event.label, event.decision][1]
            numbers = {group: builder.moment(inside, g) for group, inside in members.items()}
            overall = {group: builder.moment(known, g) for group, known in everybody.items()}
            compares_all = self.reference == "overall"
            pairs: list[tuple[Hashable, Hashable]] = [(group, "overall") for group in members]
            called = {group: group_name(group) for group in (*members, "overall")}
            for a, b in pairs if compares_all else self._pairs(list(members), builder):
                j, r = numbers[a], overall[a] if compares_all else numbers[b]
                first, second = called[a], called[b]
                for low, high, side, word in ((r, j, 1, "above"), (j, r, -1, "below")):
                    limit = DIFFERENCE
                    if self.ratio != 1:
                        names = (first, second) if side > 0 else (second, first)
                        limit = f", {self.ratio:g} x {names[0]} - {names[1]} at most"
                    text = f"{first} {word} {second}"
                    row = Row(self.name, text, a, b, event, side, limit=limit)
                    coefficients = {high: self.ratio}
                    coefficients[low] = coefficients.get(low, 0.0) - 1.0
                    rows.append((row, coefficients))
        self.add_bounded(builder, rows, self.eps, among)

    def compared(self, cells: CellTable) -> Compared:
        """Return who counts and what is averaged, by the label given and the decision meant."""
        if self.positive is not None and self.decisions is not None:
            raise ValueError(
                f"{type(self).__name__} got positive={self.positive!r} and decisions="
                f"{self.decisions!r}; expected one of the two."
            )
        if self.positive is not None:
            return self._against_rest(number_of(self.positive, cells, "positive"), cells)
        if self.decisions is None and len(cells.decisions) == 2:
            return {(r.given, None): (r.event(cells), r.table(cells)) for r in self.rates}
        return self._of_many(self._numbers(cells), cells)

    def _against_rest(self, positive: int, cells: CellTable) -> Compared:
        """Return the rates of one decision against all others together."""
        name = cells.decisions[positive]
        others = [other for other in cells.decisions if other != name]
        rest = others[0] if len(others) == 1 else f"other than {name}"
        given = {None: None, 1: name, 0: rest}
        return {
            (given[r.given], name): (r.event(cells, positive), r.table(cells, positive))
            for r in self.rates
        }

    def _of_many(self, numbers: list[int], cells: CellTable) -> Compared:
        """Return the rates of these decisions, out of two or more."""
        if not self.takes_turns:
            raise ValueError(
                f"{type(self).__name__} is about two labels, the favourable one and the other, but "
                f"there are {len(cells.decisions)}: {shown(cells.decisions)}. Name the favourable "
                f"one, {type(self).__name__}(positive={cells.decisions[-1]!r}), or use "
                "DemographicParity, EqualOpportunity, EqualizedOdds or AccuracyEquality, which "
                "compare every decision."
            )
        return {
            key: compared
            for number in numbers
            for key, compared in self._against_rest(number, cells).items()
        }

    def _numbers(self, cells: CellTable) -> list[int]:
        """Return the numbers of the decisions to be compared."""
        if self.decisions is None:
            return list(range(len(cells.decisions)))
        if isinstance(self.decisions, str) or not len(self.decisions):
            raise ValueError(
                f"decisions of {type(self).__name__} is {self.decisions!r}; expected a list of one "
                f"or more of {shown(cells.decisions)}."
            )
        return [number_of(decision, cells, "decisions") for decision in self.decisions]

    def _pairs(
        self, groups: list[Hashable], builder: MomentsBuilder
    ) -> list[tuple[Hashable, Hashable]]:
        """Return which groups are compared with which."""
        if self.reference == "pairwise":
            n_rows = len(groups) * (len(groups) - 1)
            check_room(
                float(_BYTES_A_ROW) * n_rows,
                f"{n_rows:,} inequalities between pairs of {len(groups):,} groups",
                "Compare each group with everybody (reference='overall'), or merge small groups "
                "(min_size=..., small='merge').",
            )
            return list(combinations(groups, 2))
        if self.reference in groups:
            return [(group, self.reference) for group in groups if group != self.reference]
        if builder.known is None or self.reference not in self.all_groups(builder):
            raise ValueError(
                f"reference={self.reference!r} is neither 'overall' nor 'pairwise' nor a group "
                f"with people; the groups are {', '.join(map(repr, groups))}."
            )
        return []
