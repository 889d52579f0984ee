"""Layers: cells of rows that count in more than one way.

A plain `CellTable` knows one number for each cell: the share of the weight that a classifier
selects. Three wishes need more of the same kind, and each is one more *layer*, a copy of the cells
whose entries add up something else:

- weights that enter the error only: the constraints get a layer that counts rows;
- a utility g(X, A, Y, prediction) given row by row: a layer that adds up g at 1 minus g at 0,
  and if weights enter the error only, one more that adds it up by weight, for an objective;
- an uncertain sensitive feature: rows belong to several cells, in part to each.

Everything is still affine in s(h), now of shape (layers x C,), and the n rows are still met in
`LayeredCells.sum` and its adjoint only. Of V decisions each layer is a table of C rows and V - 1
columns, as s(h) is without layers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from equipoise.cells.codes import Counts, add_up, count_pairs
from equipoise.cells.labels import SoftLabels, WeightedLabels, savings, weighted_labels
from equipoise.cells.layers import costs_of_rows, layer_sums, layer_tables
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable, Mask


@dataclass(frozen=True, eq=False, kw_only=True)
class LayeredTable(CellTable):
    """What is known of each cell, where rows count in more than one way.

    Parameters
    ----------
    label, sensitive, control, mass, count, square, total_weight
        See `CellTable`. ``count`` is an expected number where groups are known by probability.
    layers : tuple of str
        Names of the layers. The first is the error's.
    at_zero : mapping from layer name to array of shape (C,)
        What the utility of a layer adds up to in each cell when no row is selected.
    counted : array of shape (C,), or None
        Share of the rows in each cell; given when weights enter the error only.
    least, most : array of shape (layers x C,)
        The least and the largest s(h) that any predictions can give; (layers x C x (V - 1),) of
        V decisions.
    """

    layers: tuple[str, ...]
    at_zero: Mapping[str, Array]
    counted: Array | None
    least: Array
    most: Array

    def table(self) -> LayeredTable:
        """Return the table of cells alone: nothing that has the size of the data."""
        return self.as_kind(LayeredTable)

    @property
    def is_plain(self) -> bool:
        """Whether a row is in one cell and counts in one way: not here."""
        return False

    @property
    def population(self) -> Array:
        """Share of each cell as the constraints count it."""
        return self.mass if self.counted is None else self.counted

    def limits(self) -> tuple[Array, Array]:
        """Return the least and the largest s(h) that any predictions can give, entry by entry."""
        return self.least, self.most

    def rates(self, s: Array) -> Array:
        """Return the rate of each decision in each cell, by the weights of the error."""
        return super().rates(s[: self.width])

    def shares(self, s: Array) -> Array:
        """Return the share of all people who get each decision, by the weights of the error."""
        return super().shares(s[: self.width])

    @property
    def width(self) -> int:
        """The number of entries of a layer, C (V - 1)."""
        return self.n_cells * (self.n_decisions - 1)

    def constant(self, decision: int) -> Array:
        """Return s(h) of the classifier that decides the same, 0 to V - 1, for everybody."""
        each = (self.least + self.most).reshape(-1, self.n_decisions - 1)
        return (each * (np.arange(1, self.n_decisions) == decision)).ravel()

    def relabel(self, costs: Array) -> NoReturn:
        """Raise: the rows of a cell differ in what they cost; see `LayeredCells.relabel_rows`."""
        raise TypeError("rows that count in more than one way have no label by cell.")

    def least_cost_shares(self, costs: Array) -> Array:
        """Raise: the rows of a cell differ in what they cost."""
        raise TypeError("what rows that count in more than one way cost is known by row only.")

    def average(self, event: Mask, g: Array | str) -> tuple[float, Array]:
        """Return E[g | event] as an offset and a slope; ``g`` may be the name of a utility."""
        counts = event & (self.population > 0)
        per_head = np.where(counts, 1.0, 0.0) / self.population[event].sum()
        if isinstance(g, str):
            return self._utility(g, per_head, "utility")
        slope = (g[:, 1:] - g[:, :1]) * per_head[:, None]
        layer = "error" if self.counted is None else "people"
        return float((self.population * per_head) @ g[:, 0]), self._placed(slope.ravel(), layer)

    def total(self, g: Array | str) -> tuple[float, Array]:
        """Return E[g] over the weight that counts for the error, as an offset and a slope."""
        if isinstance(g, str):
            kind = "utility" if self.counted is None else "error"
            return self._utility(g, np.ones(self.n_cells), kind)
        offset, slope = super().total(g)
        return offset, self._placed(slope, "error")

    def _utility(self, name: str, factor: Array, kind: str) -> tuple[float, Array]:
        """Return the sum of a utility times a factor for each cell, as an offset and a slope."""
        layer = f"{kind} {name}"
        if layer not in self.at_zero:
            known = [key.removeprefix("utility ") for key in self.at_zero]
            given = ", ".join(repr(key) for key in known if f"utility {key}" in self.at_zero)
            raise ValueError(f"no utility is called {name!r}; fit was given {given or 'none'}.")
        slope = np.repeat(factor, self.n_decisions - 1)
        return float(factor @ self.at_zero[layer]), self._placed(slope, layer)

    def _placed(self, table: Array, layer: str) -> Array:
        start = self.layers.index(layer) * self.width
        placed = np.zeros(len(self.layers) * self.width)
        placed[start : start + self.width] = table
        return placed


@dataclass(frozen=True, eq=False, kw_only=True)
class LayeredCells(LayeredTable):
    """Rows that count in more than one way, sorted into cells.

    Parameters
    ----------
    label, sensitive, control, mass, count, square, total_weight, layers, at_zero, counted, \
least, most
        See `LayeredTable`.
    place : array of shape (n,), or sparse array of shape (C, n)
        The cell of each row; or how much of each row is in each cell, where columns sum to one.
    factors : sequence of arrays of shape (n,) or (n, V - 1)
        For each layer, what a row adds to its cell when it is selected; of V decisions, what it
        adds for each of 1 to V - 1 if that differs.

    Examples
    --------
    >>> plain = Cells.from_columns([0, 1, 1], {"sex": ["F", "F", "M"]}, weight=[1.0, 1.0, 2.0])
    >>> cells = layered(plain, constraint_weights=False)
    >>> cells.sum([0, 1, 1]).round(2).tolist()  # by weight, then by head
    [0.0, 0.25, 0.5, 0.0, 0.33, 0.33]
    >>> cells.population.round(2).tolist()
    [0.33, 0.33, 0.33]
    """

    place: NDArray[np.integer] | csr_array
    factors: tuple[Array, ...]

    @property
    def code(self) -> NDArray[np.integer] | None:
        """The cell of each row; None where groups are known by probability only."""
        return self.place if isinstance(self.place, np.ndarray) else None

    def sum(self, h: ArrayLike) -> Array:
        """Return s(h), layer after layer; ``h`` as for `Cells.sum`."""
        return layer_tables(
            lambda values: _into_cells(self, self.place, values),
            self.factors,
            np.asarray(h),
            self.n_decisions,
        )

    def sums(self, answers: Sequence[NDArray]) -> Array:
        """Return s(h) of several classifiers, from their decisions."""
        return np.array([self.sum(h) for h in answers])

    def count_rows(self, key: NDArray[np.integer], size: int) -> tuple[Array, Counts]:
        """Return the weight of the rows of each key, and how many are in each cell, (size, C).

        The number counts rows, whatever they weigh; it is an expected one where groups are known by
        probability only.
        """
        weight = add_up(key, size, self.row_weights())
        if isinstance(self.place, np.ndarray):
            return weight, count_pairs(key, self.place, (size, self.n_cells))
        n = len(key)
        return weight, csr_array((np.ones(n), (key, np.arange(n))), shape=(size, n)) @ self.place.T

    def row_weights(self) -> Array:
        """Return the share of the total weight that each row has in the error."""
        return self.factors[self.layers.index("error")]

    def spread(self, table: ArrayLike) -> NDArray:
        """Return the entry of its cell for every row, or the mean of its cells, as it belongs."""
        table = np.asarray(table)
        return self.place.T @ table if self.code is None else table[self.code]

    def signed_costs(self, costs: Array) -> Array:
        """Return the cost of predicting 1 rather than 0 for each row: the adjoint of `sum`.

        ``sum(h) @ costs == h @ signed_costs(costs)``. Of V decisions it has a column for each but
        the first.
        """
        V = self.n_decisions
        return costs_of_rows(self.spread, self.factors, costs.reshape(-1, self.n_cells, V - 1))

    def least_cost_shares(self, costs: Array) -> Array:
        """Return the s(h) that costs least of all: every row gets its cheapest decision."""
        each = self.signed_costs(costs)
        if self.n_decisions == 2:
            return self.sum(each < 0)
        return self.sum(np.column_stack([np.zeros(len(each)), each]).argmin(axis=1))

    def relabel_rows(self, costs: Array) -> WeightedLabels | SoftLabels:
        """Return the labels and weights of the rows for these costs; no label is kept."""
        each = self.signed_costs(costs)
        if self.n_decisions > 2:
            return SoftLabels(savings(each, np.full(len(each), 1.0 / self.total_weight)))
        return weighted_labels(each, np.abs(each).sum() / self.total_weight)

    def row_arrays(self) -> Iterator[NDArray]:
        """Yield the arrays of n entries."""
        if isinstance(self.place, np.ndarray):
            yield self.place
        else:
            yield from (self.place.data, self.place.indices, self.place.indptr)
        yield from self.factors


#: Cells of rows in memory, of either kind.
AnyCells = Cells | LayeredCells


def layered(
    cells: Cells,
    *,
    constraint_weights: bool = True,
    utilities: Mapping[str, Array] | None = None,
) -> AnyCells:
    """Add the layers that are asked for; plain cells come back as they are when none is.

    Parameters
    ----------
    constraint_weights : bool, default=True
        Whether sample weights enter the constraints, or the error only.
    utilities : mapping from name to array of shape (n, V), optional
        Values under each prediction, row by row.
    """
    by_head = not constraint_weights and cells.weight is not None
    if not by_head and not utilities:
        return cells
    return _with_layers(cells, cells.code, cells.weight, by_head, utilities or {})


def soft_cells(
    label: NDArray,
    sensitive: Mapping[str, NDArray],
    uncertain: tuple[str, NDArray, Array],
    control: Mapping[str, NDArray] | None = None,
    weight: Array | None = None,
    *,
    constraint_weights: bool = True,
    utilities: Mapping[str, Array] | None = None,
    decisions: Sequence[Hashable] = (0, 1),
) -> LayeredCells:
    """Return cells in which one sensitive feature is known by probability.

    Parameters
    ----------
    label : array of shape (n,)
    sensitive : mapping from column name to array of shape (n,)
        Sensitive features that are known.
    uncertain : (name, groups, probabilities)
        The sensitive feature that is known by probability: its G groups, and an (n, G) array.
    control, weight
        As for `Cells.from_columns`.
    constraint_weights, utilities
        As for `layered`.
    decisions
        As for `Cells.from_columns`.
    """
    name, groups, probability = uncertain
    n = len(probability)
    row, group = np.nonzero(probability)
    # Every row stands once in each group that it may belong to, with that probability.
    spelled = Cells.from_columns(
        np.asarray(label)[row],
        {name: groups[group]} | {key: values[row] for key, values in sensitive.items()},
        {key: values[row] for key, values in (control or {}).items()},
        decisions=decisions,
    )
    part = probability[row, group]
    shape = (spelled.n_cells, n)
    place = csr_array((part, (spelled.code.astype(np.int64), row)), shape=shape)
    own = np.ones(n) if weight is None else weight
    mass, total = place @ own, float(own.sum())
    table = spelled.as_kind(
        CellTable,
        mass=mass / mass.sum(),
        count=place @ np.ones(n),
        square=place @ np.square(own) / total**2,
        total_weight=total,
    )
    by_head = not constraint_weights and weight is not None
    return _with_layers(table, place, weight, by_head, utilities or {})


def _with_layers(
    table: CellTable,
    place: NDArray[np.integer] | csr_array,
    weight: Array | None,
    by_head: bool,
    utilities: Mapping[str, Array],
) -> LayeredCells:
    even = np.full(place.shape[-1], 1.0 / place.shape[-1])
    own = even if weight is None else weight / weight.sum()
    factors, sums = layer_sums(
        lambda values: _into_cells(table, place, values),
        own,
        even,
        by_head,
        utilities,
        table.n_decisions,
    )
    return table.as_kind(LayeredCells, **sums._asdict(), place=place, factors=factors)


def _into_cells(
    table: CellTable, place: NDArray[np.integer] | csr_array, values: Array
) -> NDArray[np.float64]:
    """Return the sum of the values of each cell's rows, or of its part of them."""
    if isinstance(place, np.ndarray):
        return np.bincount(place, weights=values, minlength=table.n_cells).astype(float)
    return place @ values
