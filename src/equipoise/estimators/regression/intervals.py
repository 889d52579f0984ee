"""Intervals of what a constraint bounds of a regressor: differences at any threshold, or losses.

How far what was measured may be from what holds for everybody is simulated: given how many people
of each cell there are, cells err independently of each other, shares of many people as the normal
distribution does. The errors of all rows and thresholds are drawn together, so that all limits hold
at once.

Losses are skewed, and normal limits miss too often, so that theirs are of the bootstrap-t. People
are drawn anew within each cell, and the error of each row of a constraint is measured in units of
the standard error of the same draw. These quotients tell how far the rows may be from the truth, to
either side on its own; they too are drawn for all rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.estimators.regression.groups import reached_at_any_threshold
from equipoise.game.lagrangian import Lagrangian
from equipoise.metrics.intervals import N_NORMAL, check_level, normal_deviations
from equipoise.metrics.summaries import FEW
from equipoise.metrics.verdict import Verdict, verdict_on, worst_verdict
from equipoise.oracles.cell_probabilities import Rows

#: Thresholds at which errors are drawn, quantiles of the predictions; and of all cells together.
_THRESHOLDS, _NUMBERS = 101, 4000
#: People whose values at all thresholds are looked at together.
_BLOCK = 4096
#: Draws, and the most units that are drawn of a cell; of more people, as many batches by lot.
_DRAWS, _UNITS = 4000, 500
#: A limit that is above its bound by less, as a share of the value, is not above it.
_ROUNDING = 1e-12


class RowLimits(NamedTuple):
    """What each row of a constraint reaches, at any threshold, with limits for all rows at once.

    Of cells with fewer than 30 people nothing is known: their shares may be anything from 0 to 1,
    their losses of any size. Limits are NaN where none were asked for.
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
    def verdict(self) -> Verdict | None:
        """The verdict on all rows, whatever their unit; None without limits."""
        if np.isnan(self.low).any():
            return None
        unit = np.maximum(np.abs(self.reached), 1e-300)
        ends = np.array([self.reached, self.low, self.high]) - self.bound
        ends = ends / unit - [[0.0], [_ROUNDING], [0.0]]
        people = FEW  # of fewer there are no limits
        return worst_verdict(verdict_on(excess, people) for excess in ends.T.tolist())


def parity_limits(
    game: Lagrangian,
    cells: ThresholdCells,
    predicted: Sequence[Array],
    weights: Array,
    level: float | None,
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

    spreads = _spreads(cells, shares, FEW)
    unknown = np.abs(rows[:, :-1]) @ np.where([s is None for s in spreads], cells.mass, 0.0)
    return _limits(rows[:, :-1], reached, rows[:, -1], spreads, unknown, level)


def loss_limits(
    game: Lagrangian, cells: ThresholdCells, lost: Array, bound: Array, level: float | None
) -> RowLimits:
    """Return the limits of the losses of groups, from the loss (n,) of each person."""
    slopes = np.asarray(game.gamma_slope)[:, :: cells.n_columns]
    by_cell = np.bincount(cells.code, cells.row_weights() * lost, minlength=cells.n_cells)
    reached: Array = slopes @ by_cell
    if level is None:
        return _without_limits(reached, bound)
    check_level(level)
    known = mean_losses(cells, lost, FEW)
    below, above = studentised(slopes * cells.mass, known, level)
    unknown = np.where((slopes != 0)[:, [each is None for each in known]].any(axis=1), np.inf, 0.0)
    return RowLimits(reached, bound, reached + below - unknown, reached + above + unknown)


def _by_cell(cells: ThresholdCells) -> Iterator[Rows]:
    """Yield the rows of each cell that have a weight."""
    weight = cells.row_weights()
    for cell in range(cells.n_cells):
        yield np.flatnonzero((cells.code == cell) & (weight > 0))


def _spreads(
    cells: ThresholdCells, values: Callable[[Rows], Array], least: int
) -> list[Array | None]:
    """Return for each cell the covariance of sums over it of the values (rows, T) of its people.

    None for cells of fewer people than ``least``.
    """
    weight, found = cells.row_weights(), list[Array | None]()
    for people in _by_cell(cells):
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


class MeanLoss(NamedTuple):
    """The mean loss of a cell and its squared standard error, and both of each draw."""

    mean: float
    square: float
    means: Array
    squares: Array


def mean_losses(cells: ThresholdCells, lost: Array, least: int) -> list[MeanLoss | None]:
    """Return the mean of the losses (n,) in each cell; None for cells of fewer than ``least``."""
    rng = np.random.default_rng(0)  # fixed: limits must not differ between calls
    weight, found = cells.row_weights(), list[MeanLoss | None]()
    for people in _by_cell(cells):
        if len(people) < max(least, 2):
            found.append(None)
            continue
        unit, own = rng.permutation(len(people)) % _UNITS, weight[people]
        heavy = np.bincount(unit, own).astype(float)
        found.append(_drawn(heavy, np.bincount(unit, own * lost[people]).astype(float), rng))
    return found


def _drawn(heavy: Array, lost: Array, rng: np.random.Generator) -> MeanLoss:
    """Return the mean of units of these weights and weighted losses, and draws of it."""
    n = len(heavy)
    each = np.column_stack([heavy, lost, heavy**2, heavy * lost, lost**2])

    def mean_and_square(sums: Array) -> tuple[Array, Array]:
        weight, total, ww, wl, ll = sums.T
        mean = total / weight
        off = np.maximum(ll - 2 * mean * wl + mean**2 * ww, 0.0)
        return mean, n / (n - 1) * off / weight**2

    mean, square = mean_and_square(each.sum(axis=0))
    chosen = rng.integers(0, n, (_DRAWS, n)) + n * np.arange(_DRAWS)[:, None]
    times = np.bincount(chosen.ravel(), minlength=_DRAWS * n).reshape(_DRAWS, n)
    drawn = times.astype(float) @ each
    return MeanLoss(float(mean), float(square), *mean_and_square(drawn))


def studentised(parts: Array, known: list[MeanLoss | None], level: float) -> tuple[Array, Array]:
    """Return how far limits are from rows that sum up mean losses weighted by ``parts`` (R, C).

    The first is at most 0, for the lower limits. Cells that nothing is known of are left out.
    """
    some = [(cell, each) for cell, each in enumerate(known) if each is not None]
    if not some:
        return np.zeros(len(parts)), np.zeros(len(parts))
    used, each = parts[:, [cell for cell, _ in some]], [loss for _, loss in some]
    value = (used @ np.array([loss.mean for loss in each]))[:, None]
    off = used @ np.array([loss.means for loss in each]) - value
    error = np.sqrt(used**2 @ np.array([loss.square for loss in each]))
    errors = np.sqrt(used**2 @ np.array([loss.squares for loss in each]))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(np.abs(off) > 1e-12 * np.abs(value), off / errors, 0.0)
    places = (rankdata(t, axis=1) - 0.5) / t.shape[1]
    inside = float(np.quantile(np.abs(2 * places - 1).max(axis=0, initial=0.0), level))
    low, high = np.quantile(t, [0.5 - inside / 2, 0.5 + inside / 2], axis=1, method="nearest")
    return np.minimum(-high * error, 0.0), np.maximum(-low * error, 0.0)
