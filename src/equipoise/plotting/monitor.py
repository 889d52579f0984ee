"""The present value of a monitored bound as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from equipoise.estimators.guarantees.monitor import Monitor
from equipoise.plotting.figures import PALETTE, drawn_on


class MonitorDisplay:
    """The present value of a bound, with its confidence sequence; see `from_monitor`.

    Parameters
    ----------
    people : sequence of int
        The number of people so far, after each day.
    present : array-like of shape (n, 3)
        The value and its lower and upper limit after each day; None where nothing is measured.
    bound : float
    name : str, optional
        The bound in words.
    alarms : sequence of int, optional
        The number of people so far at each alarm.

    Attributes
    ----------
    ax_, figure_, line_ : matplotlib's, after `plot`.

    Examples
    --------
    >>> display = MonitorDisplay([200, 400], [(0.04, 0.0, 0.08), (0.03, 0.0, 0.06)], bound=0.05)
    >>> display.people.tolist()
    [200, 400]
    """

    def __init__(
        self,
        people: Sequence[int],
        present: Sequence[Sequence[float | None]],
        bound: float,
        name: str = "",
        alarms: Sequence[int] = (),
    ) -> None:
        self.people = np.asarray(people)
        self.present = np.array(present, dtype=float).reshape(-1, 3)
        self.bound = bound
        self.name = name
        self.alarms = list(alarms)

    @classmethod
    def from_monitor(cls, monitor: Monitor, *, row: str | None = None, ax: Any = None) -> Self:
        """Draw the history of one bound of a monitor.

        ``row`` is its name in ``monitor.rows_``; by default that of the last alarm or, before
        there is one, the bound with the largest evidence against it.
        """
        rows = {bound.name: number for number, bound in enumerate(monitor.rows_)}
        if row is None:
            largest = max(monitor.rows_, key=lambda bound: bound.evidence)
            row = monitor.alarms_[-1].row if monitor.alarms_ else largest.name
        if row not in rows:
            raise ValueError(f"row is {row!r}; expected one of {', '.join(map(repr, rows))}.")
        k = rows[row]
        display = cls(
            np.cumsum([day.people for day in monitor.history_], dtype=int).tolist(),
            [day.present[k] for day in monitor.history_],
            monitor.rows_[k].bound,
            row,
            [alarm.people for alarm in monitor.alarms_ if alarm.row == row],
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot's."""
        self.ax_ = ax = drawn_on(ax, (7, 3.5))
        self.figure_ = ax.figure
        value, low, high = self.present.T
        (self.line_,) = ax.plot(self.people, value, color=PALETTE["blue"], lw=1.5, label="value")
        ax.fill_between(self.people, low, high, color=PALETTE["blue"], alpha=0.2, lw=0)
        alarm_colour = PALETTE["vermilion"]
        ax.axhline(self.bound, color=alarm_colour, ls="--", label="bound")
        for number, people in enumerate(self.alarms):
            ax.axvline(people, color=alarm_colour, lw=1.0, label="" if number else "alarm")
        ax.set_title(self.name, fontsize="medium")
        ax.set_xlabel("people")
        ax.set_ylabel("in the present period")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False)
        return self
