"""Numbers in classes: ``--bins age=4`` by quantiles, ``--bins age=25,40,60`` by edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cli.tables.columns import as_number, kind_of
from equipoise.rows.bins import MOST_BINS, quantile_edges


def read_bins(
    given: Sequence[str],
    table: Any,
    grouping: Sequence[str],
    counts: Mapping[str, Counter] | None = None,
) -> dict[str, list[float]]:
    """Return the edges between classes, by column.

    ``counts`` are given where a table has distinct values: how many people have each.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 50], "pay": [1.5, 2.5, 3.5, 4.5]})
    >>> read_bins(["age=25,40", "pay=2"], table, ["age", "pay"])
    {'age': [25.0, 40.0], 'pay': [3.0]}
    """
    found: dict[str, list[float]] = {}
    for text in given:
        name, _, spec = text.rpartition("=")
        if name not in grouping:
            named = ", ".join(map(repr, grouping))
            raise ValueError(
                f"--bins is {text!r}; expected COLUMN=4, or edges as COLUMN=25,40,60, of a column "
                f"that makes groups: {named}."
            )
        if kind_of(table[name], name) != "number":
            raise ValueError(f"--bins is {text!r}, but column {name!r} holds no numbers.")
        values = as_number(table[name], name).to_numpy()
        people = np.ones(len(values)) if counts is None else np.array([*counts[name].values()])
        known, place = np.unique(values[np.isfinite(values)], return_inverse=True)
        found[name] = _edges(text, spec, known, np.bincount(place, people[np.isfinite(values)]))
    return found


def _edges(text: str, spec: str, values: NDArray, count: NDArray) -> list[float]:
    try:
        numbers = [float(part) for part in spec.split(",")]
    except ValueError:
        raise ValueError(
            f"--bins is {text!r}; expected a number of classes, or edges such as 25,40,60."
        ) from None
    if len(numbers) > 1 or not 2 <= numbers[0] <= MOST_BINS or numbers[0] % 1:
        if numbers != sorted(set(numbers)) or not np.isfinite(numbers).all():
            raise ValueError(f"--bins is {text!r}; expected edges that increase.")
        return numbers
    return quantile_edges(values, count, int(numbers[0]))
