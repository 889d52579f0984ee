"""Cells: what a constraint may know about a person, and nothing else (section 2 of the paper).

A *cell* is one combination of label, sensitive features and control features that occurs in the
data. Every moment and the error of a classifier ``h`` are affine in the numbers ::

    s_c(h) = sum over examples i in cell c of  w_i h(x_i) / sum of all w_i

so the reduction works on tables of C rows, and meets the n examples in two places only:
`Cells.sum` and its adjoint `Cells.spread`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.codes import (
    add_up,
    count_selected,
    factorize,
    look_up,
    number_combinations,
    split_signs,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


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
        code, combinations = number_combinations(
            codes, (*(len(values) for _, values in columns), 2)
        )
        table = [values[at] for (_, values), at in zip(columns, combinations, strict=False)]
        weight = None if weight is None else np.asarray(weight, dtype=float)
        counts = add_up(code, len(combinations[0]))
        mass = counts if weight is None else add_up(code, len(counts), weight)
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
            return add_up(self.code, self.n_cells, self.weight * h) / self.weight.sum()
        total = count_selected if h.dtype == bool else add_up
        return total(self.code, self.n_cells, h) / len(h)

    def spread(self, table: ArrayLike) -> NDArray:
        """Give every example the entry of its cell: the adjoint of `sum`."""
        table = np.asarray(table)
        if len(table) != self.n_cells:
            raise ValueError(
                f"got a table of {len(table)} rows; expected one for each of {self.n_cells} cells."
            )
        return look_up(self.code, table)

    def relabel(self, costs: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the labels and weights of the weighted classification problem (section 3.1).

        An example is to be labelled 1 where predicting 1 costs less than predicting 0; its weight
        is the difference times its own. Weights are scaled to mean one, so that a learner's
        regularisation keeps its meaning. The labels are not to be written to: while no cost
        changes its sign, the same array is returned again.
        """
        mean = self.mass @ np.abs(costs) * (1.0 if self.weight is None else self.weight.mean())
        costs = costs / (mean if mean > 0 else 1.0)
        signs = (costs < 0).tobytes()
        label = self._last_labels.get(signs)
        if label is not None:
            weight = look_up(self.code, np.abs(costs))
        else:
            self._last_labels.clear()  # before the new ones take their memory
            label, weight = split_signs(self.code, costs)
            self._last_labels[signs] = label
        if self.weight is not None:
            weight *= self.weight
        return label, weight

    @cached_property
    def _last_labels(self) -> dict[bytes, NDArray[np.int64]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_last_labels"}

    def average(self, event: Mask, g: Array | str) -> tuple[float, Array]:
        """Return E[g | event] as an offset and a slope: offset + slope . s(h).

        Parameters
        ----------
        event : mask of shape (C,)
        g : array of shape (C, 2)
            What is averaged, in each cell for prediction 0 and 1. A string names a utility given
            example by example, which these cells do not have; see `equipoise.cells.layered`.
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

    def without_rows(self) -> Cells:
        """Return the table of cells alone: nothing that has the size of the data."""
        return replace(self, code=self.code[:0].copy(), weight=None)

    def strata(self) -> dict[Hashable, Mask]:
        """Strata of the control features; one stratum called None when there are none."""
        if not self.control:
            return {None: np.ones(self.n_cells, dtype=bool)}
        return _masks(list(self.control.values()), self.n_cells)


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
