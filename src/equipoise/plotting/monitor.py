"""The evidence of a monitor as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from equipoise.estimators.guarantees.monitor import Monitor
from equipoise.plotting.figures import PALETTE, drawn_on


class MonitorDisplay:
    """The evidence of a monitor, day by day, and the height of the alarm; see `from_monitor`.

    Parameters
    ----------
    log_e_values : sequence of float
        After each day.
    alarm_at : float
        The e-value of the alarm.
    alarm_day : int, optional
        The day of the alarm, from 1.

    Attributes
    ----------
    ax_, figure_, line_ : matplotlib's, after `plot`.

    Examples
    --------
    >>> MonitorDisplay([0.1, 1.2, 3.4], alarm_at=20.0, alarm_day=3).alarm_day
    3
    """

    def __init__(
        self, log_e_values: Sequence[float], alarm_at: float, alarm_day: int | None = None
    ) -> None:
        self.log_e_values, self.alarm_at = list(log_e_values), alarm_at
        self.alarm_day = alarm_day

    @classmethod
    def from_monitor(cls, monitor: Monitor, *, ax: Any = None) -> Self:
        """Draw the history of a monitor."""
        values = [day.log_e_value for day in monitor.history_]
        return cls(values, 1 / monitor.delta, monitor.alarm_day_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot's; evidence in powers of ten."""
        self.ax_ = ax = drawn_on(ax, (7, 3.5))
        self.figure_ = ax.figure
        # Powers, not a logarithmic axis: evidence may be beyond the largest number.
        powers = np.array([0.0, *self.log_e_values]) / np.log(10)
        days = np.arange(len(powers))
        (self.line_,) = ax.plot(days, powers, color=PALETTE["blue"], lw=1.5, label="evidence")
        alarm = PALETTE["vermilion"]
        ax.axhline(np.log10(self.alarm_at), color=alarm, ls="--", label="alarm")
        if self.alarm_day is not None:
            ax.plot(self.alarm_day, powers[self.alarm_day], "o", color=alarm, ms=8)
        ax.set_xlabel("day")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("e-value, power of ten")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False)
        return self
