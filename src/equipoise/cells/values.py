"""Values that users pass: numbers; and in sensitive columns a place in an order, or not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

#: What is done with people whose group is not known.
Missing = Literal["error", "ignore"]


def is_number(value: Any) -> bool:
    """Whether it is a real number, and not True or False.

    >>> [is_number(value) for value in (1, np.float32(0.5), True, "1", None)]
    [True, True, False, False, False]
    """
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


class Unknown:
    """The value of a person whose group is not known; there is one such object, `UNKNOWN`.

    It comes after all other values.

    >>> sorted(["M", UNKNOWN, "F"], key=lambda value: value is UNKNOWN), UNKNOWN == Unknown()
    (['M', 'F', <unknown>], True)
    """

    def __repr__(self) -> str:
        return "<unknown>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return hash(Unknown)

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, Unknown)

    def __reduce__(self) -> str:
        return "UNKNOWN"  # other processes have the same object


UNKNOWN = Unknown()


class Level(str):
    """A category with its place in an order: a text that is sorted by its place.

    >>> sorted([Level("high", 1), Level("low", 0)]), Level("low", 0) == "low"
    (['low', 'high'], True)
    """

    place: int

    def __new__(cls, text: str, place: int) -> Self:
        """Make a text with its place."""
        level = super().__new__(cls, text)
        level.place = place
        return level

    def __getnewargs__(self) -> tuple[str, int]:  # type: ignore[override]
        return str(self), self.place

    def __lt__(self, other: Any) -> bool:
        return self.place < other.place if isinstance(other, Level) else super().__lt__(other)

    def __gt__(self, other: Any) -> bool:
        return self.place > other.place if isinstance(other, Level) else super().__gt__(other)


def levels(names: Sequence[str]) -> NDArray[Any]:
    """Return the categories of an order, the least first.

    >>> levels(["low", "high"]).tolist()
    ['low', 'high']
    """
    found = np.empty(len(names), dtype=object)
    found[:] = [Level(name, place) for place, name in enumerate(names)]
    return found


@dataclass(frozen=True)
class GroupRules:
    """How the values of sensitive columns become groups; other people are read by the same rules.

    Attributes
    ----------
    missing : "error" or "ignore"
        Whether there may be people whose group is not known.
    bins : mapping from column name to numbers
        The edges of numeric columns that were put into bins.
    """

    missing: Missing = "error"
    bins: Mapping[str, Sequence[float]] = field(default_factory=dict)
