"""The rows of a constraint over some cells, with what each moment averages and over whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.base import Constraint
from equipoise.constraints.moments import Moments, MomentsBuilder


@dataclass(frozen=True, eq=False)
class RowTables:
    """The inequalities M mu(h) <= c over the cells of some people, as tables.

    Attributes
    ----------
    moments : Moments
    cells : CellTable
    event : array of shape (J, C)
        Zeros and ones.
    g : array of shape (J, C, V)
        What is averaged, under each decision.
    """

    moments: Moments
    cells: CellTable
    event: Array
    g: Array

    @classmethod
    def compiled(
        cls, constraint: Constraint, cells: CellTable, known: CellTable | None = None
    ) -> Self:
        """Return the rows of a constraint; ``known`` are the cells of the fit, if others.

        Raises
        ------
        ValueError
            Where something is averaged that is given person by person.
        """
        builder = MomentsBuilder(cells, known)
        constraint.add_rows(builder)
        for _, g in builder.averaged:
            if isinstance(g, str):
                raise ValueError(
                    f"the constraint is on the utility {g!r}, given person by person; proofs and "
                    "monitors take constraints on labels and decisions."
                )
        event = np.array([mask for mask, _ in builder.averaged], dtype=float)
        g = np.array([table for _, table in builder.averaged], dtype=float)
        C, V = cells.n_cells, cells.n_decisions
        return cls(builder.build(), cells, event.reshape(-1, C), g.reshape(-1, C, V))

    @cached_property
    def M(self) -> Array:
        """The coefficient of each moment in each row: shape (K, J)."""
        return self.moments.M.toarray()
