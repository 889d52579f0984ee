"""Bins: a numeric sensitive feature as a few groups in order, by quantiles or by edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.groups import known_in
from equipoise.cells.table import Array
from equipoise.cells.values import UNKNOWN, levels
from equipoise.rows.validation import is_whole

#: The most bins that a number may ask for.
MOST_BINS = 100

#: A number of bins of equal size, or the edges between them.
Bins = int | Sequence[float]


def read_bins(given: Any, columns: Sequence[str]) -> dict[str, Bins]:
    """Return the bins asked for, by column; without a name they are of the only column.

    >>> read_bins(4, ["age"]), read_bins({"age": [25, 40]}, ["age", "sex"])
    ({'age': 4}, {'age': [25.0, 40.0]})
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(columns) != 1:
            raise ValueError(
                f"bins is {given!r} for the sensitive features {', '.join(map(repr, columns))}; "
                f"expected a column for each, such as bins={{{columns[0]!r}: 4}}."
            )
        given = {columns[0]: given}
    if strange := [name for name in given if name not in columns]:
        raise ValueError(
            f"bins names the column {strange[0]!r}; expected sensitive features: "
            f"{', '.join(map(repr, columns))}."
        )
    return {str(name): check_bins(spec, f"bins of {name!r}") for name, spec in given.items()}


def check_bins(spec: Any, called: str) -> Bins:
    """Return a number of bins or edges; raise for anything else."""
    if is_whole(spec) and 2 <= spec <= MOST_BINS:
        return int(spec)
    try:
        edges = np.asarray(spec, dtype=float)
    except (TypeError, ValueError):
        edges = np.empty(())
    if edges.ndim != 1 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise ValueError(
            f"{called} is {spec!r}; expected a number of bins of equal size from 2 to {MOST_BINS}, "
            "or edges that increase, such as [25, 40, 60]."
        )
    return edges.tolist()


def quantile_edges(values: Array, count: NDArray[Any], bins: int) -> list[float]:
    """Return the edges between bins that have about as many people each.

    ``values`` are the distinct ones in order, each of ``count`` people.

    >>> quantile_edges(np.array([20.0, 30.0, 40.0, 50.0]), np.ones(4), 2)
    [35.0]
    """
    last, total = np.cumsum(count) - 1, count.sum()
    place = np.arange(1, bins) / bins * (total - 1)
    below, above = (values[np.searchsorted(last, end(place))] for end in (np.floor, np.ceil))
    edges = np.unique(below + (place % 1) * (above - below))
    # An edge at the least value would leave a bin empty; few different values give few bins.
    return [float(edge) for edge in edges if edge > values[0]]


def as_numbers(values: NDArray[Any], name: str) -> Array:
    """Return a column as numbers, NaN where it is not known; raise if it holds no numbers."""
    known = known_in([values], len(values))
    numbers = np.full(len(values), np.nan)
    try:
        if values.dtype.kind in "USmM" or any(isinstance(v, str) for v in set(values[known])):
            raise TypeError
        numbers[known] = values[known].astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"bins are asked for of {name!r}, which holds values such as {values[known][0]!r}; "
            "expected numbers."
        ) from None
    return numbers


def edges_for(values: NDArray[Any], bins: Bins, name: str) -> list[float]:
    """Return the edges of a column of these values, some of which may not be known."""
    if not isinstance(bins, int):
        return list(bins)
    numbers = as_numbers(values, name)
    return quantile_edges(*np.unique(numbers[~np.isnan(numbers)], return_counts=True), bins)


def in_bins(values: NDArray[Any], edges: Sequence[float], name: str) -> NDArray[Any]:
    """Return the bin of each value, as text in order; values that are names of bins stay.

    >>> in_bins(np.array([18, 40, 25]), [25, 40], "age").tolist()
    ['under 25', '40 and over', '25 to under 40']
    """
    names = bin_names(edges)
    groups = np.array([*levels(names), UNKNOWN], dtype=object)
    known = known_in([values], len(values))
    place = np.full(len(values), len(names))
    if values.dtype.kind in "OU" and set(values[known]) <= set(names):
        place[known] = [names.index(value) for value in values[known]]
    else:
        place[known] = np.searchsorted(edges, as_numbers(values, name)[known], side="right")
    return groups[place]


def bin_names(edges: Sequence[float]) -> list[str]:
    """Return the names of the bins between edges, in order.

    >>> bin_names([25, 40])
    ['under 25', '25 to under 40', '40 and over']
    """
    if not len(edges):
        return ["all"]
    candidates = ([f"{edge:.{digits}g}" for edge in edges] for digits in range(6, 18))
    words = next(words for words in candidates if len(set(words)) == len(edges))
    inner = [f"{low} to under {high}" for low, high in pairwise(words)]
    return [f"under {words[0]}", *inner, f"{words[-1]} and over"]
