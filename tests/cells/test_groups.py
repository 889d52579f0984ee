"""Groups of cells in which some values are unknown, against sets of rows."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.cells.values import UNKNOWN, levels

SEX = ["F", "F", "M", "M", UNKNOWN, UNKNOWN]
RACE = ["b", UNKNOWN, "b", "w", "w", UNKNOWN]


def cells_of(**columns: list) -> Cells:
    arrays = {
        name: np.array([*values, None], dtype=object)[:-1] for name, values in columns.items()
    }
    return Cells.from_columns([0, 1, 0, 1, 0, 1], arrays)


def rows(cells: Cells, mask: np.ndarray) -> set[int]:
    return set(np.flatnonzero(mask[cells.code]).tolist())


@pytest.mark.parametrize(
    ("how", "members", "known"),
    [
        (
            "intersections",
            {("F", "b"): {0}, ("M", "b"): {2}, ("M", "w"): {3}},
            {key: {0, 2, 3} for key in [("F", "b"), ("M", "b"), ("M", "w")]},
        ),
        (
            "margins",
            {"sex=F": {0, 1}, "sex=M": {2, 3}, "race=b": {0, 2}, "race=w": {3, 4}},
            {
                "sex=F": {0, 1, 2, 3},
                "sex=M": {0, 1, 2, 3},
                "race=b": {0, 2, 3, 4},
                "race=w": {0, 2, 3, 4},
            },
        ),
    ],
)
def test_people_are_in_the_groups_that_are_known_of_them(
    how: str, members: dict, known: dict
) -> None:
    cells = cells_of(sex=SEX, race=RACE)
    found = cells.groups(how=how)
    assert {group: rows(cells, mask) for group, mask in found.items()} == members
    told = cells.known_groups(how=how)
    assert {group: rows(cells, mask) for group, (_, mask) in told.items()} == known
    both = cells.groups(how="both")
    assert {group: rows(cells, both[group]) for group in members} == members
    assert rows(cells, cells.unknown) == {1, 4, 5}
    assert rows(cells, cells.groups("sex")["F"]) == {0, 1}


def test_slices_leave_the_unknown_out() -> None:
    cells = cells_of(deaf=[True, False, UNKNOWN, True, False, False])
    assert rows(cells, cells.groups(how="slices")["deaf"]) == {0, 3}
    assert rows(cells, cells.known_groups(how="slices")["deaf"].known) == {0, 1, 3, 4, 5}


def test_groups_come_in_the_order_of_their_values_whatever_cells_come_first() -> None:
    low, mid, high = levels(["low", "mid", "high"])
    # Of those in the first stratum nobody is low.
    size = np.array([high, mid, low, low, high, mid], dtype=object)
    cells = Cells.from_columns(
        [0, 1, 0, 1, 0, 1], {"size": size}, {"town": ["a", "a", "b", "b", "b", "b"]}
    )
    assert list(cells.groups()) == ["low", "mid", "high"]
    assert list(cells_of(size=[10, 9, 2, 10, 9, UNKNOWN]).groups()) == [2, 9, 10]
