"""Bounds: how far each inequality may go, from one number, a mapping or a list."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.constraints.conditions import Event

#: A number for all rows; one for each group or event; or one for each row.
Bounds = float | Mapping[Any, float] | Sequence[float] | NDArray


class BoundTable:
    """The bound of every row of a constraint, looked up by event and group.

    Parameters
    ----------
    bounds : number, mapping or sequence
        A mapping goes by group (``{"F": 0.01, "M": 0.02}``), by event (``{"label=1": 0.01,
        "label=0": 0.05}``), or by both (``{("F", "label=1"): 0.01}``), the more specific first;
        ``"else"`` stands for all that is not named. A row that compares two named groups gets the
        smaller of their two numbers. A sequence has one number for each row, in order.
    owner, parameter : str
        What to call it in errors.
    groups, events : sequences
        All groups and events that a mapping may name, those without a row of their own included.
    fitted : mapping from (event, group, against, side) to bound, optional
        Where bounds of a fit are measured on other people: the bounds of a sequence, by row. What
        then has no bound gets NaN.

    Examples
    --------
    >>> table = BoundTable({"F": 0.01, "else": 0.05}, "DemographicParity", groups=["F", "M"])
    >>> table.next(Event(), "F"), table.next(Event(), "M")
    (0.01, 0.05)
    """

    def __init__(
        self,
        bounds: Any,
        owner: str,
        parameter: str = "eps",
        *,
        groups: Sequence[Hashable] = (),
        events: Sequence[Event] = (),
        fitted: Mapping[Hashable, float | None] | None = None,
    ) -> None:
        self.bounds, self.called, self.fitted = bounds, f"{parameter} of {owner}", fitted
        self._rows = 0
        self._is_list = isinstance(bounds, (list, tuple, np.ndarray))
        names = dict.fromkeys(name for event in events for name in event.names)
        both = [(group, name) for group in groups for name in names]
        self._names: dict[Hashable, None] = dict.fromkeys([*groups, *names, *both])
        if isinstance(bounds, Mapping):
            for key, value in bounds.items():
                check_bound(value, self.called, f" for {key!r}")
        elif self._is_list:
            for number, value in enumerate(bounds):
                check_bound(value, self.called, f" for row {number}")
        else:
            check_bound(bounds, self.called)

    def next(self, event: Event, group: Hashable, against: Hashable = None, side: int = 1) -> float:
        """Return the bound of the next row, which is about ``group`` given ``event``."""
        self._rows += 1
        if isinstance(self.bounds, Mapping):
            return self._find(self.bounds, event.names, [group, against])
        if self._is_list and self.fitted is not None:
            bound = self.fitted.get((event, group, against, side))
            return float("nan") if bound is None else bound
        if self._is_list:
            # check_all_used will say where there are too few.
            return float(self.bounds[self._rows - 1]) if self._rows <= len(self.bounds) else 0.0
        return float(self.bounds)

    def check_all_used(self) -> None:
        """Raise an error for names that are no group or event, and for lists of another length."""
        if isinstance(self.bounds, Mapping):
            if strange := [key for key in self.bounds if key not in self._names and key != "else"]:
                raise ValueError(
                    f"{self.called} has an entry for {strange[0]!r}, which is no group or event "
                    f"here; there are {', '.join(map(repr, self._names))}."
                )
        elif self._is_list and self.fitted is None and self._rows != len(self.bounds):
            raise ValueError(
                f"{self.called} has {len(self.bounds)} entries for {self._rows} rows; expected one "
                "for each, in the order of constraint.moments(cells).rows."
            )

    def _find(
        self, bounds: Mapping[Any, float], event: tuple[str, ...], groups: list[Hashable]
    ) -> float:
        both: list[Hashable] = [(group, name) for group in groups for name in event]
        self._names |= dict.fromkeys(key for key in groups if key is not None)
        for keys in (both, groups, list(event)):
            if found := [float(bounds[key]) for key in keys if key in bounds]:
                return min(found)
        if "else" in bounds or self.fitted is not None:
            return float(bounds.get("else", "nan"))
        where = f" given {event[0]}" if event else ""
        raise ValueError(
            f"{self.called} says nothing about {groups[0]!r}{where}; it has "
            f"{', '.join(map(repr, bounds))}. Add it, or an entry 'else'."
        )


def check_bound(value: Any, called: str, where: str = "") -> None:
    """Raise an error for anything but a finite number that is not negative."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < 0:
        raise ValueError(
            f"{called} is {value!r}{where}; expected a finite number >= 0, a mapping "
            "from groups or events to such numbers, or one for each row."
        )
