"""Rows: the inequalities of a constraint in words, and the events that they are about."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, overload

#: How the bound of a difference is said after its text.
DIFFERENCE = " by at most"


class Threshold(float):
    """A number z that stands for the decision that predictions of at least z are.

    >>> print(Event(decision=Threshold(0.5)))
     of predictions >= 0.5
    """

    def __str__(self) -> str:
        return f"predictions >= {float(self):.6g}"


class Event(NamedTuple):
    """A condition on the control features and the label; and the decision whose rate is meant.

    Attributes
    ----------
    stratum : str or None
        The name of the stratum of the control features.
    label : label or None
    decision : decision or None
        None where there are but two, or where the rate is of wrong decisions.

    Examples
    --------
    >>> str(Event("old", 1)), Event("old", 1).names
    (' within old given label 1', ('old, label=1', 'old', 'label=1'))
    >>> print(Event(decision="refer"))
     of decision refer
    """

    stratum: str | None = None
    label: Hashable = None
    decision: Hashable = None

    def __str__(self) -> str:
        of = "" if self.decision is None else f" of decision {self.decision}"
        if isinstance(self.decision, Threshold):
            of = f" of {self.decision}"
        within = "" if self.stratum is None else f" within {self.stratum}"
        return of + within + ("" if self.label is None else f" given label {self.label}")

    @property
    def people(self) -> str:
        """The condition alone, which is the same for all decisions."""
        return str(self._replace(decision=None))

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a mapping of bounds may mean this event, the most specific first."""
        parts = [] if self.stratum is None else [self.stratum]
        parts += [] if self.label is None else [f"label={self.label}"]
        parts += [] if self.decision is None else [f"decision={self.decision}"]
        return tuple(dict.fromkeys((", ".join(parts), *parts))) if parts else ()


class Row(NamedTuple):
    """One inequality of a constraint; printed, it is a sentence.

    Attributes
    ----------
    constraint : str
        The name of the constraint.
    text : str
        The inequality in words.
    group, against : group or None
        The group that it is about, and what that is compared with: a group, "overall" or nothing.
    event : Event
        The condition that the moments are taken under.
    side : +1 or -1
        Whether it bounds the group's rate from above (+1) or from below (-1).
    bound : float or None
        c_k, as asked for: without slack for sampling. None where the row has no bound of its own,
        because the largest of such rows is what is minimised.
    limit : str
        How the bound is said after the text; empty where the text has it.

    Examples
    --------
    >>> event = Event(label=1)
    >>> row = Row("equal opportunity", "F below M", "F", "M", event, -1, 0.02, " by at most")
    >>> print(row)
    equal opportunity given label 1: F below M
    >>> row.sentence()
    'equal opportunity given label 1: F below M by at most 0.02'
    """

    constraint: str
    text: str
    group: Hashable = None
    against: Hashable = None
    event: Event = Event()
    side: int = 1
    bound: float | None = None
    limit: str = ""

    def __str__(self) -> str:
        return f"{self.constraint}{self.event}: {self.text}" if self.constraint else self.text

    def sentence(self) -> str:
        """Return the inequality in words with its bound, which tells it from all others."""
        says_more = self.limit and self.bound is not None
        return f"{self}{self.limit} {self.bound:.6g}" if says_more else str(self)

    def shown(self) -> dict[str, str]:
        """Return the inequality as its table shows it."""
        return {"constraint": self.sentence()}


class Rows(Sequence[Row]):
    """The rows of a constraint with another bound, one for all, which each is given when asked for.

    A frontier has many bounds, and few of their rows are ever looked at.

    Examples
    --------
    >>> rows = Rows((Row("parity", "F below M", bound=0.1), Row("parity", "F above M")), 0.2)
    >>> [row.bound for row in rows], rows[1].text
    ([0.2, 0.2], 'F above M')
    """

    def __init__(self, rows: Sequence[Row], bound: float) -> None:
        self._rows: Sequence[Row] = rows._rows if isinstance(rows, Rows) else rows
        self._bound = bound

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, at: int | slice) -> Row | tuple[Row, ...]:
        if isinstance(at, slice):
            return tuple(self)[at]
        return self._rows[at]._replace(bound=self._bound)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Rows, tuple)) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]
