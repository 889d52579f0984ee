"""Limits of mean losses by the bootstrap-t: losses are skewed, and normal limits miss too often.

People are drawn anew within each cell, and the error of each row of a constraint is measured in
units of the standard error of the same draw. These quotients tell how far the rows may be from the
truth, to either side on its own; they are drawn for all rows together, so that all limits hold at
once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import ThresholdCells

#: Draws, and the most units that are drawn of a cell; of more people, as many batches by lot.
_DRAWS, _UNITS = 4000, 500


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
    for cell in range(cells.n_cells):
        people = np.flatnonzero((cells.code == cell) & (weight > 0))
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
