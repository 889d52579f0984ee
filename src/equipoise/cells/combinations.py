"""Combinations of label, sensitive and control values: numbers of cells, and masks over them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.codes import factorize, number_combinations

Mask = NDArray[np.bool_]


class Names(TypedDict):
    """Label and features of each cell."""

    label: NDArray[np.int8]
    sensitive: dict[str, NDArray]
    control: dict[str, NDArray]


def number_cells(
    label: ArrayLike,
    sensitive: Mapping[str, ArrayLike],
    control: Mapping[str, ArrayLike],
    n_labels: int = 2,
) -> tuple[NDArray[np.integer], Names]:
    """Return the number of each row's cell, and label and features of each cell that occurs."""
    columns = [factorize(values) for values in (*control.values(), *sensitive.values())]
    codes = (*(codes for codes, _ in columns), np.asarray(label, dtype=np.int8))
    sizes = (*(len(values) for _, values in columns), n_labels)
    code, combinations = number_combinations(codes, sizes)
    table = [values[at] for (_, values), at in zip(columns, combinations, strict=False)]
    return code, Names(
        label=combinations[-1].astype(np.int8),
        sensitive=dict(zip(sensitive, table[len(control) :], strict=True)),
        control=dict(zip(control, table, strict=False)),
    )


def masks_of(columns: list[NDArray], n_cells: int) -> dict[Hashable, Mask]:
    """Return the cells of each combination of the values of columns (C,)."""
    keys = list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))
    masks: dict[Hashable, Mask] = {}
    for cell, key in enumerate(keys):
        masks.setdefault(key, np.zeros(n_cells, dtype=bool))[cell] = True
    return masks


def yes_or_no(name: str, values: NDArray) -> Mask:
    """Return the cells where a feature is true; raise if it is no yes or no."""
    if not set(values.tolist()) <= {0, 1}:
        shown = ", ".join(map(repr, sorted(set(map(str, values.tolist())))[:4]))
        raise ValueError(
            f"groups='slices' takes every sensitive feature as yes or no, but {name!r} has the "
            f"values {shown}; expected True and False (or 1 and 0)."
        )
    return values.astype(bool)
