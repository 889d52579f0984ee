"""Intervals of what a constraint bounds of a regressor: differences at any threshold, or losses.

How far what was measured may be from what holds for everybody is simulated: given how many people
of each cell there are, cells err independently of each other, shares of many people as the normal
distribution does, and losses as `bootstrap` tells. The errors of all rows and thresholds are drawn
together, so that all limits hold at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.estimators.regression.bootstrap import mean_losses, studentised
from equipoise.estimators.regression.units import reached_at_any_threshold
from equipoise.game.lagrangian import Lagrangian
from equipoise.metrics.intervals import N_NORMAL, check_level, normal_deviations
from equipoise.oracles.cell_probabilities import Rows

#: Thresholds at which errors are drawn, quantiles of the predictions; and of all cells together.
_THRESHOLDS, _NUMBERS = 101, 4000
#: People whose values at all thresholds are looked at together.
_BLOCK = 4096


class Level(NamedTuple):
    """How sure limits are to be, and of how many people a cell must be to tell anything."""

    level: float
    min_people: int


class RowLimits(NamedTuple):
    """What each row of a constraint reaches, at any threshold, with limits for all rows at once.

    Of cells with fewer people than `Level.min_people` nothing is known: their shares may be
    anything from 0 to 1, their losses of any size. Limits are NaN where none were asked for.
    """

    reached: Array
    bound: Array
    low: Array
    high: Array

    @property
    def largest(self) -> float:
        """The largest value."""
        return float(self.reached.max(initial=0.0))

    @property
    def excess(self) -> float:
        """By how much the worst bound is exceeded, 0 if none is."""
        return float((self.reached - self.bound).max(initial=0.0))

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The limits of the largest value of all rows, which is no less than 0; None without."""
        if np.isnan(self.low).any():
            return None, None
        return float(self.low.max(initial=0.0)), float(self.high.max(initial=0.0))

    @property
    def exceeds(self) -> bool | None:
        """Whether a bound is exceeded by more than chance explains; None without limits."""
        most = self.bound + 1e-12 * np.abs(self.reached)
        return None if np.isnan(self.low).any() else bool((self.low > most).any())


def parity_limits(
    game: Lagrangian,
    cells: ThresholdCells,
    predicted: Sequence[Array],
    weights: Array,
    level: Level | None,
) -> RowLimits:
    """Return the limits of differences of shares, from predictions (n,) of each member."""
    rows, reached = reached_at_any_threshold(game, cells, predicted, weights)
    if level is None:
        return _without_limits(reached, rows[:, -1])
    places = np.linspace(0.0, 1.0, max(min(_THRESHOLDS, _NUMBERS // cells.n_cells), 20))
    thresholds = np.unique(np.quantile(np.concatenate(list(predicted)), places))

    def shares(some: Rows) -> Array:
        return sum(
            weight * (each[some, None] >= thresholds)
            for each, weight in zip(predicted, weights, strict=True)
        )

    spreads = _spreads(cells, shares, level.min_people)
    unknown = np.abs(rows[:, :-1]) @ np.where([s is None for s in spreads], cells.mass, 0.0)
    return _limits(rows[:, :-1], reached, rows[:, -1], spreads, unknown, level.level)


def loss_limits(
    game: Lagrangian, cells: ThresholdCells, lost: Array, bound: Array, level: Level | None
) -> RowLimits:
    """Return the limits of the losses of groups, from the loss (n,) of each person."""
    slopes = np.asarray(game.gamma_slope)[:, :: cells.n_columns]
    by_cell = np.bincount(cells.code, cells.row_weights() * lost, minlength=cells.n_cells)
    reached: Array = slopes @ by_cell
    if level is None:
        return _without_limits(reached, bound)
    check_level(level.level)
    known = mean_losses(cells, lost, level.min_people)
    below, above = studentised(slopes * cells.mass, known, level.level)
    unknown = np.where((slopes != 0)[:, [each is None for each in known]].any(axis=1), np.inf, 0.0)
    return RowLimits(reached, bound, reached + below - unknown, reached + above + unknown)


def _spreads(
    cells: ThresholdCells, values: Callable[[Rows], Array], least: int
) -> list[Array | None]:
    """Return for each cell the covariance of sums over it of the values (rows, T) of its people.

    None for cells of fewer people than ``least``.
    """
    weight, found = cells.row_weights(), list[Array | None]()
    for cell in range(cells.n_cells):
        people = np.flatnonzero((cells.code == cell) & (weight > 0))
        if (n := len(people)) < max(least, 2):
            found.append(None)
            continue
        blocks = [people[start : start + _BLOCK] for start in range(0, n, _BLOCK)]
        mean = sum(weight[some] @ values(some) for some in blocks) / weight[people].sum()
        off = (weight[some, None] * (values(some) - mean) for some in blocks)
        found.append(n / (n - 1) * np.sum([each.T @ each for each in off], axis=0))
    return found


def _limits(
    slopes: Array,
    reached: Array,
    bound: Array,
    spreads: Sequence[Array | None],
    unknown: Array,
    level: float,
) -> RowLimits:
    """Return the limits of rows that weigh sums over cells by ``slopes`` (R, C).

    ``unknown`` is by how much cells without a covariance may change each row.
    """
    check_level(level)
    rng = np.random.default_rng(0)  # fixed: limits must not differ between calls
    spread = {cell: each for cell, each in enumerate(spreads) if each is not None}
    drawn = {cell: normal_deviations(each, rng) for cell, each in spread.items()}
    error, largest = np.zeros(len(slopes)), np.zeros(N_NORMAL)
    for at, slope in enumerate(slopes):
        used = [cell for cell in spread if slope[cell]]
        variance = sum((slope[cell] ** 2 * np.diag(spread[cell]) for cell in used), np.zeros(1))
        error[at] = np.sqrt(variance.max())
        if error[at] > 0:
            each = np.abs(sum(slope[cell] * drawn[cell] for cell in used)).max(axis=1)
            largest = np.maximum(largest, each / error[at])
    reach = error * float(np.quantile(largest, level)) + unknown
    return RowLimits(reached, bound, reached - reach, reached + reach)


def _without_limits(reached: Array, bound: Array) -> RowLimits:
    unknown = np.full(len(reached), np.nan)
    return RowLimits(reached, bound, unknown, unknown)
