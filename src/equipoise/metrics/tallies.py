"""Tallies: decisions on some data, added up by cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.cells.codes import add_up
from equipoise.cells.layered import AnyCells
from equipoise.cells.table import Array, Cells, CellTable
from equipoise.metrics.uncertainty import Squares


class Tally(NamedTuple):
    """Decisions on some data, added up by cell: nothing of the size of the data, nobody's row.

    Attributes
    ----------
    cells : CellTable
    s : array of shape (C,)
        The selected shares.
    squares : three arrays of shape (C,), or None
        Sums over cells of w^2, w^2 h and w^2 h^2, where the weights w sum to one. None where people
        count in more than one way (`equipoise.cells.layered`): then there are no intervals.
    """

    cells: CellTable
    s: Array
    squares: Squares | None

    @classmethod
    def of_people(cls, cells: AnyCells, h: Array) -> Tally:
        """Add up decisions, or the probabilities of them, person by person."""
        table, s = cells.table(), cells.sum(h)
        if not isinstance(cells, Cells):
            return cls(table, s, None)
        square = np.full(len(h), len(h) ** -2.0)
        if cells.weight is not None:
            square = np.square(cells.weight / cells.total_weight)
        each = (square * h, square * h**2)
        w2h, w2hh = (add_up(cells.code, cells.n_cells, values) for values in each)
        return cls(table, s, (table.square, w2h, w2hh))

    @classmethod
    def of_shares(cls, table: CellTable, s: Array) -> Tally:
        """Make a tally from selected shares alone, as a pool of classifiers knows them.

        Decisions count as drawn, which makes intervals of a mixture a little wider, and weights
        as unrelated to decisions within a cell.
        """
        if not table.is_plain:
            return cls(table, s, None)
        drawn = table.square * np.clip(s / np.maximum(table.mass, 1e-300), 0.0, 1.0)
        return cls(table, s, (table.square, drawn, drawn))
