"""Cells of rows in memory: where the reduction meets the n rows, in `sum` and `spread` only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.codes import add_up, count_selected, look_up
from equipoise.cells.table import Array as Array
from equipoise.cells.table import CellTable, WeightedLabels, number_cells
from equipoise.cells.table import Mask as Mask


class LabelCache:
    """The labels of the rows for the last signs of the costs.

    Most costs of a fit differ from the ones before in size and not in sign, and then the labels are
    the same: 8 bytes a row that need not be written again. The cache travels empty to other
    processes.
    """

    def __init__(self) -> None:
        self._labels: dict[bytes, NDArray[np.int64]] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"_labels": {}}

    def spread(self, cells: Cells, label: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the label of each row. It is not to be written to: it may be returned again."""
        key = label.tobytes()
        found = self._labels.get(key)
        if found is None:
            self._labels.clear()  # before the new ones take their memory
            found = self._labels[key] = cells.spread(label)
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(CellTable):
    """The rows, sorted into cells: a `CellTable` with the cell and the weight of each row.

    Parameters
    ----------
    label, sensitive, control, mass, count, square, total_weight
        See `CellTable`.
    code : array of shape (n,)
        The cell of each row.
    weight : array of shape (n,), or None
        Weight of each row; None means that all weigh the same.

    Examples
    --------
    >>> cells = Cells.from_columns([0, 1, 1, 1], {"sex": ["F", "F", "M", "M"]})
    >>> cells.n_cells, cells.mass.tolist()
    (3, [0.25, 0.25, 0.5])
    >>> cells.sum([0, 1, 1, 0]).tolist()  # how much of the weight is selected, cell by cell
    [0.0, 0.25, 0.25]
    >>> cells.spread([10.0, 20.0, 30.0]).tolist()
    [10.0, 20.0, 30.0, 30.0]
    """

    code: NDArray[np.integer]
    weight: Array | None

    @staticmethod
    def from_columns(
        label: ArrayLike,
        sensitive: Mapping[str, ArrayLike],
        control: Mapping[str, ArrayLike] | None = None,
        weight: ArrayLike | None = None,
    ) -> Cells:
        """Number the combinations of label, sensitive and control values that occur."""
        code, names = number_cells(label, sensitive, control or {})
        n_cells = len(names["label"])
        own = None if weight is None else np.asarray(weight, dtype=float)
        mass = square = count = add_up(code, n_cells)
        if own is not None:
            mass, square = add_up(code, n_cells, own), add_up(code, n_cells, np.square(own))
        total = float(len(code) if own is None else own.sum())
        return Cells(
            **names,
            mass=mass / mass.sum(),
            count=count.astype(np.int64),
            square=square / total**2,
            total_weight=total,
            code=code,
            weight=own,
        )

    def sum(self, h: ArrayLike) -> Array:
        """Return s(h), the share of the total weight that ``h`` selects in each cell: (C,)."""
        h = np.asarray(h)
        if h.shape != self.code.shape:
            raise ValueError(
                f"got predictions of shape {h.shape} for {len(self.code)} examples; expected one "
                "for each example."
            )
        if self.weight is not None:
            return add_up(self.code, self.n_cells, self.weight * h) / self.total_weight
        total = count_selected if h.dtype == bool else add_up
        return total(self.code, self.n_cells, h) / len(h)

    def spread(self, table: ArrayLike) -> NDArray:
        """Return the entry of its cell for every row: the adjoint of `sum`."""
        table = np.asarray(table)
        if len(table) != self.n_cells:
            raise ValueError(
                f"got a table of {len(table)} rows; expected one for each of {self.n_cells} cells."
            )
        return look_up(self.code, table)

    def signed_costs(self, costs: Array) -> Array:
        """Return what selecting each row adds to ``sum(h) @ costs``."""
        if self.weight is None:
            return self.spread(np.asarray(costs) / self.n_examples)
        return self.spread(costs) * (self.weight / self.total_weight)

    def row_weights(self) -> Array:
        """Return the share of the total weight that each row has."""
        return self.signed_costs(np.ones(self.n_cells))

    def relabel_rows(self, costs: Array, cache: LabelCache | None = None) -> WeightedLabels:
        """Return the label and the weight of each row for these costs: `relabel`, spread."""
        label, weight = self.relabel(costs)
        labels = self.spread(label) if cache is None else cache.spread(self, label)
        weights = self.spread(weight)
        if self.weight is not None:
            weights *= self.weight
        return WeightedLabels(labels, weights)

    def row_arrays(self) -> Iterator[NDArray]:
        """Yield what is held of each row."""
        yield self.code
        if self.weight is not None:
            yield self.weight
