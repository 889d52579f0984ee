"""Cells: what a constraint may know about a person, and nothing else (section 2 of the paper).

A *cell* is one combination of label, sensitive features and control features that occurs in the
data. Every moment and the error of a classifier ``h`` are affine in the numbers ::

    s_c(h) = sum over examples i in cell c of  w_i h(x_i) / sum of all w_i

so the reduction works on tables of C rows, and meets the n examples in two places only:
`Cells.sum` and its adjoint `Cells.spread`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Above this many possible combinations cells are numbered by sorting instead of counting.
_COUNTABLE = 1 << 22
#: Rows are handled in blocks of this many: what a step needs on the side then stays in the
#: processor's cache and costs no memory, however many rows there are.
_BLOCK = 1 << 16


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
        counts = _bincount(code, len(combinations[0]))
        mass = counts if weight is None else _bincount(code, len(counts), weight)
        return cls(
            code=code,
            weight=weight,
            label=combinations[-1].astype(np.int8),
            sensitive=dict(zip(sensitive, table[len(control) :], strict=True)),
            control=dict(zip(control, table, strict=False)),
            mass=mass / mass.sum(),
            count=counts.astype(np.int64),
        )

    @property
    def n_cells(self) -> int:
        """C, the number of cells."""
        return len(self.mass)

    @property
    def n_examples(self) -> int:
        """n, the number of examples."""
        return len(self.code)

    @property
    def n_effective(self) -> float:
        """Kish's effective sample size: how many equally weighted examples these are worth."""
        if self.weight is None:
            return float(self.n_examples)
        return float(self.weight.sum() ** 2 / np.square(self.weight).sum())

    @property
    def population(self) -> Array:
        """Share of each cell as the constraints count it; here the same as ``mass``."""
        return self.mass

    def limits(self) -> tuple[Array, Array]:
        """Return the least and the largest s(h) that any predictions can give, cell by cell."""
        return np.zeros(self.n_cells), self.mass

    def sum(self, h: ArrayLike) -> Array:
        """Share of the total weight that ``h`` selects in each cell: s(h), of shape (C,)."""
        h = np.asarray(h)
        if h.shape != self.code.shape:
            raise ValueError(
                f"got predictions of shape {h.shape} for {len(self.code)} examples; expected one "
                "for each example."
            )
        if self.weight is not None:
            return _bincount(self.code, self.n_cells, self.weight * h) / self.weight.sum()
        add_up = _count_selected if h.dtype == bool else _bincount
        return add_up(self.code, self.n_cells, h) / len(h)

    def spread(self, table: ArrayLike) -> NDArray:
        """Give every example the entry of its cell: the adjoint of `sum`."""
        table = np.asarray(table)
        if len(table) != self.n_cells:
            raise ValueError(
                f"got a table of {len(table)} rows; expected one for each of {self.n_cells} cells."
            )
        return _look_up(table, self.code)

    def relabel(self, costs: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the labels and weights of the weighted classification problem (section 3.1).

        An example is to be labelled 1 where predicting 1 costs less than predicting 0; its weight
        is the difference times its own. Weights are scaled to mean one, so that a learner's
        regularisation keeps its meaning.
        """
        mean = self.mass @ np.abs(costs) * (1.0 if self.weight is None else self.weight.mean())
        weight = self.spread(np.abs(costs) / (mean if mean > 0 else 1.0))
        if self.weight is not None:
            weight *= self.weight
        return self.spread((costs < 0).astype(np.int64)), weight

    def average(self, event: Mask, g: Array | str) -> tuple[float, Array]:
        """Return E[g | event] as an offset and a slope: offset + slope . s(h).

        Parameters
        ----------
        event : mask of shape (C,)
        g : array of shape (C, 2)
            What is averaged, in each cell for prediction 0 and 1. A string names a utility given
            example by example, which these cells do not have; see `equipoise.layers`.
        """
        if isinstance(g, str):
            raise ValueError(
                f"no utility is called {g!r}: there are none. Pass it to fit as two columns, the "
                f"values under prediction 0 and 1: fit(..., utilities=...)."
            )
        share = np.where(event, self.mass, 0.0) / self.mass[event].sum()
        slope = np.where(event, g[:, 1] - g[:, 0], 0.0) / self.mass[event].sum()
        return float(share @ g[:, 0]), slope

    def total(self, g: Array) -> tuple[float, Array]:
        """Return E[g] over the weight that counts for the error, as an offset and a slope."""
        return float(self.mass @ g[:, 0]), g[:, 1] - g[:, 0]

    def groups(
        self, on: str | Sequence[str] | None = None, how: str = "intersections"
    ) -> dict[Hashable, Mask]:
        """Groups of people, as masks over cells.

        Parameters
        ----------
        on : str or sequence of str, optional
            Names of sensitive features; all of them by default.
        how : {"intersections", "margins", "both", "slices"}
            "intersections" are the combinations of values that occur, called by the value of one
            feature or by the tuple of several. "margins" are the values of each feature by
            itself, called ``"sex=F"`` when there are several. "both" has all of these, and so
            every person is in several groups. "slices" takes each feature as a yes or no, and
            those who have it as a group of that name.
        """
        names = list(self.sensitive) if on is None else [on] if isinstance(on, str) else list(on)
        if missing := [name for name in names if name not in self.sensitive]:
            raise ValueError(
                f"no sensitive feature is called {missing[0]!r}; there are "
                f"{', '.join(map(repr, self.sensitive))}."
            )
        columns = {name: self.sensitive[name] for name in names}
        if how == "slices":
            return {name: _slice(name, values) for name, values in columns.items()}
        if how not in ("intersections", "margins", "both"):
            raise ValueError(
                f"groups is {how!r}; expected 'intersections', 'margins', 'both' or 'slices'."
            )
        intersections = _masks(list(columns.values()), self.n_cells)
        if how == "intersections" or len(columns) == 1:
            return intersections
        margins: dict[Hashable, Mask] = {
            f"{name}={value}": mask
            for name, values in columns.items()
            for value, mask in _masks([values], self.n_cells).items()
        }
        return margins if how == "margins" else margins | intersections

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
    if values.dtype.kind in "OUS":
        return _factorize_objects(values)
    if values.dtype.kind in "biu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < _BLOCK and high < 1 << 63:
            return _factorize_range(values, low, high - low + 1)
    distinct = np.unique(values)
    codes = np.empty(len(values), dtype=np.min_scalar_type(len(distinct)))
    for rows in _blocks(len(values)):
        codes[rows] = np.searchsorted(distinct, values[rows])
    return codes, distinct


def _factorize_range(values: NDArray, low: int, size: int) -> tuple[NDArray, NDArray]:
    """Factorize whole numbers from a short range by counting, which needs no sorting."""
    codes = np.empty(len(values), dtype=np.min_scalar_type(size))
    for rows in _blocks(len(values)):
        codes[rows] = values[rows].astype(np.int64, copy=False) - low
    codes, present = _renumber(codes, size)
    return codes, (present + low).astype(values.dtype)


def _factorize_objects(values: NDArray) -> tuple[NDArray, NDArray]:
    # A dictionary is many times faster than sorting strings, and takes mixed types.
    numbers: dict[Hashable, int] = defaultdict(count().__next__)
    first_seen = np.empty(len(values), dtype=np.int32)
    for rows in _blocks(len(values)):
        first_seen[rows] = list(map(numbers.__getitem__, values[rows].tolist()))
    try:
        ordered = sorted(numbers)  # type: ignore[type-var]
    except TypeError:
        ordered = sorted(numbers, key=lambda value: (type(value).__name__, str(value)))
    rank = np.empty(len(ordered), dtype=np.min_scalar_type(len(ordered)))
    rank[[numbers[value] for value in ordered]] = np.arange(len(ordered))
    distinct = np.empty(len(ordered), dtype=object)
    distinct[:] = ordered
    return _look_up(rank, first_seen), distinct


def _number(
    codes: tuple[NDArray, ...], sizes: tuple[int, ...]
) -> tuple[NDArray[np.integer], tuple[NDArray[np.intp], ...]]:
    """Number the combinations of codes that occur; also return which combination each is."""
    if np.prod(sizes, dtype=float) > _COUNTABLE:
        present, code = np.unique(np.ravel_multi_index(codes, sizes), return_inverse=True)
        return code.astype(np.int32), np.unravel_index(present, sizes)
    n_combinations = int(np.prod(sizes))
    combined = codes[0].astype(np.min_scalar_type(n_combinations))
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        combined *= size
        combined += column.astype(combined.dtype, copy=False)
    code, present = _renumber(combined, n_combinations)
    return code, np.unravel_index(present, sizes)


def _renumber(codes: NDArray, size: int) -> tuple[NDArray, NDArray[np.intp]]:
    """Number the codes that occur, out of ``size``; also return which these are."""
    seen = np.zeros(size, dtype=bool)
    for rows in _blocks(len(codes)):
        seen[codes[rows]] = True
        if seen.all():
            return codes, np.arange(size)
    present = np.flatnonzero(seen)
    rank = np.zeros(size, dtype=np.min_scalar_type(len(present)))
    rank[present] = np.arange(len(present))
    return _look_up(rank, codes), present


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


def _bincount(code: NDArray, size: int, weights: NDArray | None = None) -> Array:
    if size > _BLOCK:
        return np.bincount(code, weights=weights, minlength=size)
    total = np.zeros(size)
    for rows in _blocks(len(code)):
        block = None if weights is None else weights[rows]
        total += np.bincount(code[rows], weights=block, minlength=size)
    return total


def _count_selected(code: NDArray, size: int, h: Mask) -> Array:
    """Count the rows of each code that ``h`` selects: faster than adding up weights."""
    total = np.zeros(2 * size)
    for rows in _blocks(len(code)):
        # Those selected are counted in a second set of cells.
        key = np.multiply(h[rows], size, dtype=np.min_scalar_type(2 * size))
        total += np.bincount(np.add(key, code[rows], out=key), minlength=2 * size)
    return total[size:]


def _look_up(table: NDArray, code: NDArray) -> NDArray:
    """Return ``table[code]``, for codes known to be in range."""
    entries = np.empty(len(code), dtype=table.dtype)
    for rows in _blocks(len(code)):
        np.take(table, code[rows], out=entries[rows], mode="clip")  # "raise" would buffer
    return entries


def _masks(columns: list[NDArray], n_cells: int) -> dict[Hashable, Mask]:
    keys = list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))
    masks: dict[Hashable, Mask] = {}
    for cell, key in enumerate(keys):
        masks.setdefault(key, np.zeros(n_cells, dtype=bool))[cell] = True
    return masks


def _slice(name: str, values: NDArray) -> Mask:
    if not set(values.tolist()) <= {0, 1}:
        shown = ", ".join(map(repr, sorted(set(map(str, values.tolist())))[:4]))
        raise ValueError(
            f"groups='slices' takes every sensitive feature as yes or no, but {name!r} has the "
            f"values {shown}; expected True and False (or 1 and 0)."
        )
    return values.astype(bool)
