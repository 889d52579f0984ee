"""Moments: the arrays g, events, M and c of equation (1), over a table of cells.

What an event or a utility may be is read here too: a few words become a mask, or a table, over
cells.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.table import Array, CellTable, Mask

#: What a moment averages: a table g(label, prediction), a function (sensitive values, label,
#: prediction) -> number, or the name of a utility given row by row.
Utility = ArrayLike | Callable[[dict, int, int], float] | str
#: Whom it is averaged over: conditions on columns and "label", a function of these, or everybody.
Condition = Mapping[str, Any] | Callable[[dict], bool] | None


class Row(NamedTuple):
    """One inequality of a constraint, in words.

    ``group`` is the group that it is about, ``against`` the group it is compared with, if any.
    """

    constraint: str
    group: Hashable
    text: str
    against: Hashable = None

    def __str__(self) -> str:
        return f"{self.constraint}: {self.text}" if self.constraint else self.text


@dataclass(frozen=True, eq=False)
class Moments:
    """Equation (1) over cells: M mu(h) <= c, with mu(h) = offset + U s(h).

    Attributes
    ----------
    rows : tuple of Row
        The K inequalities, in words.
    M : array of shape (K, J)
    offset : array of shape (J,)
        The moments of the classifier that predicts 0 for everybody.
    U : array of shape (J, C)
        How a moment grows with the selected share s_c(h) of each cell.
    c : array of shape (K,)
    event_count : array of shape (J,)
        n_j, the number of examples in each event.
    elastic : mask of shape (K,), or None
        Rows without a bound of their own: the largest of them is what is minimised.
    """

    rows: tuple[Row, ...]
    M: Array
    offset: Array
    U: Array
    c: Array
    event_count: NDArray
    elastic: Mask | None = None

    def mu(self, s: Array) -> Array:
        """Return the conditional moments of a classifier with selected shares ``s``."""
        return self.offset + s @ self.U.T


class Builder:
    """Collects events and rows over a table of cells, then turns them into `Moments`."""

    def __init__(self, cells: CellTable) -> None:
        self.cells = cells
        self._events: dict[tuple[bytes, bytes], int] = {}
        self._moments: list[tuple[float, Array, float]] = []
        self._rows: list[tuple[Row, dict[int, float], float, bool]] = []

    def moment(self, event: Mask, g: Array | str) -> int:
        """Return the number of the moment E[g | event]; see `Cells.average` for ``g``."""
        key = (event.tobytes(), g.encode() if isinstance(g, str) else g.tobytes())
        if key not in self._events:
            count = self.cells.count[event].sum()
            self._events[key] = len(self._moments)
            self._moments.append((*self.cells.average(event, g), count))
        return self._events[key]

    def row(
        self, row: Row, coefficients: Mapping[int, float], bound: float, *, elastic: bool = False
    ) -> None:
        """Add the inequality sum of coefficient x moment <= bound."""
        self._rows.append((row, dict(coefficients), bound, elastic))

    def build(self) -> Moments:
        """Return what was collected, as arrays."""
        M = np.zeros((len(self._rows), len(self._moments)))
        for k, (_, coefficients, _, _) in enumerate(self._rows):
            for j, value in coefficients.items():
                M[k, j] += value
        offset, U, count = zip(*self._moments, strict=True) if self._moments else ((), (), ())
        size = len(U[0]) if U else len(self.cells.limits()[0])
        elastic = np.array([row[3] for row in self._rows], dtype=bool)
        return Moments(
            rows=tuple(row[0] for row in self._rows),
            M=M,
            offset=np.array(offset, dtype=float),
            U=np.reshape(np.array(U, dtype=float), (len(U), size)),
            c=np.array([row[2] for row in self._rows], dtype=float),
            event_count=np.array(count),
            elastic=elastic if elastic.any() else None,
        )


def event_mask(condition: Condition, cells: CellTable) -> Mask:
    """Return the cells that meet a condition; see `Constraint.from_moments`."""
    columns = {"label": cells.label, **cells.control, **cells.sensitive}
    if condition is None:
        return np.ones(cells.n_cells, dtype=bool)
    if callable(condition):
        values = ({k: v[cell] for k, v in columns.items()} for cell in range(cells.n_cells))
        return np.array([bool(condition(v)) for v in values])
    mask = np.ones(cells.n_cells, dtype=bool)
    for name, wanted in condition.items():
        if name not in columns:
            raise ValueError(
                f"no column is called {name!r}; there are {', '.join(map(repr, columns))}."
            )
        wanted = wanted if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
        present = set(columns[name].tolist())
        if strange := [value for value in wanted if value not in present]:
            shown = ", ".join(map(repr, sorted(present, key=str)))
            raise ValueError(f"{name!r} is never {strange[0]!r}; its values are {shown}.")
        mask &= np.array([value in wanted for value in columns[name].tolist()])
    return mask


def utility_table(g: Utility, cells: CellTable) -> Array | str:
    """Return g in every cell for prediction 0 and 1, shape (C, 2); names are left as they are."""
    if isinstance(g, str):
        return g
    if callable(g):
        table = tabulate(g, cells)
    else:
        by_label = np.asarray(g, dtype=float)
        if by_label.shape != (2, 2):
            raise ValueError(
                f"utility g has shape {by_label.shape}; expected a 2 x 2 table g(label, "
                "prediction), a function (sensitive, label, prediction) -> [0, 1], or a name."
            )
        table = by_label[cells.label]
    if not np.all((table >= 0) & (table <= 1)):
        raise ValueError(
            f"utility g has values from {table.min()} to {table.max()}; expected numbers in "
            "[0, 1]. Shift and scale it."
        )
    return table


def tabulate(g: Callable[[dict, int, int], float], cells: CellTable) -> Array:
    """Return g(sensitive values, label, prediction) in every cell, shape (C, 2).

    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1], {"sex": ["F", "M"]})
    >>> tabulate(lambda a, y, h: h if a["sex"] == "F" else 0.5, cells).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    cell_values = [
        ({k: v[cell] for k, v in cells.sensitive.items()}, int(cells.label[cell]))
        for cell in range(cells.n_cells)
    ]
    return np.array([[g(a, y, h) for h in (0, 1)] for a, y in cell_values], dtype=float)
