"""Cells of people who are elsewhere: the table alone, with what its rows add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.codes import add_up
from equipoise.cells.rows import Array, Cells


@dataclass(frozen=True, eq=False)
class CellCounts(Cells):
    """The cells of rows that some engine holds, on disk or on other machines.

    Everything that has the size of the table is here, and nothing that has the size of the data.

    Parameters
    ----------
    square : array of shape (C,)
        Sum of squared weights in each cell, where all weights sum to one.
    total_weight : float
        What all rows weigh together; their number where all weigh the same.
    """

    square: Array
    total_weight: float

    @classmethod
    def from_sums(
        cls,
        label: ArrayLike,
        sensitive: Mapping[str, ArrayLike],
        control: Mapping[str, ArrayLike],
        count: Array,
        weight: Array,
        square: Array,
    ) -> tuple[CellCounts, NDArray[np.integer]]:
        """Make the cells of combinations that were counted; also tell the cell of each of these.

        The same combination may come several times, from several parts of the data.

        Parameters
        ----------
        label, sensitive, control
            As for `Cells.from_columns`, one entry for each combination.
        count, weight, square : array
            Rows of a combination, the sum of their weights, and that of the squared weights.

        Examples
        --------
        >>> ones = np.ones(3)
        >>> cells, code = CellCounts.from_sums(
        ...     [0, 1, 0], {"sex": ["F", "M", "F"]}, {}, np.array([5.0, 2.0, 3.0]), 2 * ones, ones)
        >>> cells.count.tolist(), code.tolist(), cells.mass.round(2).tolist()
        ([8, 2], [0, 1, 0], [0.67, 0.33])
        """
        table = Cells.from_columns(label, sensitive, control)
        total = float(weight.sum())
        counts, mass, squares = (
            add_up(table.code, table.n_cells, values) for values in (count, weight, square)
        )
        cells = cls(
            code=table.code[:0].copy(),
            weight=None,
            label=table.label,
            sensitive=table.sensitive,
            control=table.control,
            mass=mass / total,
            count=counts.round().astype(np.int64),
            square=squares / total**2,
            total_weight=total,
        )
        return cells, table.code

    @property
    def n_examples(self) -> int:
        """n, the number of examples."""
        return int(self.count.sum())

    @property
    def n_effective(self) -> float:
        """Kish's effective sample size."""
        return float(1.0 / self.square.sum())

    def without_rows(self) -> CellCounts:
        """Return the same: there are no rows here."""
        return replace(self)

    def scaled(self, costs: Array) -> Array:
        """Return the costs divided so that weights |d| w are one on average, as in `relabel`."""
        mean = self.mass @ np.abs(costs) * self.total_weight / self.n_examples
        return costs / (mean if mean > 0 else 1.0)
