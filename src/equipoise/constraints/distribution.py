"""Distribution parity: those selected are distributed as everybody is, over numbers in order."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

import numpy as np

from equipoise.cells.table import CellTable, Mask
from equipoise.cells.values import Level, is_number
from equipoise.constraints.base import All, Constraint
from equipoise.constraints.groups import all_events
from equipoise.constraints.moments import MomentsBuilder
from equipoise.constraints.rates import SELECTION, shown
from equipoise.constraints.rows import Row

#: More values than these make tables of cells and inequalities too large.
MOST_VALUES = 500


@dataclass(repr=False)
class DistributionParity(Constraint):
    """Other names: a bound on the Kolmogorov distance; independence of a number.

    Use it for age, income and other numbers, which then need no bins: every threshold between two
    values is compared, so that nobody chooses where a group begins. A bound of 0.05 says that of
    those selected the share above any age differs by at most 0.05 from that of all.

    Multiplied by the share selected it is linear, ``P[h(X)=1, A>=t] - P[A>=t] P[h(X)=1] <= eps
    P[h(X)=1]``, and an excess over the bound is in these units: a share of everybody. The bound is
    part of the matrix M, so that `Frontier` does not trace it.

    Parameters
    ----------
    feature : str, optional
        The sensitive feature: numbers, dates or an ordered category. By default the only one.
        People whose value is unknown are left out on both sides.
    eps : float, default=0.05
        Bound on the distance, below 1.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"age": [20, 20, 30, 40]})
    >>> moments = DistributionParity("age", 0.1).moments(cells)
    >>> print(moments.rows[0])
    distribution parity: age from 30 on, of those selected more than of all by at most 0.1
    >>> s = np.array([0.0, 0.25, 0.0, 0.25])  # those of 20 and of 40 with label 1 are selected
    >>> (moments.M @ moments.mu(s)).round(3).tolist()  # 1/2 of them from 30 on, as of all
    [-0.05, -0.05, 0.075, -0.175]
    """

    feature: str | None = None
    eps: float = 0.05

    name = "distribution parity"
    asks = "Those selected are distributed over a number, such as age, as everybody is."
    formula = "| P[A>=t | h(X)=1] - P[A>=t] | <= eps for every threshold t."
    misleads = (
        "It looks at decisions only, never at the true label. Where hardly anybody is selected it "
        "asks next to nothing: add a floor, such as SelectionRate(at_least=0.1)."
    )
    traceable: ClassVar[bool] = False

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Compare the shares above every threshold, stratum by stratum."""
        if not is_number(self.eps) or not 0 <= self.eps < 1:
            raise ValueError(
                f"eps of DistributionParity is {self.eps!r}; expected a number from 0 to below 1."
            )
        cells, feature = builder.cells, self._feature(builder.cells)
        if cells.n_decisions > 2:
            raise ValueError(
                "DistributionParity is about those selected, and so about two labels, but there "
                f"are {cells.n_decisions}: {shown(cells.decisions)}. Make the decision binary, for "
                "example y == value."
            )
        values = _ordered(cells, feature)
        known = np.logical_or.reduce(list(values.values()))
        for event, mask in all_events(builder, None):
            inside = mask & known
            if not cells.population[inside].sum() > 0:
                continue
            selected = builder.moment(inside, SELECTION.table(cells))
            above = inside.copy()
            for (_, below), threshold in zip(values.items(), list(values)[1:], strict=False):
                above = above & ~below
                share = float(cells.population[above].sum() / cells.population[inside].sum())
                both = np.column_stack([np.zeros(cells.n_cells), above]).astype(float)
                self._add_threshold(
                    builder, builder.moment(inside, both), selected, share, threshold, event
                )

    def _add_threshold(
        self,
        builder: MomentsBuilder,
        above: int,
        selected: int,
        share: float,
        threshold: Hashable,
        event: Any,
    ) -> None:
        """Add the inequalities of one threshold that some decisions could exceed."""
        for side, word in ((1, "more"), (-1, "less")):
            if not 0 < share + side * self.eps < 1:
                continue
            text = (
                f"{self._feature(builder.cells)} from {threshold} on, of those selected {word} "
                f"than of all by at most {self.eps:g}"
            )
            row = Row(self.name, text, event=event, side=side, bound=0.0)
            builder.row(row, {above: float(side), selected: -side * (share + side * self.eps)})

    def _feature(self, cells: CellTable) -> str:
        if self.feature is None and len(cells.sensitive) == 1:
            return next(iter(cells.sensitive))
        if self.feature not in cells.sensitive:
            raise ValueError(
                f"feature of DistributionParity is {self.feature!r}; expected one of the sensitive "
                f"features {', '.join(map(repr, cells.sensitive))}."
            )
        return str(self.feature)


def takes_numbers(constraint: Constraint) -> bool:
    """Whether a constraint, or a part of it, compares the values of a number as they are."""
    parts = constraint.parts if isinstance(constraint, All) else (constraint,)
    return any(isinstance(part, DistributionParity) for part in parts)


def _ordered(cells: CellTable, feature: str) -> dict[Hashable, Mask]:
    """Return the cells of each value of a feature, the least first; raise if it has no order."""
    values = cells.groups(feature)
    kinds = (int, float, np.number, date, np.datetime64, Level)
    if strange := [value for value in values if not isinstance(value, kinds)]:
        raise ValueError(
            f"DistributionParity: {feature!r} has the value {strange[0]!r}; expected numbers, "
            "dates or an ordered category, such as pandas.Categorical(..., ordered=True)."
        )
    if len(values) > MOST_VALUES:
        raise ValueError(
            f"DistributionParity: {feature!r} has {len(values):,} different values; expected no "
            f"more than {MOST_VALUES}. Round it, or put it into bins: fit(..., "
            f"bins={{{feature!r}: 100}})."
        )
    return values
