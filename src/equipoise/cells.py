"""Cells: what a constraint may know about a person, and nothing else (section 2 of the paper).

A *cell* is one combination of label, sensitive features and control features that occurs in the
data. Every moment and the error of a classifier ``h`` are affine in the numbers ::

    s_c(h) = sum over examples i in cell c of  w_i h(x_i) / sum of all w_i

so the reduction works on tables of C rows, and meets the n examples in two places only:
`Cells.sum` and its adjoint `Cells.spread`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Above this many possible combinations cells are numbered by sorting instead of counting.
_COUNTABLE = 1 << 22


@dataclass(frozen=True, eq=False)
class Cells:
    """The examples, sorted into cells.

    Parameters
    ----------
    code : array of shape (n,)
        Which cell an example is in.
    weight : array of shape (n,), or None
        Weight of an example; None means that all weigh the same.
    label : array of shape (C,)
        The label, 0 or 1, in each cell.
    sensitive, control : mapping from column name to array of shape (C,)
        The value of each sensitive (control) feature in each cell.
    mass : array of shape (C,)
        Share of the total weight in each cell; sums to one.
    count : array of shape (C,)
        Number of examples in each cell.

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
    label: NDArray[np.int8]
    sensitive: Mapping[str, NDArray]
    control: Mapping[str, NDArray]
    mass: Array
    count: NDArray[np.int64]

    @classmethod
    def from_columns(
        cls,
        label: ArrayLike,
        sensitive: Mapping[str, ArrayLike],
        control: Mapping[str, ArrayLike] | None = None,
        weight: ArrayLike | None = None,
    ) -> Cells:
        """Number the combinations of label, sensitive and control values that occur."""
        control = control or {}
        columns = [factorize(values) for values in (*control.values(), *sensitive.values())]
        codes = (*(codes for codes, _ in columns), np.asarray(label, dtype=np.int8))
        code, combinations = _number(codes, (*(len(values) for _, values in columns), 2))
        table = [values[at] for (_, values), at in zip(columns, combinations, strict=False)]
        weight = None if weight is None else np.asarray(weight, dtype=float)
        mass = np.bincount(code, weights=weight, minlength=len(combinations[0]))
        return cls(
            code=code,
            weight=weight,
            label=combinations[-1].astype(np.int8),
            sensitive=dict(zip(sensitive, table[len(control) :], strict=True)),
            control=dict(zip(control, table, strict=False)),
            mass=mass / mass.sum(),
            count=np.bincount(code, minlength=len(mass)),
        )

    @property
    def n_cells(self) -> int:
        """C, the number of cells."""
        return len(self.mass)

    @property
    def n_effective(self) -> float:
        """Kish's effective sample size: how many equally weighted examples these are worth."""
        if self.weight is None:
            return float(len(self.code))
        return float(self.weight.sum() ** 2 / np.square(self.weight).sum())

    def sum(self, h: ArrayLike) -> Array:
        """Share of the total weight that ``h`` selects in each cell: s(h), of shape (C,)."""
        h = np.asarray(h)
        weight = h if self.weight is None else self.weight * h
        total = len(self.code) if self.weight is None else self.weight.sum()
        return np.bincount(self.code, weights=weight, minlength=self.n_cells) / total

    def spread(self, table: ArrayLike) -> NDArray:
        """Give every example the entry of its cell: the adjoint of `sum`."""
        return np.asarray(table)[self.code]

    def groups(self, on: str | Sequence[str] | None = None) -> dict[Hashable, Mask]:
        """Groups of people as masks over cells: the values of one sensitive feature, or tuples."""
        names = list(self.sensitive) if on is None else [on] if isinstance(on, str) else list(on)
        if missing := [name for name in names if name not in self.sensitive]:
            raise ValueError(
                f"no sensitive feature is called {missing[0]!r}; there are "
                f"{', '.join(map(repr, self.sensitive))}."
            )
        return _masks([self.sensitive[name] for name in names], self.n_cells)

    def strata(self) -> dict[Hashable, Mask]:
        """Strata of the control features; one stratum called None when there are none."""
        if not self.control:
            return {None: np.ones(self.n_cells, dtype=bool)}
        return _masks(list(self.control.values()), self.n_cells)


def factorize(values: ArrayLike) -> tuple[NDArray[np.integer], NDArray]:
    """Codes 0, 1, ... and the sorted distinct values they stand for.

    >>> codes, values = factorize(["b", "a", "b"])
    >>> codes.tolist(), values.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    values = np.asarray(values)
    if values.dtype.kind not in "OUS":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.min_scalar_type(len(distinct)), copy=False), distinct
    # A dictionary is many times faster than sorting strings, and takes mixed types.
    numbers: dict[Hashable, int] = {}
    first_seen = np.fromiter(
        (numbers.setdefault(value, len(numbers)) for value in values.tolist()),
        dtype=np.int32,
        count=len(values),
    )
    try:
        ordered = sorted(numbers)  # type: ignore[type-var]
    except TypeError:
        ordered = sorted(numbers, key=lambda value: (type(value).__name__, str(value)))
    rank = np.empty(len(ordered), dtype=np.min_scalar_type(len(ordered)))
    rank[[numbers[value] for value in ordered]] = np.arange(len(ordered))
    distinct = np.empty(len(ordered), dtype=object)
    distinct[:] = ordered
    return rank[first_seen], distinct


def _number(
    codes: tuple[NDArray, ...], sizes: tuple[int, ...]
) -> tuple[NDArray[np.integer], tuple[NDArray[np.intp], ...]]:
    """Number the combinations of codes that occur; also return which combination each is."""
    combined = np.ravel_multi_index(codes, sizes)
    if np.prod(sizes, dtype=float) <= _COUNTABLE:
        present = np.flatnonzero(np.bincount(combined))
        renumber = np.zeros(present[-1] + 1, dtype=np.min_scalar_type(len(present)))
        renumber[present] = np.arange(len(present))
        code = renumber[combined]
    else:
        present, code = np.unique(combined, return_inverse=True)
        code = code.astype(np.int32)
    return code, np.unravel_index(present, sizes)


def _masks(columns: list[NDArray], n_cells: int) -> dict[Hashable, Mask]:
    keys = list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))
    masks: dict[Hashable, Mask] = {}
    for cell, key in enumerate(keys):
        masks.setdefault(key, np.zeros(n_cells, dtype=bool))[cell] = True
    return masks
