"""Violations: how far each constraint is from its bound, on which data, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import people_of
from equipoise.constraints.moments import Moments, MomentsBuilder
from equipoise.constraints.rows import DIFFERENCE, Row
from equipoise.constraints.slopes import row_blocks, slopes_of
from equipoise.game.lagrangian import TOLERANCE
from equipoise.game.objectives import Loss, Objective, loss_table
from equipoise.metrics.audit import Tally
from equipoise.metrics.headline import Headline, compared, headline
from equipoise.metrics.intervals import (
    Interval,
    Means,
    check_level,
    joint_limits,
    normal_quantile,
)
from equipoise.metrics.measurement import Measured
from equipoise.metrics.unknown import share_unknown


def measure(
    tallies: Mapping[str, Tally],
    constraint: Constraint,
    objective: Objective | Loss | None,
    *,
    known: CellTable | None = None,
    **options: Any,
) -> list[Measured]:
    """Measure a classifier on several data; see `Meter` and its `Meter.measure`."""
    return [
        Meter(tally.cells, constraint, objective, known).measure(data, tally, **options)
        for data, tally in tallies.items()
    ]


class Meter:
    """Measures any number of classifiers on one table of cells; constraints are compiled once.

    Parameters
    ----------
    cells : CellTable
        The table of the tallies to come.
    constraint : Constraint
    objective : as for `FairClassifier`
    known : CellTable, optional
        The cells of the fit. Bounds on groups that only the fit had are not measured.

    Examples
    --------
    >>> from equipoise.constraints import DemographicParity
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> meter = Meter(cells, DemographicParity(), None)
    >>> tally = Tally.of_people(cells, np.array([0.0, 1.0, 0.0, 0.0]))
    >>> for eps in (0.1, 0.3):
    ...     print(meter.measure("training", tally, bound=eps).met)
    False
    True
    """

    def __init__(
        self,
        cells: CellTable,
        constraint: Constraint,
        objective: Objective | Loss | None,
        known: CellTable | None = None,
    ) -> None:
        builder = MomentsBuilder(cells, known)
        constraint.add_rows(builder)
        self.moments, self._averaged = builder.build(), builder.averaged
        self._cells = cells
        slopes = row_blocks(slopes_of(self.moments.M, self.moments.U))
        moved = [np.abs(some).max(axis=1, initial=0.0) > TOLERANCE for _, some in slopes]
        self._compared = np.concatenate([np.zeros(0, dtype=bool), *moved])
        self._loss = loss_table(objective, cells)

    def measure(
        self,
        data: str,
        tally: Tally,
        *,
        level: float = 0.95,
        worst_rate: float = 0.0,
        bound: float | None = None,
    ) -> Measured:
        """Return error and violations of the classifier that a tally is of.

        Elastic rows have no bound of their own, but ``worst_rate``. On a frontier ``bound``, which
        is ``eps``, takes the place of that of the constraint.
        """
        check_level(level)
        moments = self.moments if bound is None else self.moments.with_bound(bound)
        c = moments.c
        if moments.elastic is not None:
            c = np.where(moments.elastic, worst_rate, c)
        mu = moments.mu(tally.s)
        excess = moments.M @ mu - c
        low, high = self._limits(tally, mu, level)
        limits = np.where(self._compared, [excess, low - c, high - c], np.nan).T.tolist()
        rows = tuple((row, Interval(*ends)) for row, ends in zip(moments.rows, limits, strict=True))
        most, worst = largest(rows)
        people = round(float(tally.cells.count.sum()))
        unshown = self._unshown(moments, high - moments.M @ mu)
        error, unknown = self._error(tally, level), share_unknown(tally.cells)
        counts = np.minimum(moments.people, people)
        head = headline(rows, counts)
        top = largest_compared(rows, counts, data)
        return Measured(data, people, error, most, worst, rows, bound, unshown, unknown, head, top)

    def _unshown(self, moments: Moments, reach: Array) -> str:
        """Return a sentence about a bound below the reach of its interval, if there is one."""
        is_difference = [row.limit == DIFFERENCE and row.bound is not None for row in moments.rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(
                self._compared & np.array(is_difference, dtype=bool), reach / moments.c, 0.0
            )
        if not len(times) or not times.max() > 1:
            return ""
        k = int(times.argmax())
        used = moments.M[[k]].indices
        fewest = int(used[moments.event_count[used].argmin()])
        who = people_of(self._cells, self._averaged[fewest][0])
        return (
            f"{moments.rows[k]}: known to ±{reach[k]:.2g} from {moments.event_count[fewest]:,.0f} "
            f"{who}, sampling error only; a bound of {moments.c[k]:.4g} is less than they can show."
        )

    def _limits(self, tally: Tally, mu: Array, level: float) -> tuple[Array, Array]:
        """Return limits of gamma = M mu that hold for all rows at once."""
        if tally.squares is None:
            return (np.full(len(self.moments.c), np.nan),) * 2
        if not len(mu):
            return np.zeros(0), np.zeros(0)
        events = np.array([event for event, _ in self._averaged], dtype=float)
        means = _means(tally, events, np.array([g for _, g in self._averaged], dtype=float), mu)
        return joint_limits([(means, self.moments.M)], level)[0]

    def _error(self, tally: Tally, level: float) -> Interval:
        offset, slope = tally.cells.total(self._loss)
        value = float(offset + tally.s @ slope)
        if tally.squares is None or isinstance(self._loss, str):
            return Interval(value, float("nan"), float("nan"))
        everybody, mean = np.ones((1, len(self._loss))), np.array([value])
        means = _means(tally, everybody, self._loss[None], mean)
        ends = means.limits(normal_quantile(level))
        return Interval(value, *(float(end[0]) for end in ends))


def _means(tally: Tally, events: Array, g: Array, value: Array) -> Means:
    """Return the means of utilities g (J, C, V) over events (J, C), with their covariance."""
    cells, squares = tally.cells, tally.squares
    assert squares is not None
    if cells.n_decisions == 2:
        low = g[:, :, 0]
        high = g[:, :, 1]
        return Means.of_cells(events, low, high, cells.mass, tally.s, value, squares)

    # Decisions count as drawn: those of a cell who get the same one are a cell of their own.
    def by_decision(every: Array, others: Array) -> Array:
        known = cells.by_decision(others)
        return np.column_stack([np.maximum(every - known.sum(axis=1), 0.0), known]).ravel()

    mass, square = by_decision(cells.mass, tally.s), by_decision(*squares[:2])
    each, none = g.reshape(len(g), -1), np.zeros_like(square)
    events = np.repeat(events, cells.n_decisions, axis=1)
    return Means.of_cells(events, each, each, mass, none, value, (square, none, none))


def largest(rows: Iterable[tuple[Row, Interval]]) -> tuple[Interval, Row | None]:
    """Return the largest of what is known and its row, given limits that hold for all at once."""
    known = [(row, interval) for row, interval in rows if not np.isnan(interval.estimate)]
    if not known:
        return Interval(np.nan, np.nan, np.nan), None
    worst = max(known, key=lambda pair: pair[1].estimate)[0]
    ends = zip(*(interval for _, interval in known), strict=True)
    return Interval(*(float(np.max(end)) for end in ends)), worst


def largest_compared(
    rows: Sequence[tuple[Row, Interval]], people: Array, data: str
) -> Headline | None:
    """Return the largest excess of the inequalities that classifiers are compared by.

    The interval is that of the largest, whichever it is.
    """
    mask = compared(people, data)
    excess, row = largest(pair for pair, there in zip(rows, mask, strict=True) if there)
    if row is None:
        return None
    count = next(n for (other, _), n in zip(rows, people, strict=True) if other is row)
    return Headline(row, excess, int(count))
