"""Groups of few people, which are left out of what is written for others.

A group is a combination of the values of all sensitive and control features. People of a group of
fewer than the limit are in no number of a page, a card or a JSON output, those of everybody
neither; so nothing that is there gives them away by subtraction, and no other group is touched.
What the owner of the data sees, on a terminal or in a notebook, leaves nobody out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from equipoise.cells.table import CellTable, Mask
from equipoise.cells.values import is_number

#: Groups of fewer people are left out of what is written for others, unless it is told otherwise.
FEW_LIMIT = 10


def check_limit(limit: Any, name: str = "suppress_below") -> int:
    """Return the limit, a number of people; refuse what is none.

    >>> check_limit(0)
    0
    >>> check_limit(-1)
    Traceback (most recent call last):
    ValueError: suppress_below is -1; expected a number of people, 0 or more. Groups of fewer are \
left out of what is written for others; 0 leaves nobody out.
    """
    if is_number(limit) and limit >= 0 and limit == int(limit):
        return int(limit)
    raise ValueError(
        f"{name} is {limit!r}; expected a number of people, 0 or more. Groups of fewer are left "
        "out of what is written for others; 0 leaves nobody out."
    )


def cells_of_few(cells: CellTable, limit: int) -> Mask:
    """Return the cells of groups of fewer people than the limit.

    Where groups are known by probability, people are not counted, and no cell is one of few.

    >>> cells, _ = CellTable.from_sums(
    ...     [0, 1, 1, 0], {"sex": list("FFXM")}, {}, count=np.array([50.0, 40.0, 3.0, 60.0]))
    >>> [str(sex) for sex in cells.sensitive["sex"][cells_of_few(cells, 10)]]
    ['X']
    """
    if not (cells.count == np.round(cells.count)).all():
        return np.zeros(cells.n_cells, dtype=bool)
    columns = [values.tolist() for values in (*cells.sensitive.values(), *cells.control.values())]
    groups = list(zip(*columns, strict=True)) if columns else [()] * cells.n_cells
    people: Counter[Any] = Counter()
    for group, count in zip(groups, cells.count.tolist(), strict=True):
        people[group] += count
    return np.array([people[group] < limit for group in groups], dtype=bool)


def group_of_few(limit: int) -> str:
    """Return what stands for a group that may not be named.

    >>> group_of_few(10)
    'a group of fewer than 10 people'
    """
    return f"a group of fewer than {limit} people"


def left_out(limit: int) -> str:
    """Return the sentence that says who is left out.

    >>> left_out(10)
    'People in groups of fewer than 10 are left out of every number here, those of everybody too; \
whether bounds are met is judged with them.'
    """
    return (
        f"People in groups of fewer than {limit:,} are left out of every number here, those of "
        "everybody too; whether bounds are met is judged with them."
    )
