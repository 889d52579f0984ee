"""Combinations of values: groups and strata as masks over cells."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def groups_of(columns: Mapping[str, NDArray], how: str, n_cells: int) -> dict[Hashable, Mask]:
    """Return the groups that sensitive features (C,) make; see `CellTable.groups`."""
    if how == "slices":
        return {name: _yes_or_no(name, values) for name, values in columns.items()}
    if how not in ("intersections", "margins", "both"):
        raise ValueError(
            f"groups is {how!r}; expected 'intersections', 'margins', 'both' or 'slices'."
        )
    intersections = masks_of(list(columns.values()), n_cells)
    if how == "intersections" or len(columns) == 1:
        return intersections
    margins: dict[Hashable, Mask] = {
        f"{name}={value}": mask
        for name, values in columns.items()
        for value, mask in masks_of([values], n_cells).items()
    }
    return margins if how == "margins" else margins | intersections


def masks_of(columns: list[NDArray], n_cells: int) -> dict[Hashable, Mask]:
    """Return the cells of each combination of the values of columns (C,)."""
    keys = list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))
    masks: dict[Hashable, Mask] = {}
    for cell, key in enumerate(keys):
        masks.setdefault(key, np.zeros(n_cells, dtype=bool))[cell] = True
    return masks


def _yes_or_no(name: str, values: NDArray) -> Mask:
    """Return the cells where a feature is true; raise if it is no yes or no."""
    if not set(values.tolist()) <= {0, 1}:
        shown = ", ".join(map(repr, sorted(set(map(str, values.tolist())))[:4]))
        raise ValueError(
            f"groups='slices' takes every sensitive feature as yes or no, but {name!r} has the "
            f"values {shown}; expected True and False (or 1 and 0)."
        )
    return values.astype(bool)
