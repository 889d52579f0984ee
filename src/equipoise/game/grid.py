"""Grids of multipliers (section 3.4), and the rounds that try them.

The multipliers act on the learner only through delta = lambda . M U, the adjustment of the cost of
predicting 1 in each cell. For demographic parity these adjustments satisfy
``sum over a of p_a delta_a = 0``, for equalized odds the same within each label, so the grid walks
the free ones and the others follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.optimize import lsq_linear, nnls

from equipoise.cells.table import Array
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture
from equipoise.game.rounds import Oracle, Pool, Round


def grid_rounds(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, lams: Array, *, batch: int = 1
) -> Iterator[list[Round]]:
    """Query the multipliers of a grid (m, K), ``batch`` at a time; yield all candidates so far."""
    found: list[Round] = []
    for start in range(0, len(lams), batch):
        some = lams[start : start + batch]
        for lam, h in zip(some, pool.ask(oracle, *map(lagrangian.costs, some)), strict=True):
            alone = Mixture.of_weights(np.eye(len(pool))[h], lam)
            found.append(Round.of_mixture(lagrangian, pool, alone, len(found) + 1, [lam]))
        yield list(found)


def delta_grid(lagrangian: Lagrangian, size: int, limit: float) -> Array:
    """Return multipliers for a symmetric lattice of adjustments around zero, shape (m, K).

    About ``size`` points in all; each free adjustment runs over the same odd number of values, and
    the largest adjustment of a cell along one axis is ``limit``.
    """
    slope = np.asarray(lagrangian.gamma_slope)
    axes = free_adjustments(slope)
    if not len(axes):
        return np.zeros((1, lagrangian.n_constraints))
    axes *= limit / np.abs(axes).max(axis=1, keepdims=True)
    steps = max(round((size ** (1 / len(axes)) - 1) / 2), 1)
    ticks = np.arange(-steps, steps + 1) / steps
    if len(ticks) ** len(axes) > 10 * max(size, 100):
        raise ValueError(
            f"a grid in {len(axes)} dimensions needs at least {len(ticks) ** len(axes)} fits. Use "
            "FairClassifier, or GridSearch(grid='saddle_point')."
        )
    deltas = [np.array(point) @ axes for point in product(ticks, repeat=len(axes))]
    return np.array([_multipliers(slope, delta) for delta in deltas])


def _multipliers(gamma_slope: Array, delta: Array) -> Array:
    """Return multipliers that adjust the costs by delta."""
    try:
        return nnls(gamma_slope.T, delta)[0]
    except (np.linalg.LinAlgError, RuntimeError):  # SciPy before 1.15, of dependent rows
        return lsq_linear(gamma_slope.T, delta, bounds=(0.0, np.inf), method="bvls").x


def free_adjustments(gamma_slope: Array) -> Array:
    """Return a basis of the adjustments lambda . gamma_slope, in reduced row echelon form.

    Each row has a free cell, where it is one and the other rows are zero. For demographic parity
    with two groups it is the printed delta_a' = -p_a delta_a / p_a'.

    >>> p = 0.25  # share of group a; one cell for each group
    >>> free_adjustments(np.array([[1 / p - 1, -1.0], [-1.0, 1 / (1 - p) - 1]])).round(3)
    array([[ 1.   , -0.333]])
    """
    rows = gamma_slope.copy()
    done = 0
    for cell in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, cell])))
        if abs(rows[pivot, cell]) <= 1e-9 * max(np.abs(gamma_slope).max(), 1e-300):
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, cell]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, cell], rows[done])
        done += 1
    return rows[:done]
