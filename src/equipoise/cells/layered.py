"""Layers: cells for when a person counts in more than one way.

Plain `Cells` know one number for each cell: the share of the weight that a classifier selects.
Three wishes need more of the same kind, and each is one more *layer*, a copy of the cells whose
entries add up something else:

- weights that enter the error only: the constraints get a layer that counts people;
- a utility g(X, A, Y, prediction) given row by row: a layer that adds up g at 1 minus g at 0;
- an uncertain sensitive feature: people belong to several cells, in part to each.

Everything is still affine in s(h), now of shape (layers x C,), and the n examples are still met
in `sum` and its adjoint only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from equipoise.cells.rows import Array, Cells, Mask


@dataclass(frozen=True, eq=False)
class LayeredCells(Cells):
    """Cells with several layers, or with people who belong to several cells in part.

    Parameters
    ----------
    code, weight, label, sensitive, control, mass, count
        See `Cells`. With a membership, ``code`` is empty and ``count`` the expected number.
    membership : sparse array of shape (C, n), or None
        How much of an example is in each cell; columns sum to one. None: wholly in its ``code``.
    factors : mapping from layer name to array of shape (n,)
        What an example adds to its cell when it is selected. The first layer is the error's.
    at_zero : mapping from utility name to array of shape (C,)
        What the utility adds up to in each cell when nobody is selected.
    counted : array of shape (C,), or None
        Share of people in each cell; given when weights enter the error only.

    Examples
    --------
    >>> plain = Cells.from_columns([0, 1, 1], {"sex": ["F", "F", "M"]}, weight=[1.0, 1.0, 2.0])
    >>> cells = layered(plain, weights="error")
    >>> cells.sum([0, 1, 1]).round(2).tolist()  # by weight, then by head
    [0.0, 0.25, 0.5, 0.0, 0.33, 0.33]
    >>> cells.population.round(2).tolist()
    [0.33, 0.33, 0.33]
    """

    membership: csr_array | None = None
    factors: Mapping[str, Array] = field(default_factory=dict)
    at_zero: Mapping[str, Array] = field(default_factory=dict)
    counted: Array | None = None

    @property
    def n_examples(self) -> int:
        """n, the number of examples."""
        return len(next(iter(self.factors.values())))

    @property
    def population(self) -> Array:
        """Share of each cell as the constraints count it."""
        return self.mass if self.counted is None else self.counted

    def limits(self) -> tuple[Array, Array]:
        """Return the least and the largest s(h) that any predictions can give, entry by entry."""
        factors = self.factors.values()
        return (
            np.concatenate([self._into_cells(np.minimum(factor, 0.0)) for factor in factors]),
            np.concatenate([self._into_cells(np.maximum(factor, 0.0)) for factor in factors]),
        )

    def sum(self, h: ArrayLike) -> Array:
        """Return s(h), layer after layer, of shape (layers x C,)."""
        h = np.asarray(h)
        return np.concatenate([self._into_cells(factor * h) for factor in self.factors.values()])

    def spread(self, table: ArrayLike) -> NDArray:
        """Give every example the entry of its cell, or the mean of its cells, as it belongs."""
        table = np.asarray(table)
        return table[self.code] if self.membership is None else self.membership.T @ table

    def signed_costs(self, costs: Array) -> Array:
        """Return what predicting 1 rather than 0 costs, example by example: the adjoint of `sum`.

        ``sum(h) @ costs == h @ signed_costs(costs)``.
        """
        tables = np.reshape(costs, (len(self.factors), self.n_cells))
        each = np.zeros(self.n_examples)
        for factor, table in zip(self.factors.values(), tables, strict=True):
            if table.any():
                each += factor * self.spread(table)
        return each

    def relabel(self, costs: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the labels and weights of the weighted classification problem (section 3.1)."""
        each = self.signed_costs(costs)
        label, weight = (each < 0).astype(np.int64), np.abs(each)
        mean = weight.mean()
        if mean > 0:
            weight /= mean
        return label, weight

    def average(self, event: Mask, g: Array | str) -> tuple[float, Array]:
        """Return E[g | event] as an offset and a slope; ``g`` may be the name of a utility."""
        share = np.where(event, self.population, 0.0)
        share /= share.sum()
        if isinstance(g, str):
            if g not in self.at_zero:
                known = ", ".join(map(repr, self.at_zero)) or "none"
                raise ValueError(f"no utility is called {g!r}; fit was given {known}.")
            per_head = np.where(event, 1.0, 0.0) / self.population[event].sum()
            return float(per_head @ self.at_zero[g]), self._placed(per_head, f"utility {g}")
        layer = "error" if self.counted is None else "people"
        slope = np.where(event, g[:, 1] - g[:, 0], 0.0) / self.population[event].sum()
        return float(share @ g[:, 0]), self._placed(slope, layer)

    def total(self, g: Array) -> tuple[float, Array]:
        """Return E[g] over the weight that counts for the error, as an offset and a slope."""
        offset, slope = super().total(g)
        return offset, self._placed(slope, "error")

    def without_rows(self) -> LayeredCells:
        """Return the table of cells alone: nothing that has the size of the data."""
        return replace(
            self,
            code=self.code[:0].copy(),
            weight=None,
            membership=None,
            factors={name: np.empty(0) for name in self.factors},
        )

    def _placed(self, table: Array, layer: str) -> Array:
        start = list(self.factors).index(layer) * self.n_cells
        placed = np.zeros(len(self.factors) * self.n_cells)
        placed[start : start + self.n_cells] = table
        return placed

    def _into_cells(self, values: Array) -> Array:
        if self.membership is not None:
            return self.membership @ values
        return np.bincount(self.code, weights=values, minlength=self.n_cells).astype(float)


def layered(
    cells: Cells,
    *,
    weights: str = "both",
    utilities: Mapping[str, Array] | None = None,
    membership: csr_array | None = None,
) -> Cells:
    """Add the layers that are asked for; plain cells come back as they are when none is.

    Parameters
    ----------
    weights : {"both", "error"}
        Whether sample weights enter the error and the constraints, or the error only.
    utilities : mapping from name to array of shape (n, 2), optional
        Values under prediction 0 and 1, example by example.
    membership : sparse array of shape (C, n), optional
        How much of each example is in each cell.
    """
    if weights not in ("both", "error"):
        raise ValueError(
            f"weights is {weights!r}; expected 'both' (sample weights enter the error and the "
            "constraints) or 'error' (the error only)."
        )
    by_head = weights == "error" and cells.weight is not None
    if not by_head and not utilities and membership is None:
        return cells
    n = cells.n_examples if membership is None else membership.shape[1]
    even = np.full(n, 1.0 / n)
    weight = even if cells.weight is None else cells.weight / cells.weight.sum()
    factors = {"error": weight} | ({"people": even} if by_head else {})
    parts = {f.name: getattr(cells, f.name) for f in fields(Cells)}
    bare = LayeredCells(**parts, membership=membership, factors=factors)
    counted = bare._into_cells(even) if by_head else None
    at_zero = {}
    for name, values in (utilities or {}).items():
        counts_as = even if by_head else weight
        at_zero[name] = bare._into_cells(counts_as * values[:, 0])
        factors[f"utility {name}"] = counts_as * (values[:, 1] - values[:, 0])
    return LayeredCells(
        **parts, membership=membership, factors=factors, at_zero=at_zero, counted=counted
    )


def soft_cells(
    label: NDArray,
    sensitive: Mapping[str, NDArray],
    uncertain: tuple[str, NDArray, Array],
    control: Mapping[str, NDArray] | None = None,
    weight: Array | None = None,
) -> tuple[Cells, csr_array]:
    """Cells in which one sensitive feature is known by probability; also their membership.

    Parameters
    ----------
    label : array of shape (n,)
    sensitive : mapping from column name to array of shape (n,)
        Sensitive features that are known.
    uncertain : (name, groups, probabilities)
        The sensitive feature that is known by probability: its G groups, and an (n, G) array.
    """
    name, groups, probability = uncertain
    n = len(probability)
    row, group = np.nonzero(probability)
    # Every example stands once in each group that it may belong to, with that probability.
    spelled = Cells.from_columns(
        np.asarray(label)[row],
        {name: groups[group]} | {key: values[row] for key, values in sensitive.items()},
        {key: values[row] for key, values in (control or {}).items()},
    )
    part = probability[row, group]
    shape = (spelled.n_cells, n)
    membership = csr_array((part, (spelled.code.astype(np.int64), row)), shape=shape)
    mass = membership @ (np.ones(n) if weight is None else weight)
    return (
        Cells(
            code=np.empty(0, dtype=np.uint8),
            weight=weight,
            label=spelled.label,
            sensitive=spelled.sensitive,
            control=spelled.control,
            mass=mass / mass.sum(),
            count=membership @ np.ones(n),
        ),
        membership,
    )
