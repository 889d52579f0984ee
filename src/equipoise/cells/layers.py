"""Layers of rows: what each row adds to its cell, and their adjoint; on one machine or on many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.labels import Array


class LayerSums(NamedTuple):
    """What a `LayeredTable` has beyond the cells: sums over rows, so that parts of them add up."""

    layers: tuple[str, ...]
    at_zero: Mapping[str, Array]
    counted: Array | None
    least: Array
    most: Array

    @classmethod
    def of_parts(cls, parts: Sequence[LayerSums], total: float) -> LayerSums:
        """Return the sums of all parts of the data, divided by the weight of all rows."""

        def over(arrays: Iterable[Array | None]) -> Array:
            return np.sum([array for array in arrays if array is not None], axis=0) / total

        first = parts[0]
        return cls(
            first.layers,
            {layer: over(part.at_zero[layer] for part in parts) for layer in first.at_zero},
            None if first.counted is None else over(part.counted for part in parts),
            over(part.least for part in parts),
            over(part.most for part in parts),
        )


def layer_sums(
    added: Callable[[Array], Array],
    own: Array,
    even: Array,
    by_head: bool,
    utilities: Mapping[str, Array],
    n_decisions: int = 2,
) -> tuple[tuple[Array, ...], LayerSums]:
    """Return what each row adds to its cell in every layer if it is selected, and sums over cells.

    Parameters
    ----------
    added : callable
        From a value for each row to the sum of each cell.
    own, even : array of shape (n,)
        The weight of each row in the error, and that of a row where all count the same.
    by_head : bool
        Whether weights enter the error only.
    utilities : mapping from name to array of shape (n, V)
    n_decisions : int, default=2
    """
    factors, at_zero = {"error": own} | ({"people": even} if by_head else {}), {}
    kinds = {"utility": even, "error": own} if by_head else {"utility": own}
    for name, g in utilities.items():
        for kind, by in kinds.items():
            more = g[:, 1] - g[:, 0] if n_decisions == 2 else g[:, 1:] - g[:, :1]
            factors[f"{kind} {name}"] = (by * more.T).T
            at_zero[f"{kind} {name}"] = added(by * g[:, 0])

    def limit(extreme: np.ufunc) -> Array:
        everybody = np.ones((len(own), n_decisions)) if n_decisions > 2 else np.ones(len(own))
        ends = [extreme(factor, 0.0) for factor in factors.values()]
        return layer_tables(added, ends, everybody, n_decisions)

    sums = LayerSums(
        layers=tuple(factors),
        at_zero=at_zero,
        counted=added(even) if by_head else None,
        least=limit(np.minimum),
        most=limit(np.maximum),
    )
    return tuple(factors.values()), sums


def layer_tables(
    added: Callable[[Array], Array], factors: Sequence[Array], h: NDArray, n_decisions: int
) -> Array:
    """Return what rows add to their cells in every layer, by what is decided about them.

    Parameters
    ----------
    added : callable
        From a value for each row to the sum of each cell.
    factors : sequence of arrays of shape (n,) or (n, V - 1)
    h : array of shape (n,) or (n, V)
        Decisions, or their probabilities, as for `Cells.sum`.
    n_decisions : int
    """
    if n_decisions == 2:
        return np.concatenate([added(factor * h) for factor in factors])
    each = h.T[1:] if h.ndim == 2 else h == np.arange(1, n_decisions)[:, None]
    tables = [np.column_stack([added(own) for own in factor.T * each]) for factor in factors]
    return np.concatenate(tables, axis=None)


def costs_of_rows(
    spread: Callable[[Array], Array], factors: Sequence[Array], tables: Array
) -> Array:
    """Return what decisions cost more than decision 0, row by row, given costs by layer.

    ``spread`` is from a value for each cell to those of the rows; ``tables`` have the shape
    (layers, C, V - 1). Of two decisions the answer has one dimension.
    """
    found = []
    for decision in range(tables.shape[2]):
        each = np.zeros(len(factors[0]))
        for factor, table in zip(factors, tables[:, :, decision], strict=True):
            if table.any():
                own = factor[:, decision] if factor.ndim == 2 else factor
                each += own * spread(table)
        found.append(each)
    return found[0] if len(found) == 1 else np.column_stack(found)
