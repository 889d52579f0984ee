"""Moments: the arrays g, events, M and c of equation (1), over a table of cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from equipoise.cells.groups import Group
from equipoise.cells.table import Array, CellTable, Mask
from equipoise.cells.values import is_number
from equipoise.constraints.rows import Row, Rows
from equipoise.exceptions import EmptyCellWarning, EquipoiseWarning

#: What a moment averages: a table g(label, prediction), a function (sensitive values, label,
#: prediction) -> number, or the name of a utility given row by row.
Utility = ArrayLike | Callable[[dict, Any, Any], float] | str
#: Whom it is averaged over: conditions on columns and "label", a function of these, or everybody.
Condition = Mapping[str, Any] | Callable[[dict], bool] | None


def event_mask(condition: Condition, cells: CellTable, known: CellTable | None = None) -> Mask:
    """Return the cells that meet a condition; see `Constraint.from_moments`.

    Values that only the people learned from have, whose table is ``known``, may be named as well.
    """
    columns = {"label": label_names(cells), **cells.control, **cells.sensitive}
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
            fitted = {"label": label_names(known), **known.control, **known.sensitive}
            present |= set(fitted[name].tolist()) if name in fitted else set()
        if strange := [value for value in wanted if value not in present]:
            shown = ", ".join(map(repr, sorted(present, key=str)))
            raise ValueError(f"{name!r} is never {strange[0]!r}; its values are {shown}.")
        mask &= np.array([value in wanted for value in columns[name].tolist()])
    return mask


def label_names(cells: CellTable) -> NDArray:
    """Return the name of the label in each cell."""
    names = np.empty(cells.n_decisions, dtype=object)
    names[:] = cells.decisions
    return names[cells.label]


def utility_table(g: Utility, cells: CellTable) -> Array | str:
    """Return g in every cell for each decision, shape (C, V); names are left as they are."""
    if isinstance(g, str):
        return g
    if callable(g):
        table = tabulate(g, cells)
    else:
        by_label = np.asarray(g, dtype=float)
        V = cells.n_decisions
        if by_label.shape != (V, V):
            raise ValueError(
                f"utility g has shape {by_label.shape}; expected a {V} x {V} table g(label, "
                "prediction), a function (sensitive, label, prediction) -> [0, 1], or a name."
            )
        table = by_label[cells.label]
    if not np.all((table >= 0) & (table <= 1)):
        raise ValueError(
            f"utility g has values from {table.min()} to {table.max()}; expected numbers in "
            "[0, 1]. Shift and scale it."
        )
    return table


def tabulate(g: Callable[[dict, Any, Any], float], cells: CellTable) -> Array:
    """Return g(sensitive values, label, prediction) in every cell, shape (C, V).

    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1], {"sex": ["F", "M"]})
    >>> tabulate(lambda a, y, h: h if a["sex"] == "F" else 0.5, cells).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    cell_values = [
        ({k: v[cell] for k, v in cells.sensitive.items()}, cells.decisions[cells.label[cell]])
        for cell in range(cells.n_cells)
    ]
    return np.array([[g(a, y, h) for h in cells.decisions] for a, y in cell_values], dtype=float)


@dataclass(frozen=True, eq=False)
class Moments:
    """Equation (1) over cells: M mu(h) <= c, with mu(h) = offset + U s(h).

    Attributes
    ----------
    rows : sequence of Row
        The K inequalities, in words.
    M : sparse array of shape (K, J)
    offset : array of shape (J,)
        The moments of the classifier that predicts 0 for everybody.
    U : sparse array of shape (J, C (V - 1))
        How a moment grows with the entries of s(h).
    c : array of shape (K,)
    event_count : array of shape (J,)
        n_j, the number of examples in each event.
    elastic : mask of shape (K,), or None
        Rows without a bound of their own: the largest of them is what is minimised.
    follows_eps : mask of shape (K,)
        Rows whose bound is the ``eps`` of their constraint; see `with_bound`.
    """

    rows: Sequence[Row]
    M: csr_array
    offset: Array
    U: csr_array
    c: Array
    event_count: NDArray
    elastic: Mask | None
    follows_eps: Mask

    @property
    def people(self) -> Array:
        """How many people the rarest event of each row has, shape (K,)."""
        people = np.full(len(self.rows), np.inf)
        used = self.M.data != 0
        row = np.repeat(np.arange(len(self.rows)), np.diff(self.M.indptr))[used]
        np.minimum.at(people, row, self.event_count[self.M.indices[used]])
        return people

    def mu(self, s: Array) -> Array:
        """Return the conditional moments of a classifier with selected shares ``s``."""
        return self.offset + s @ self.U.T

    def with_bound(self, eps: float) -> Moments:
        """Return the moments of the same constraint with another ``eps``, one for all rows.

        Only c differs, so nothing is compiled again.

        Examples
        --------
        >>> from equipoise.constraints import DemographicParity
        >>> from equipoise.cells import Cells
        >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
        >>> moments = DemographicParity({"F": 0.1, "M": 0.2}).moments(cells)
        >>> moments.c.tolist(), moments.with_bound(0.05).c.tolist()
        ([0.1, 0.1, 0.2, 0.2], [0.05, 0.05, 0.05, 0.05])
        """
        if not self.follows_eps.all():
            fixed = self.rows[int(np.argmin(self.follows_eps))]
            raise TypeError(
                f"{str(fixed)!r} has no eps to trace a frontier over. Use FairClassifier, or a "
                "parity such as DemographicParity."
            )
        if not is_number(eps) or not np.isfinite(eps) or eps < 0:
            raise ValueError(f"eps is {eps!r}; expected a finite number >= 0.")
        bound = float(eps)
        return replace(self, rows=Rows(self.rows, bound), c=np.full(len(self.rows), bound))


@dataclass(eq=False, repr=False)
class MomentsBuilder:
    """Collects events and rows over a table of cells, then turns them into `Moments`.

    Attributes
    ----------
    cells : CellTable
    known : CellTable or None
        The table of the fit, where ``cells`` are other people, on whom its bounds are measured.
        What it names and these people lack is not measured, with a warning.
    averaged : list of (mask of shape (C,), array of shape (C, V) or str)
        The event of each moment and the utility g that is averaged over it.
    groups : dict
        The groups that constraints have looked up, by the features and the way that make them.
    """

    cells: CellTable
    known: CellTable | None = None
    averaged: list[tuple[Mask, Array | str]] = field(default_factory=list)
    groups: dict[Hashable, dict[Hashable, Group]] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)
    _numbers: dict[tuple[bytes, int], int] = field(default_factory=dict)
    _tables: dict[bytes, int] = field(default_factory=dict)
    _last: tuple[Array | str, int] = ("", -1)
    _rows: list[tuple[Row, dict[int, float], bool]] = field(default_factory=list)

    def moment(self, event: Mask, g: Array | str) -> int:
        """Return the number of the moment E[g | event]; see `CellTable.average` for ``g``."""
        key = (np.packbits(event).tobytes(), self._number_of(g))
        if key not in self._numbers:
            self._numbers[key] = len(self.averaged)
            self.averaged.append((event, g))
        return self._numbers[key]

    def _number_of(self, g: Array | str) -> int:
        """Return the number of what is averaged: the same for tables with the same numbers."""
        if g is not self._last[0]:  # one table serves many events in a row
            key = g.encode() if isinstance(g, str) else g.tobytes()
            self._last = g, self._tables.setdefault(key, len(self._tables))
        return self._last[1]

    def row(self, row: Row, coefficients: Mapping[int, float]) -> None:
        """Add the inequality sum of coefficient x moment <= row.bound."""
        self.add([(row, coefficients)])

    def add(
        self, rows: Sequence[tuple[Row, Mapping[int, float]]], *, follows_eps: bool = False
    ) -> None:
        """Add inequalities, each with the coefficients of its moments.

        ``follows_eps`` says that their bounds are the ``eps`` of the constraint. A bound that is
        NaN is one that the fit did not have.
        """
        for row, coefficients in rows:
            if row.bound is not None and np.isnan(row.bound):
                self.leave_out(row, "the constraint gives it no bound")
            else:
                self._rows.append((row, dict(coefficients), follows_eps))

    def warn_once(self, text: str, category: type[EquipoiseWarning]) -> None:
        """Warn of what is true of several events: those of all decisions are of the same people."""
        if text not in self._said:
            self._said.add(text)
            warnings.warn(text, category, stacklevel=3)

    def leave_out(self, row: Row, reason: str) -> None:
        """Warn that a row of the fit cannot be measured on these people."""
        message = f"{row}: not measured on these people, because {reason}."
        warnings.warn(message, EmptyCellWarning, stacklevel=2)

    def build(self) -> Moments:
        """Return the events and rows collected, as arrays."""
        offset, slopes = [], []
        for event, g in self.averaged:
            at_zero, slope = self.cells.average(event, g)
            at = np.flatnonzero(slope != 0)  # faster than of the numbers themselves
            offset.append(at_zero)
            slopes.append((at, slope[at]))
        size = len(slope) if slopes else len(self.cells.limits()[0])
        taken = [coefficients for _, coefficients, _ in self._rows]
        bounds = [row.bound for row, _, _ in self._rows]
        elastic = np.array([bound is None for bound in bounds], dtype=bool)
        return Moments(
            rows=tuple(row for row, _, _ in self._rows),
            M=_sparse([(list(each), list(each.values())) for each in taken], len(offset)),
            offset=np.array(offset, dtype=float),
            U=_sparse(slopes, size),
            c=np.array([0.0 if bound is None else bound for bound in bounds], dtype=float),
            event_count=np.array(
                [self.cells.count[np.flatnonzero(event)].sum() for event, _ in self.averaged]
            ),
            elastic=elastic if elastic.any() else None,
            follows_eps=np.array([follows for _, _, follows in self._rows], dtype=bool),
        )


def _sparse(rows: Sequence[tuple[Any, Any]], n_columns: int) -> csr_array:
    """Return the matrix whose rows have these columns and values."""
    columns, values = [list(part) for part in zip(*rows, strict=True)] or ([], [])
    starts = np.append(0, np.cumsum([len(at) for at in columns], dtype=np.intp))
    joined = [np.concatenate([np.zeros(0), *part]) for part in (values, columns)]
    shape = (len(rows), n_columns)
    found = csr_array((joined[0], joined[1].astype(np.intp), starts), shape=shape)
    found.eliminate_zeros()  # of a group that is everybody, compared with everybody
    return found
