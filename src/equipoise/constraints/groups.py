"""Groups: which people a constraint compares, and what they are called."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.cells.table import CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.constraints.bounds import BoundTable
from equipoise.constraints.conditions import Event
from equipoise.constraints.moments import MomentsBuilder
from equipoise.exceptions import EmptyCellWarning, EquipoiseWarning, SmallGroupWarning

#: What small groups are called once they are merged.
MERGED = "small groups together"


def group_name(group: Hashable) -> str:
    """Return the name of a group, or of a stratum, as it is printed everywhere.

    >>> group_name(("F", "Black")), group_name("F"), group_name(1)
    ('F & Black', 'F', '1')
    """
    return " & ".join(map(str, group)) if isinstance(group, tuple) else str(group)


@dataclass(repr=False)
class GroupConstraint(Constraint):
    """A constraint on groups of people: who they are, and in which events they are looked at.

    Parameters
    ----------
    on : str or sequence of str, optional
        The sensitive features that make the groups; all of them by default.
    groups : {"intersections", "margins", "both", "slices"}, default="intersections"
        How several features make groups: by every combination of values, by each feature for
        itself, by both (a person then is in several groups), or each feature being a yes or no
        that marks one group.
    min_size : int, default=1
        A rate measured on fewer examples is not constrained as it is. What happens to the group
        instead is up to ``small``, and a warning names it.
    small : {"drop", "merge"}, default="drop"
        Leave small groups out, or take all of them together as one group.
    """

    on: str | Sequence[str] | None = field(default=None, kw_only=True)
    groups: str = field(default="intersections", kw_only=True)
    min_size: int = field(default=1, kw_only=True)
    small: str = field(default="drop", kw_only=True)

    def events(
        self, builder: MomentsBuilder, labels: Sequence[int | None] = (None,)
    ) -> Iterator[tuple[Event, Mask]]:
        """Yield each condition on the label within each stratum of the control features.

        ``labels`` has the labels to condition on, one event each; None is no condition.
        """
        for event, mask in _all_events(builder, labels):
            if builder.cells.population[mask].sum() > 0:
                yield event, mask
            else:
                self._warn_empty("everybody", event, builder)

    def members(self, builder: MomentsBuilder, event: Event, mask: Mask) -> dict[Hashable, Mask]:
        """Return the groups within an event that are large enough to be constrained."""
        self._check_groups()
        cells = builder.cells
        kept: dict[Hashable, Mask] = {}
        small: dict[Hashable, Mask] = {}
        for group, members in builder.groups(self.on, self.groups).items():
            inside = members & mask
            if not cells.population[inside].sum() > 0:
                # That a whole group of the fit is absent is said once, by whoever measures.
                if members.any() or builder.known is None:
                    self._warn_empty(group, event, builder)
            elif self.min_size > 1 and cells.count[inside].sum() < self.min_size:
                small[group] = inside
            else:
                kept[group] = inside
        if small:
            together = np.logical_or.reduce(list(small.values()))
            merged = self.small == "merge" and cells.count[together].sum() >= self.min_size
            if merged:
                kept[MERGED] = together
            self._warn_small(cells, small, event, merged)
        return kept

    def bound_table(
        self,
        builder: MomentsBuilder,
        bounds: Any,
        labels: Sequence[int | None] = (None,),
        parameter: str = "eps",
    ) -> BoundTable:
        """Return the bounds of the rows to come, which are given by group, event or row.

        Names are judged by the groups and events that there are, not by the rows that the data
        happen to have. A list follows the rows of the fit, also where other people are measured.
        """
        fitted: dict[Hashable, float | None] | None = None
        if builder.known is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EquipoiseWarning)
                is_list = isinstance(bounds, (list, tuple, np.ndarray))
                rows = self.moments(builder.known).rows if is_list else ()
            fitted = {(row.event, row.group, row.against, row.side): row.bound for row in rows}
        groups = [
            *builder.groups(self.on, self.groups),
            *([MERGED] if self.small == "merge" else []),
        ]
        events = [event for event, _ in _all_events(builder, labels)]
        return BoundTable(
            bounds, type(self).__name__, parameter, groups=groups, events=events, fitted=fitted
        )

    def _check_groups(self) -> None:
        if not isinstance(self.min_size, (int, np.integer)) or self.min_size < 1:
            raise ValueError(
                f"min_size of {type(self).__name__} is {self.min_size!r}; expected a number of "
                "examples >= 1."
            )
        if self.small not in ("drop", "merge"):
            raise ValueError(
                f"small of {type(self).__name__} is {self.small!r}; expected 'drop' or 'merge'."
            )

    def _warn_small(
        self, cells: CellTable, small: dict[Hashable, Mask], event: Event, merged: bool
    ) -> None:
        sizes = (f"{group_name(g)} ({cells.count[mask].sum():g})" for g, mask in small.items())
        fate = f"merged into {MERGED!r}" if merged else "left unconstrained"
        if self.small == "merge" and not merged:
            fate += ", because even together they are too few"
        warnings.warn(
            f"{self.name}{event}: fewer than min_size={self.min_size} examples of "
            f"{', '.join(sizes)}; {fate}.",
            SmallGroupWarning,
            stacklevel=2,
        )

    def _warn_empty(self, group: Hashable, event: Event, builder: MomentsBuilder) -> None:
        warnings.warn(
            f"{self.name}: nobody in the data belongs to {group!r}{event}. Its rate cannot be "
            "measured, so "
            + (
                "it is left unconstrained; merge it with another group or collect data."
                if builder.known is None
                else "no bound on it is checked on these people."
            ),
            EmptyCellWarning,
            stacklevel=2,
        )


def _all_events(
    builder: MomentsBuilder, labels: Sequence[int | None]
) -> Iterator[tuple[Event, Mask]]:
    """Yield every event, those without people included."""
    for stratum, inside in builder.strata().items():
        for label in labels:
            event = Event(None if stratum is None else group_name(stratum), label)
            yield event, inside if label is None else inside & (builder.cells.label == label)
