"""Allowances: how far each inequality may go, from one number, a mapping or a list."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A number for all rows; one for each group or event; or one for each row.
Allowed = float | Mapping[Any, float] | Sequence[float] | NDArray


class Allowance:
    """The bound of every row of a constraint, looked up by event and group.

    Parameters
    ----------
    allowed : number, mapping or sequence
        A mapping goes by group (``{"F": 0.01, "M": 0.02}``), by event (``{"label=1": 0.01,
        "label=0": 0.05}``), or by both (``{("F", "label=1"): 0.01}``), the more specific first;
        ``"else"`` stands for all that is not named. A row that compares two named groups gets the
        smaller of their two numbers. A sequence has one number for each row, in order.
    owner, parameter : str
        What to call it in errors.

    Examples
    --------
    >>> allowance = Allowance({"F": 0.01, "else": 0.05}, "DemographicParity")
    >>> allowance.of((), "F"), allowance.of((), "M")
    (0.01, 0.05)
    """

    def __init__(self, allowed: Any, owner: str, parameter: str = "eps") -> None:
        self.allowed, self.called = allowed, f"{parameter} of {owner}"
        self._row = 0
        self._seen: dict[Hashable, None] = {}
        self._used: set[Hashable] = set()
        if isinstance(allowed, Mapping):
            for key, value in allowed.items():
                self._check(value, f" for {key!r}")
        elif isinstance(allowed, (list, tuple, np.ndarray)):
            for number, value in enumerate(allowed):
                self._check(value, f" for row {number}")
        else:
            self._check(allowed, "")

    def of(self, event: tuple[str, ...], group: Hashable, against: Hashable = None) -> float:
        """Return the bound of the next row, which is about ``group`` given ``event``.

        ``event`` holds the names that the event goes by.
        """
        self._row += 1
        if isinstance(self.allowed, Mapping):
            return self._find(self.allowed, event, [group, against])
        if isinstance(self.allowed, (list, tuple, np.ndarray)):
            if self._row <= len(self.allowed):
                return float(self.allowed[self._row - 1])
            return 0.0  # close() will say that there are too few
        return float(self.allowed)

    def close(self) -> None:
        """Raise an error for entries that fit no row."""
        if isinstance(self.allowed, Mapping):
            if strange := [key for key in self.allowed if key not in self._used and key != "else"]:
                raise ValueError(
                    f"{self.called} has an entry for {strange[0]!r}, which is no group or event "
                    f"here; there are {', '.join(map(repr, self._seen))}."
                )
        elif isinstance(self.allowed, (list, tuple, np.ndarray)) and self._row != len(self.allowed):
            raise ValueError(
                f"{self.called} has {len(self.allowed)} entries for {self._row} rows; expected one "
                "for each, in the order of constraint.moments(cells).rows."
            )

    def _find(
        self, allowed: Mapping[Any, float], event: tuple[str, ...], groups: list[Hashable]
    ) -> float:
        both: list[Hashable] = [(group, name) for group in groups for name in event]
        for keys in (both, groups, list(event)):
            self._seen |= dict.fromkeys(key for key in keys if key is not None)
            self._used |= set(keys)
            if found := [float(allowed[key]) for key in keys if key in allowed]:
                return min(found)
        if "else" in allowed:
            return float(allowed["else"])
        where = f" given {event[0]}" if event else ""
        raise ValueError(
            f"{self.called} says nothing about {groups[0]!r}{where}; it has "
            f"{', '.join(map(repr, allowed))}. Add it, or an entry 'else'."
        )

    def _check(self, value: Any, where: str) -> None:
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not number or not np.isfinite(value) or value < 0:
            raise ValueError(
                f"{self.called} is {value!r}{where}; expected a finite number >= 0, a mapping "
                "from groups or events to such numbers, or one for each row."
            )
