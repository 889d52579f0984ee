"""Conditions: events and utilities, read into masks and tables over cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array, CellTable, Mask

#: What a moment averages: a table g(label, prediction), a function (sensitive values, label,
#: prediction) -> number, or the name of a utility given row by row.
Utility = ArrayLike | Callable[[dict, int, int], float] | str
#: Whom it is averaged over: conditions on columns and "label", a function of these, or everybody.
Condition = Mapping[str, Any] | Callable[[dict], bool] | None


class Event(NamedTuple):
    """A condition on the control features and the label; without either, everybody.

    Attributes
    ----------
    stratum : str or None
        The name of the stratum of the control features.
    label : 0, 1 or None

    Examples
    --------
    >>> str(Event("old", 1)), Event("old", 1).names
    (' within old given label 1', ('old, label=1', 'old', 'label=1'))
    """

    stratum: str | None = None
    label: int | None = None

    def __str__(self) -> str:
        within = "" if self.stratum is None else f" within {self.stratum}"
        return within + ("" if self.label is None else f" given label {self.label}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a mapping of bounds may mean this event, the most specific first."""
        parts = [] if self.stratum is None else [self.stratum]
        parts += [] if self.label is None else [f"label={self.label}"]
        return tuple(dict.fromkeys((", ".join(parts), *parts))) if parts else ()


def event_mask(condition: Condition, cells: CellTable, known: CellTable | None = None) -> Mask:
    """Return the cells that meet a condition; see `Constraint.from_moments`.

    Values that only the people of the fit have, whose table is ``known``, may be named as well.
    """
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
        if known is not None:
            fitted = {"label": known.label, **known.control, **known.sensitive}
            present |= set(fitted[name].tolist()) if name in fitted else set()
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

    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1], {"sex": ["F", "M"]})
    >>> tabulate(lambda a, y, h: h if a["sex"] == "F" else 0.5, cells).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    cell_values = [
        ({k: v[cell] for k, v in cells.sensitive.items()}, int(cells.label[cell]))
        for cell in range(cells.n_cells)
    ]
    return np.array([[g(a, y, h) for h in (0, 1)] for a, y in cell_values], dtype=float)
