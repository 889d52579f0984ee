"""Rows, sorted into cells: the two places where the n rows of the data are met."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.codes import (
    CodeBits,
    Counts,
    add_up,
    add_up_decisions,
    count_pairs,
    look_up,
    number_cells,
)
from equipoise.cells.labels import (
    Array,
    LabelCache,
    SoftLabels,
    WeightedLabels,
    savings,
    soft_labels,
)
from equipoise.cells.table import CellTable


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(CellTable):
    """The rows, sorted into cells: a `CellTable` with the cell and the weight of each row.

    Parameters
    ----------
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
        decisions: Sequence[Hashable] = (0, 1),
    ) -> Cells:
        """Number the combinations of label, sensitive and control values that occur.

        Labels are 0 to V - 1, numbers of ``decisions``.
        """
        code, names = number_cells(label, sensitive, control or {}, len(decisions))
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
            decisions=tuple(decisions),
            code=code,
            weight=own,
        )

    def plain_rows(self) -> Cells:
        """Return these cells with their rows: here they are."""
        return self

    def sum(self, h: ArrayLike) -> Array:
        """Return s(h), the share of the total weight that gets each decision in each cell.

        Parameters
        ----------
        h : array of shape (n,) or (n, V)
            The decisions 0 to V - 1, or the probability of each. Of two decisions, both are the
            probability of decision 1.
        """
        h = np.asarray(h)
        if h.shape[:1] != self.code.shape or h.ndim > min(len(self.decisions) - 1, 2):
            raise ValueError(
                f"got predictions of shape {h.shape} for {len(self.code)} examples; expected one "
                "for each example."
            )
        return self.sums([h])[0]

    def sums(self, answers: Sequence[NDArray]) -> Array:
        """Return s(h) of several classifiers, (P, C (V - 1)), from their decisions."""
        shape, counts = (len(self.mass), len(self.decisions)), self.weight is None
        each = [
            self._bits.count(h)
            if counts and h.dtype == bool and CodeBits.suits(shape[0])
            else add_up_decisions(self.code, shape, h, self.weight)
            for h in answers
        ]
        return np.array(each) / self.total_weight

    def count_rows(self, key: NDArray[np.integer], size: int) -> tuple[Array, Counts]:
        """Return the weight of the rows of each key, and how many are in each cell, (size, C).

        The number counts rows, whatever they weigh.
        """
        weight = add_up(key, size, self.row_weights())
        return weight, count_pairs(key, self.code, (size, len(self.mass)))

    def row_weights(self) -> Array:
        """Return the share of the total weight that each row has."""
        if self.weight is None:
            return np.broadcast_to(1.0 / len(self.code), len(self.code))
        return self.weight / self.total_weight

    def spread(self, table: ArrayLike) -> NDArray:
        """Return the entry of its cell for every row: the adjoint of `sum`."""
        table = np.asarray(table)
        if len(table) != (C := self.n_cells):
            raise ValueError(
                f"got a table of {len(table)} rows; expected one for each of {C} cells."
            )
        return look_up(self.code, table)

    def signed_costs(self, costs: Array) -> Array:
        """Return the cost of predicting 1 rather than 0 for each row: the adjoint of `sum`."""
        return self.spread(costs) * self.row_weights()

    @cached_property
    def _bits(self) -> CodeBits:
        return CodeBits(self.code, self.n_cells)

    @cached_property
    def _labels(self) -> LabelCache:
        return LabelCache()

    def relabel_rows(self, costs: Array) -> WeightedLabels | SoftLabels:
        """Return the labels and weights of the rows for these costs; see `CellTable.relabel`."""
        if self.n_decisions > 2:
            saved = savings(self.by_decision(costs), self.mass)
            return soft_labels(self.code, saved, self.weight)
        label, weight = self.relabel(costs)
        labels = self._labels.get(key := label.tobytes())
        if labels is None:
            self._labels.clear()  # before the new ones take their memory
            labels = self._labels[key] = look_up(self.code, label)
        weights = look_up(self.code, weight)
        if self.weight is not None:
            weights *= self.weight
        return WeightedLabels(labels, weights)

    def row_arrays(self) -> Iterator[NDArray]:
        """Yield the arrays of n entries."""
        yield self.code
        if self.weight is not None:
            yield self.weight
