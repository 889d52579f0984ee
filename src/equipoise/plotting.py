"""Plots: numbers first, drawn later; needs matplotlib (``pip install equipoise[plot]``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.monitor import Monitor

#: Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008).
PALETTE = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky blue": "#56B4E9",
    "black": "#000000",
}
_COLOURS = tuple(PALETTE.values())
_MARKERS = "sD^vPX*"


@dataclass
class Curve:
    """One frontier as numbers: disparity and error of its points, and a band for the error."""

    name: str
    disparity: ArrayLike
    error: ArrayLike
    band: tuple[ArrayLike, ArrayLike] | None = None

    @classmethod
    def from_points(cls, name: str, points: Sequence[FrontierPoint], n: int | None = None) -> Curve:
        """Take the numbers of points; with ``n`` examples behind them, add a 95 % band."""
        # On other data than the fit's a tighter bound may well end up with a larger disparity.
        points = sorted(points, key=lambda point: point.disparity)
        disparity = np.array([point.disparity for point in points])
        error = np.array([point.error for point in points])
        if n is None:
            return cls(name, disparity, error)
        half = 1.96 * np.sqrt(np.clip(error * (1 - error), 0, None) / n)
        return cls(name, disparity, error, (error - half, error + half))

    def envelope(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower convex envelope: what mixing the points of the curve can reach.

        >>> Curve("c", [0.0, 0.1, 0.2], [0.3, 0.29, 0.2]).envelope()[0].tolist()
        [0.0, 0.2]
        """
        corners = convex_envelope(self.disparity, self.error)
        return np.ravel(self.disparity)[corners], np.ravel(self.error)[corners]


def pareto(violation: ArrayLike, error: ArrayLike) -> NDArray[np.intp]:
    """Return the indices of the points that no other beats in both, by growing violation.

    >>> pareto([0.1, 0.0, 0.2], [0.2, 0.3, 0.25]).tolist()
    [1, 0]
    """
    violation, error = np.asarray(violation, dtype=float), np.asarray(error, dtype=float)
    chosen: list[int] = []
    for at in np.lexsort((error, violation)):
        if not chosen or error[at] < error[chosen[-1]]:
            chosen.append(int(at))
    return np.array(chosen, dtype=np.intp)


def convex_envelope(violation: ArrayLike, error: ArrayLike) -> NDArray[np.intp]:
    """Return the corners of the lower convex envelope, by growing violation and falling error.

    >>> convex_envelope([0.0, 0.1, 0.2], [0.3, 0.29, 0.2]).tolist()
    [0, 2]
    """
    violation, error = np.asarray(violation, dtype=float), np.asarray(error, dtype=float)
    corners: list[int] = []
    for at in pareto(violation, error):
        while len(corners) > 1:
            first, middle = corners[-2:]
            slope = (error[at] - error[first]) / (violation[at] - violation[first])
            if error[middle] < error[first] + slope * (violation[middle] - violation[first]):
                break
            corners.pop()
        corners.append(int(at))
    return np.array(corners, dtype=np.intp)


class FrontierDisplay:
    """The accuracy-fairness frontier as a picture.

    Parameters
    ----------
    curves : sequence of Curve
    points : mapping from name to (disparity, error), optional
        Single classifiers to show beside the curves, such as baselines.

    Attributes
    ----------
    ax_, figure_ : matplotlib's, after `plot`.
    lines_ : list of matplotlib lines, one a curve

    Examples
    --------
    >>> display = FrontierDisplay([Curve("ours", [0.01, 0.1], [0.2, 0.15])],
    ...                           points={"unconstrained": (0.2, 0.14)})
    >>> display.curves[0].name
    'ours'
    """

    def __init__(
        self, curves: Sequence[Curve], points: Mapping[str, tuple[float, float]] | None = None
    ) -> None:
        self.curves, self.points = list(curves), dict(points or {})

    @classmethod
    def from_estimator(
        cls,
        frontier: Frontier,
        X: Any = None,
        y: Any = None,
        *,
        points: Mapping[str, tuple[float, float]] | None = None,
        name: str | None = None,
        **metadata: Any,
    ) -> Self:
        """Show a fitted frontier on the data of its fit, or on other data with a 95 % band.

        Parameters
        ----------
        frontier : Frontier
        X, y : optional
            Other data; give ``sensitive_features=`` with them.
        points : mapping, optional
            Baselines to show, as (disparity, error). The unconstrained model is added.
        name : str, optional
            Name of the curve.
        """
        traced, n = [*frontier.points_, frontier.unconstrained_], None
        if X is not None:
            traced, n = frontier.evaluate(X, y, **metadata), len(y)
        alone = traced[-1]
        shown = {"unconstrained": (alone.disparity, alone.error), **(points or {})}
        curve = Curve.from_points(name or type(frontier.constraint).__name__, traced[:-1], n)
        return cls([curve], shown)

    @classmethod
    def from_frontiers(
        cls,
        frontiers: Mapping[str, Frontier],
        points: Mapping[str, tuple[float, float]] | None = None,
    ) -> Self:
        """Show several fitted frontiers, by name, on the data of their fits."""
        return cls([Curve.from_points(k, f.points_) for k, f in frontiers.items()], points)

    def plot(self, ax: Any = None, *, envelope: bool = True) -> Self:
        """Draw, on ``ax`` or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        envelope : bool, default=True
            Also draw the convex envelope of each curve.
        """
        ax = new_figure(figsize=(7, 4.5)).add_subplot() if ax is None else ax
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        for curve, colour in zip(self.curves, cycle(_COLOURS), strict=False):
            if curve.band is not None:
                ax.fill_between(curve.disparity, *curve.band, color=colour, alpha=0.15, lw=0)
            (line,) = ax.plot(curve.disparity, curve.error, "o", ms=4, color=colour)
            if envelope:
                ax.plot(*curve.envelope(), color=colour, lw=1.5, label=curve.name)
            else:
                line.set_label(curve.name)
            self.lines_.append(line)
        colours = cycle(_COLOURS[len(self.curves) :] or _COLOURS)
        for (name, at), colour, mark in zip(
            self.points.items(), colours, cycle(_MARKERS), strict=False
        ):
            ax.plot(*at, mark, color=colour, ms=8, label=name, ls="none")
        ax.set_xlabel("largest difference between groups")
        ax.set_ylabel("error")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False)
        return self


class MonitorDisplay:
    """The evidence of a monitor, day by day, and the height of the alarm.

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
    def from_monitor(cls, monitor: Monitor) -> Self:
        """Show the history of a monitor."""
        values = [day.log_e_value for day in monitor.history_]
        return cls(values, 1 / monitor.delta, monitor.alarm_day_)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on ``ax`` or on a new figure; evidence in powers of ten."""
        ax = new_figure(figsize=(7, 3.5)).add_subplot() if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        # Powers, not a logarithmic axis: evidence may be beyond the largest number.
        powers = np.array([0.0, *self.log_e_values]) / np.log(10)
        days = np.arange(len(powers))
        (self.line_,) = ax.plot(days, powers, color=PALETTE["blue"], lw=1.5, label="evidence")
        alarm = PALETTE["vermilion"]
        ax.axhline(np.log10(self.alarm_at), color=alarm, ls="--", label="alarm")
        if self.alarm_day is not None:
            ax.plot(self.alarm_day, powers[self.alarm_day], "o", color=alarm, ms=8)
        ax.set_xlabel("day")
        ax.set_ylabel("e-value, power of ten")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False)
        return self


def new_figure(**options: Any) -> Any:
    """Return a new figure of matplotlib's, which no window shows."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed. Run: pip install 'equipoise[plot]'"
        ) from error
    return Figure(layout="constrained", **options)
