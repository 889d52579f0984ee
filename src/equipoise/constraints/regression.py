"""Constraints on a regressor: parity at every threshold, and bounds on the loss of groups.

What a constraint asks of classifiers has a counterpart for predictions that are numbers:
`DemographicParity` compares the share of people at or above each threshold, `BoundedGroupError` and
`MinimaxGroupError` speak of the mean loss in place of the error rate.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.cells.table import CellTable, Mask
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.constraints.base import Constraint
from equipoise.constraints.comparison import Compared
from equipoise.constraints.group_bounds import BoundedGroupError, MinimaxGroupError
from equipoise.constraints.groups import GroupConstraint, group_name
from equipoise.constraints.moments import Event, MomentsBuilder, Row, Threshold
from equipoise.constraints.parity import DemographicParity


@dataclass(repr=False)
class ThresholdParity(DemographicParity):
    """Demographic parity of numbers: groups are alike in the share at or above each threshold."""

    _members: dict[bytes, dict[Hashable, Mask]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def compared(self, cells: CellTable) -> Compared:
        """Return what is averaged, by threshold."""
        assert isinstance(cells, ThresholdCells)
        everybody = np.ones(cells.n_cells, dtype=bool)
        return {
            (None, Threshold(z)): (everybody, cells.column(k))
            for k, z in enumerate(cells.thresholds.tolist(), 1)
        }

    def members(self, builder: MomentsBuilder, event: Event, mask: Mask) -> dict[Hashable, Mask]:
        """Return the groups, which are the same at every threshold: warnings come once."""
        if (key := mask.tobytes()) not in self._members:
            self._members[key] = super().members(builder, Event(event.stratum), mask)
        return self._members[key]


class _GroupLosses(GroupConstraint):
    """The mean loss of every group, stratum by stratum."""

    def losses(self, builder: MomentsBuilder, limit: str) -> list[tuple[Row, dict[int, float]]]:
        """Return a row for each group."""
        assert isinstance(builder.cells, ThresholdCells)
        rows, g = [], builder.cells.column(0)
        for event, mask in self.events(builder):
            for group, members in self.members(builder, event, mask).items():
                text = f"loss of {group_name(group)}"
                row = Row(self.name, text, group, event=event, limit=limit)
                rows.append((row, {builder.moment(members, g): 1.0}))
        return rows


@dataclass(repr=False)
class GroupLossBound(BoundedGroupError, _GroupLosses):
    """No group's mean loss exceeds a bound."""

    name = "bounded group loss"

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Bound the mean loss of every group."""
        rows = self.losses(builder, " at most")
        self.add_bounded(builder, rows, self.bound, parameter="bound")


@dataclass(repr=False)
class WorstGroupLoss(MinimaxGroupError, _GroupLosses):
    """The largest mean loss of a group is made least."""

    name = "worst group loss"

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Add the mean loss of every group, to be made small together."""
        builder.add(self.losses(builder, ""))


_KINDS: dict[type[Constraint], type[Constraint]] = {
    DemographicParity: ThresholdParity,
    BoundedGroupError: GroupLossBound,
    MinimaxGroupError: WorstGroupLoss,
}


def for_numbers(constraint: Any) -> Constraint:
    """Return the counterpart of a constraint for predictions that are numbers.

    >>> type(for_numbers(DemographicParity(0.05))).__name__
    'ThresholdParity'
    """
    if not isinstance(constraint, Constraint):
        raise TypeError(
            f"constraint is {constraint!r}; expected DemographicParity(eps=0.05), "
            "BoundedGroupLoss(bound=...) or MinimaxGroupLoss()."
        )
    if type(constraint) not in _KINDS:
        raise TypeError(
            f"{type(constraint).__name__} is about labels or single decisions, and a regressor has "
            "none: it predicts numbers. Use DemographicParity, which then bounds the difference "
            "between groups at every threshold, BoundedGroupLoss or MinimaxGroupLoss, one at a "
            "time; or FairClassifier where there are labels."
        )
    bounds = getattr(constraint, "eps", getattr(constraint, "bound", 0.0))
    if isinstance(bounds, (list, tuple, np.ndarray)):
        raise ValueError(
            f"{constraint!r} has a bound, one for each row; of a regressor expected a number, or a "
            "mapping from groups to numbers."
        )
    if isinstance(constraint, DemographicParity):
        for name in ("decisions", "positive"):
            if (value := getattr(constraint, name)) is not None:
                raise ValueError(
                    f"DemographicParity has {name}={value!r}, which names labels; a regressor "
                    "predicts numbers. Leave it out."
                )
    return _KINDS[type(constraint)](**constraint.get_params())
