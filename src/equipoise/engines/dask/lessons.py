"""Lessons: what a learner is to learn, as tables over cells that every worker looks up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.rows import Array
from equipoise.cells.table import CellCounts
from equipoise.engines.dask.shard import Shard


@dataclass(frozen=True, eq=False)
class Lesson:
    """A weighted classification problem: the label and the weight of each cell.

    Parameters
    ----------
    label : array of shape (C,)
        0 or 1.
    weight : array of shape (C,)
        To be multiplied by a row's own.
    n_folds, left_out : int
        Rows of the fold ``left_out`` of ``n_folds`` weigh nothing; -1 leaves none out.
    """

    label: NDArray[np.int64]
    weight: Array
    n_folds: int = 1
    left_out: int = -1

    @classmethod
    def of_costs(
        cls, costs: Array, cells: CellCounts, n_folds: int = 1, left_out: int = -1
    ) -> Lesson:
        """Return the lesson whose weighted error is the cost: section 3.1 of the paper."""
        scaled = cells.scaled(costs)
        return cls((scaled < 0).astype(np.int64), np.abs(scaled), n_folds, left_out)

    def labels(self, cells: CellCounts) -> set[int]:
        """Return the labels that somebody has."""
        return set(self.label[(self.weight > 0) & (cells.mass > 0)].tolist())

    def rows(self, shard: Shard) -> tuple[NDArray[np.int64], Array]:
        """Return the label and the weight of each row of a shard."""
        label, weight = shard.spread(self.label), shard.spread(self.weight)
        if shard.weight is not None:
            weight = weight * shard.weight
        if self.left_out >= 0:
            weight = np.where(shard.folds(self.n_folds) == self.left_out, 0.0, weight)
        return label, weight
