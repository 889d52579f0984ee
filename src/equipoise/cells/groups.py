"""Groups of cells: who belongs together by the values of sensitive features, and who is not known.

A person whose value of a feature is `UNKNOWN` is in no group that this feature makes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.values import UNKNOWN
from equipoise.memory import check_room

Mask = NDArray[np.bool_]

#: Masks over cells for each group, a byte a cell: of the group, and within two events.
_MASKS_A_GROUP = 3


class Group(NamedTuple):
    """A group: its members, and those of whom is known whether they are members, over cells."""

    members: Mask
    known: Mask


def known_in(columns: Sequence[NDArray[Any]], n_cells: int) -> Mask:
    """Return the cells in which the value of every one of these columns is known.

    >>> known_in([np.array(["F", UNKNOWN, "M"], dtype=object)], 3).tolist()
    [True, False, True]
    """
    known = np.ones(n_cells, dtype=bool)
    for values in columns:
        if values.dtype.kind == "O":
            known &= np.array([value is not UNKNOWN for value in values], dtype=bool)
    return known


def make_groups(
    sensitive: Mapping[str, NDArray[Any]], names: Sequence[str], how: str, n_cells: int
) -> dict[Hashable, Group]:
    """Return the groups that some features make; see `equipoise.cells.table.CellTable.groups`."""
    if missing := [name for name in names if name not in sensitive]:
        raise ValueError(
            f"no sensitive feature is called {missing[0]!r}; there are "
            f"{', '.join(map(repr, sensitive))}."
        )
    if how not in ("intersections", "margins", "both", "slices"):
        raise ValueError(
            f"groups is {how!r}; expected 'intersections', 'margins', 'both' or 'slices'."
        )
    columns = {name: sensitive[name] for name in names}
    if how == "slices":
        return {
            name: Group(_slice(name, values), known_in([values], n_cells))
            for name, values in columns.items()
        }
    intersections = combinations(list(columns.values()), n_cells)
    if how == "intersections" or len(columns) == 1:
        return intersections
    margins: dict[Hashable, Group] = {}
    for name, values in columns.items():
        for value, group in combinations([values], n_cells).items():
            if margins.setdefault(f"{name}={value}", group) is not group:
                raise ValueError(
                    f"two groups of groups={how!r} are called '{name}={value}': they could not be "
                    "told apart. Rename a sensitive feature, or its values."
                )
    return margins if how == "margins" else margins | intersections


def combinations(columns: Sequence[NDArray[Any]], n_cells: int) -> dict[Hashable, Group]:
    """Return the combinations of values that occur, in sorted order where they have one."""
    keys = list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))
    known = known_in(columns, n_cells)
    masks: dict[Hashable, Mask] = {}
    at = np.flatnonzero(known)
    n_groups = len({keys[cell] for cell in at})
    check_room(
        _MASKS_A_GROUP * float(n_groups) * n_cells,
        f"{n_groups:,} groups in {n_cells:,} cells",
        "Is a sensitive feature an identifier, or a number to be put into bins (bins={'age': 4})? "
        "Merge rare values into one before the fit.",
    )
    for cell in at:
        masks.setdefault(keys[cell], np.zeros(n_cells, dtype=bool))[cell] = True
    try:
        ordered = sorted(masks)  # type: ignore[type-var]
    except TypeError:
        ordered = list(masks)
    return {key: Group(masks[key], known) for key in ordered}


def _slice(name: str, values: NDArray[Any]) -> Mask:
    given = [value for value in values.tolist() if value is not UNKNOWN]
    if not set(given) <= {0, 1}:
        shown = ", ".join(map(repr, sorted(set(map(str, given)))[:4]))
        raise ValueError(
            f"groups='slices' takes every sensitive feature as yes or no, but {name!r} has the "
            f"values {shown}; expected True and False (or 1 and 0)."
        )
    return np.array([value is not UNKNOWN and bool(value) for value in values.tolist()], dtype=bool)


def plain_group(group: Any) -> Hashable:
    """Return a group in Python's own values, which compare without surprises.

    >>> plain_group((np.int64(1), "F"))
    (1, 'F')
    """
    if isinstance(group, tuple):
        return tuple(map(plain_group, group))
    return group.item() if isinstance(group, np.generic) else group
