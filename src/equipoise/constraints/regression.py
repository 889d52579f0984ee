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
from equipoise.cells.threshold_table import ThresholdTable
from equipoise.constraints.base import All, Constraint
from equipoise.constraints.comparison import Compared
from equipoise.constraints.group_bounds import BoundedGroupError, MinimaxGroupError
from equipoise.constraints.moments import MomentsBuilder
from equipoise.constraints.parity import DemographicParity
from equipoise.constraints.rows import Event, Threshold


@dataclass(repr=False)
class ThresholdParity(DemographicParity):
    """Demographic parity of numbers: groups are alike in the share at or above each threshold."""

    asks = "Groups are alike in the share of predictions at or above every threshold."
    formula = "| P[f(X)>=z | A=a] - P[f(X)>=z] | <= eps for every group a and threshold z."

    _members: dict[bytes, dict[Hashable, Mask]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __repr__(self) -> str:
        return f"DemographicParity{super().__repr__().removeprefix(type(self).__name__)}"

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Compare groups at every threshold."""
        self._members.clear()  # those of other people
        super().add_rows(builder)
        self._members.clear()

    def compared(self, cells: CellTable) -> Compared:
        """Return the utilities averaged, by threshold."""
        assert isinstance(cells, ThresholdTable)
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


@dataclass(repr=False)
class BoundedGroupLoss(BoundedGroupError):
    """`BoundedGroupError` under fairlearn's name; of a regressor it bounds the mean loss.

    Parameters
    ----------
    bound : float or mapping, default=0.2
        The largest mean loss, in units of the loss; for each group its own if it is a mapping.
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> BoundedGroupLoss(0.02)
    BoundedGroupLoss(bound=0.02)
    """

    asks = "No group's error rate, or of a regressor its mean loss, exceeds a bound."
    formula = "E[loss | A=a] <= bound for every group a."


@dataclass(repr=False)
class MinimaxGroupLoss(MinimaxGroupError):
    """`MinimaxGroupError` of a regressor: the largest mean loss of a group is made least.

    Examples
    --------
    >>> MinimaxGroupLoss(on="race")
    MinimaxGroupLoss(on='race')
    """

    asks = "The worst-off group's error rate, or mean loss, is as small as it can be."
    formula = "min over f of max over a of E[loss | A=a]."


_KINDS: dict[type[Constraint], type[Constraint]] = {
    DemographicParity: ThresholdParity,
    ThresholdParity: ThresholdParity,
    BoundedGroupError: BoundedGroupLoss,
    BoundedGroupLoss: BoundedGroupLoss,
    MinimaxGroupError: MinimaxGroupLoss,
    MinimaxGroupLoss: MinimaxGroupLoss,
}


def for_numbers(constraint: Any) -> Constraint:
    """Return the counterpart of a constraint for predictions that are numbers.

    >>> type(for_numbers(DemographicParity(0.05))).__name__
    'ThresholdParity'
    >>> for_numbers(DemographicParity(0.05))
    DemographicParity(eps=0.05)
    """
    if not isinstance(constraint, Constraint):
        raise TypeError(
            f"constraint is {constraint!r}; expected DemographicParity(eps=0.05), "
            "BoundedGroupLoss(bound=...) or MinimaxGroupLoss()."
        )
    if isinstance(constraint, All):
        raise TypeError(
            f"{constraint!r} joins several constraints with &; a regressor takes one at a time. "
            "Use DemographicParity, BoundedGroupLoss or MinimaxGroupLoss alone."
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
    kind = _KINDS[type(constraint)]
    return constraint if type(constraint) is kind else kind(**constraint.get_params())
