"""The accuracy-fairness frontier as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.estimators.frontier import Frontier, points_on
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.metrics.measurement import Measured
from equipoise.plotting.figures import colours, drawn_on
from equipoise.rows.people import People

_MARKERS = "sD^vPX*"
#: Beyond this ratio of largest to smallest difference the axis is logarithmic: else bounds pile up
#: at its end.
_WIDE = 20


@dataclass
class Curve:
    """One frontier as numbers: disparity and error of its points, and intervals of both.

    ``band`` are the limits of the error, ``across`` those of the disparity.
    """

    name: str
    disparity: ArrayLike
    error: ArrayLike
    band: tuple[ArrayLike, ArrayLike] | None = None
    across: tuple[ArrayLike, ArrayLike] | None = None

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

    @classmethod
    def from_measured(cls, name: str, measured: Sequence[Measured]) -> Self:
        """Take the numbers of a frontier measured on other people, with their intervals.

        The disparity is the largest difference by which bounds are compared.
        """
        measured = [entry for entry in measured if entry.largest is not None]
        rows = [(*entry.compared_difference, *entry.error) for entry in measured]
        numbers = np.array(sorted(rows), dtype=float).reshape(-1, 6).T
        return cls(name, numbers[0], numbers[3], tuple(numbers[4:]), tuple(numbers[1:3]))

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
    """The accuracy-fairness frontier as a picture; see `from_estimator`.

    Parameters
    ----------
    curves : sequence of Curve
    points : mapping from name to (disparity, error), optional
        Single classifiers to show beside the curves, such as baselines.
    measure : "error" or "loss"
        What the vertical axis shows.
    data : str, optional
        The data that the numbers are from, such as "test data": the axes name them.

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
        self,
        curves: Sequence[Curve],
        points: Mapping[str, tuple[float, float]] | None = None,
        measure: str = "error",
        data: str = "",
    ) -> None:
        self.curves = list(curves)
        self.points = dict(points or {})
        self.measure = measure
        self.data = data

    @classmethod
    def from_estimator(
        cls,
        frontier: Frontier | RegressionFrontier,
        X: Any = None,
        y: Any = None,
        *,
        points: Mapping[str, tuple[float, float]] | None = None,
        name: str | None = None,
        ax: Any = None,
        **metadata: Any,
    ) -> Self:
        """Draw a fitted frontier on the data of its fit, or on test data with 95 % intervals.

        On test data the difference is the largest of the comparisons of 30 or more people, the same
        comparisons for every bound.

        Parameters
        ----------
        frontier : Frontier
            Of classifiers, or of a regressor, which has no intervals.
        X, y : optional
            Test data; give ``sensitive_features=`` with them.
        points : mapping, optional
            Baselines to show, as (disparity, error). The unconstrained model is added.
        name : str, optional
            Name of the curve.
        ax : matplotlib Axes, optional
            By default those of a new figure.
        """
        name = name or type(frontier.constraint).__name__
        of_numbers = isinstance(frontier, RegressionFrontier)
        data = "training data" if X is None else "test data"
        if X is None or of_numbers:
            traced = [*frontier.points_, frontier.unconstrained_]
            traced = traced if X is None else frontier.evaluate(X, y, **metadata)
            curve = Curve.from_points(name, traced[:-1])
            alone = (traced[-1].disparity, traced[-1].error)
        else:
            *measured, free = points_on(frontier, People(X, y, **metadata))
            curve = Curve.from_measured(name, measured)
            alone = (free.compared_difference.estimate, free.error.estimate)
        shown = {"unconstrained": alone, **(points or {})}
        return cls([curve], shown, "loss" if of_numbers else "error", data).plot(ax)

    @classmethod
    def from_points(
        cls,
        traced: Sequence[FrontierPoint],
        *,
        n: int | None = None,
        points: Mapping[str, tuple[float, float]] | None = None,
        name: str = "frontier",
        ax: Any = None,
    ) -> Self:
        """Draw points of a frontier, such as ``evaluate`` returns; a band for ``n`` examples."""
        return cls([Curve.from_points(name, traced, n)], points).plot(ax)

    @classmethod
    def from_frontiers(
        cls,
        frontiers: Mapping[str, Frontier],
        points: Mapping[str, tuple[float, float]] | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Draw several fitted frontiers, by name, on the data of their fits."""
        curves = [Curve.from_points(name, traced.points_) for name, traced in frontiers.items()]
        return cls(curves, points).plot(ax)

    def plot(self, ax: Any = None, *, envelope: bool = True) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot's.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        envelope : bool, default=True
            Also draw the convex envelope of each curve.
        """
        self.ax_ = ax = drawn_on(ax, (7, 4.5))
        self.figure_, self.lines_ = ax.figure, []
        palette = colours()
        self._scale(ax)
        for curve, colour in zip(self.curves, cycle(palette), strict=False):
            if curve.band is not None and np.ptp(curve.disparity) > 0:
                ax.fill_between(curve.disparity, *curve.band, color=colour, alpha=0.15, lw=0)
            elif curve.band is not None:  # which has no width
                ax.vlines(curve.disparity, *curve.band, color=colour, alpha=0.3)
            if curve.across is not None:
                ax.hlines(curve.error, *curve.across, color=colour, alpha=0.3)
            (line,) = ax.plot(curve.disparity, curve.error, "o", ms=4, color=colour)
            if envelope:
                ax.plot(*_dense(*curve.envelope()), color=colour, lw=1.5)
            # As a point and a piece of line, however few points there are.
            ax.plot([], [], "o-" if envelope else "o", ms=4, color=colour, label=curve.name)
            self.lines_.append(line)
        rest = cycle(palette[len(self.curves) :] or palette)
        for (name, at), colour, mark in zip(
            self.points.items(), rest, cycle(_MARKERS), strict=False
        ):
            ax.plot(*at, mark, color=colour, ms=8, label=name, ls="none")
        of_data = self.data and f", {self.data}"
        ax.set_xlabel(f"largest difference that the constraint looks at{of_data}")
        ax.set_ylabel(f"{self.measure}{of_data}")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False)
        return self

    def _scale(self, ax: Any) -> None:
        """Make the axis of differences logarithmic where they differ much in size."""
        curves = [np.ravel(curve.disparity) for curve in self.curves]
        every = np.concatenate([*curves, [disparity for disparity, _ in self.points.values()]])
        positive = every[every > 1e-9]
        if not len(positive) or positive.max() <= _WIDE * positive.min():
            return
        ax.set_xscale("log", nonpositive="clip")
        ax.set_xlim(max(positive.min(), positive.max() / 1000) / 1.2, positive.max() * 1.2)


def _dense(violation: NDArray, error: NDArray) -> tuple[NDArray, NDArray]:
    """Return a broken line by many points, since its pieces are curved on a logarithmic axis."""
    steps = np.linspace(0, len(violation) - 1, 100 * len(violation))
    numbers = np.arange(len(violation))
    return np.interp(steps, numbers, violation), np.interp(steps, numbers, error)
