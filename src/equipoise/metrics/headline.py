"""The headline: which of several differences, or excesses over bounds, stands first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array, Mask
from equipoise.constraints.rows import DIFFERENCE, Row
from equipoise.metrics.intervals import Interval
from equipoise.metrics.summaries import FEW

#: The rule, as it is told below tables.
RULE = (
    f"the largest lower limit or, where no difference is certain, the largest estimate of {FEW} or "
    "more people"
)

#: The differences that are compared between classifiers, as it is told below tables.
COMPARED = f"of the comparisons of {FEW} or more people; on training data, of all"


class Headline(NamedTuple):
    """An inequality, its excess, and how many people the rarest of its rates is of."""

    row: Row
    excess: Interval
    people: int

    def __str__(self) -> str:
        return f"{self.row} ({self.people:,})"


def first_row(rows: Sequence[tuple[Row, Interval]], people: ArrayLike) -> int | None:
    """Return which inequality, of these excesses, stands first; None where nothing is known.

    Of inequalities that bound a difference, one is certain where the difference is, whether or not
    it exceeds the bound; of others, where the bound is exceeded for sure.
    """
    zeros = [-row.bound if row.limit == DIFFERENCE and row.bound else 0.0 for row, _ in rows]
    return first([interval for _, interval in rows], people, zeros)


def headline(rows: Sequence[tuple[Row, Interval]], people: Array) -> Headline | None:
    """Return the inequality that stands first, and its people."""
    at = first_row(rows, people)
    return None if at is None else Headline(*rows[at], int(people[at]))


def compared(people: ArrayLike, data: str) -> Mask:
    """Return the inequalities that classifiers are compared by, the same for all classifiers.

    On the data of the fit, which a bound is about, all of them. On other data those whose rarest
    rate is of `FEW` or more people; all where there are none.

    >>> compared([12, 900], "test").tolist(), compared([12, 900], "training").tolist()
    ([False, True], [True, True])
    """
    many = np.asarray(people) >= FEW
    if data in ("training", "recertified") or not many.any():
        return np.ones(many.shape, dtype=bool)
    return many


def first(values: Sequence[Interval], people: ArrayLike, zero: ArrayLike = 0.0) -> int | None:
    """Return which of several values stands first; None where nothing is known.

    Intervals decide. Where lower limits are above ``zero``, something is certain, and the largest
    of these limits comes first: the estimate of a few people may be far off, and their interval is
    wide, and says so. Where none is, limits would put those first of whom most is known, however
    little they differ; so it is the largest estimate, of groups that are not small. Where all are
    small, or have no limits, it is the largest limit or estimate.

    >>> first([Interval(0.1, -0.2, 0.4), Interval(0.02, 0.01, 0.03)], [13, 900])
    1
    >>> first([Interval(0.005, -0.005, 0.01), Interval(0.01, -0.01, 0.03)], [800, 400])
    1
    >>> first([Interval(0.005, -0.005, 0.01), Interval(0.1, -0.2, 0.4)], [800, 13])
    0
    """
    estimate, low, _ = np.array(list(values), dtype=float).reshape(-1, 3).T
    many = np.isfinite(estimate) & (np.asarray(people) >= FEW)
    limited = np.isfinite(low)
    if (certain := limited & (low > zero)).any():
        order = [(low[at], estimate[at], -at) for at in np.flatnonzero(certain)]
    elif limited.any() and not many.any():
        order = [(low[at], estimate[at], -at) for at in np.flatnonzero(limited)]
    else:
        known = many if limited.any() else np.isfinite(estimate)
        order = [(estimate[at], low[at], -at) for at in np.flatnonzero(known)]
    return -int(max(order)[2]) if order else None
