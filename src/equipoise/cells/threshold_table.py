"""Cells of a regression: the loss in each cell, and how much of it lies at or above thresholds.

For a predictor ``f`` and thresholds z_1 < ... < z_N, s(f) is a table of C rows and 1 + N columns,
row after row ::

    s_c(f) = [ sum over rows i in cell c of w_i loss(f(x_i) - y_i),
               share of the total weight that is in cell c with f(x) >= z_k, for every k ]

Cells are groups (and strata): the target is no part of them, since the loss has its own
column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.codes import add_up
from equipoise.cells.groups import Mask
from equipoise.cells.labels import Array
from equipoise.cells.rows import Cells
from equipoise.cells.table import CellTable

#: From differences f(x) - y to losses >= 0, entry by entry.
LossFunction = Callable[[Array], Array]


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdTable(CellTable):
    """Cells that are groups, of which the loss and the shares above thresholds are known.

    Parameters
    ----------
    thresholds : array of shape (N,)
        In rising order, all different.
    scale : float
        What losses are divided by, so that the game's numbers are of the size of shares.
    """

    thresholds: Array
    scale: float

    def table(self) -> ThresholdTable:
        """Return the table of cells alone: nothing that has the size of the data."""
        return self.as_kind(ThresholdTable)

    @property
    def n_columns(self) -> int:
        """1 + N: the loss, and a share for each threshold."""
        return 1 + len(self.thresholds)

    def by_column(self, table: Array) -> Array:
        """Return s(f), costs or slopes as a table of C rows and 1 + N columns."""
        return np.reshape(table, (self.n_cells, self.n_columns))

    def rates(self, s: Array) -> Array:
        """Return mean loss and shares at or above each threshold, in each cell that has weight."""
        used = self.mass > 0
        return self.by_column(s)[used] / self.mass[used, None]

    def shares(self, s: Array) -> Array:
        """Return the mean loss, and the share of all people at or above each threshold."""
        return self.by_column(s).sum(axis=0)

    def limits(self) -> tuple[Array, Array]:
        """Return the least and the largest s(f), entry by entry; a loss may be of any size."""
        most = np.tile(self.mass[:, None], self.n_columns)
        most[:, 0] = np.inf
        return np.zeros(most.size), most.ravel()

    def average(self, event: Mask, g: Array | str) -> tuple[float, Array]:
        """Return the mean over an event of the columns weighted by ``g``, of shape (1 + N,)."""
        slope = np.outer(event / self.mass[event].sum(), np.asarray(g, dtype=float))
        return 0.0, slope.ravel()

    def total(self, g: Array | str) -> tuple[float, Array]:
        """Return the mean over everybody of the columns weighted by ``g``."""
        return self.average(np.ones(self.n_cells, dtype=bool), g)

    def column(self, number: int) -> Array:
        """Return ``g`` for one column: 0 is the loss, k the share at or above threshold k."""
        return (np.arange(self.n_columns) == number).astype(float)


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdCells(ThresholdTable, Cells):
    """Rows with a number each as their target, sorted into cells that are groups.

    Parameters
    ----------
    target : array of shape (n,)
        y.
    loss : callable
        Of the difference f(x) - y.
    thresholds, scale
        See `ThresholdTable`.

    Examples
    --------
    >>> cells = Cells.from_columns([0, 0, 0, 0], {"sex": ["F", "F", "M", "M"]})
    >>> table = cells.as_kind(ThresholdCells, target=np.array([0.0, 1.0, 1.0, 3.0]),
    ...                       thresholds=np.array([1.0, 2.0]), loss=np.square, scale=1.0)
    >>> table.by_column(table.sum([0.0, 1.0, 2.0, 3.0])).tolist()
    [[0.0, 0.25, 0.0], [0.25, 0.5, 0.5]]
    """

    target: Array
    loss: LossFunction

    def sum(self, h: ArrayLike) -> Array:
        """Return s(f) of predictions, one for each row."""
        f, n_cells, N = np.asarray(h, dtype=float), self.n_cells, len(self.thresholds)
        if f.shape != self.target.shape:
            raise ValueError(
                f"got predictions of shape {f.shape} for {len(self.target)} examples; expected "
                "one number for each example."
            )
        weight = self.row_weights()
        lost = add_up(self.code, n_cells, weight * self.loss(f - self.target)) / self.scale
        interval = np.searchsorted(self.thresholds, f, side="right")
        within = np.bincount(
            self.code.astype(np.intp) * (N + 1) + interval, weight, minlength=n_cells * (N + 1)
        ).reshape(n_cells, N + 1)
        above = within[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        return np.column_stack([lost, above]).ravel()
