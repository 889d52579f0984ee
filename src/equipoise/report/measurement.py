"""What was measured on some people, as plain data: error, inequalities, and the headline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from equipoise.rows.fingerprint import Overlap


def finite(value: float) -> float | None:
    """Return a number for JSON, which knows no infinity."""
    return float(value) if math.isfinite(value) else None


class Range(NamedTuple):
    """An estimate and its confidence interval; None where it is not known or without end."""

    estimate: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, estimate: float, low: float, high: float) -> Range:
        """Return an estimate with its interval; what is not a finite number becomes None."""
        return cls(*map(finite, (estimate, low, high)))

    def above(self, bound: float) -> Range:
        """Return the difference that exceeds a bound by this; it is never below zero."""
        return Range(*(None if end is None else max(bound + end, 0.0) for end in self))


@dataclass(frozen=True)
class RowContents:
    """One inequality of the constraint: what is compared, and its value minus its bound.

    ``people`` is how many its rarest rate was measured on. Where nothing is compared, since there
    is one group alone, the excess is not known.
    """

    text: str
    excess: Range
    people: int = 0


@dataclass(frozen=True)
class MeasuredContents:
    """A classifier measured on some people.

    ``data`` is "training", "out of fold" or "test". ``excess`` is the largest constraint value
    minus its bound, ``worst`` the inequality that it belongs to. ``disparity`` is the largest
    difference itself, where all inequalities have the same ``bound``. ``headline`` is the
    inequality that stands first, see `equipoise.metrics.headline`, None where nothing is known.
    ``overlap``
    tells how many of the people were learned from, None where that is not known. ``hidden`` counts
    suppressed inequalities, about small groups or others that would tell of these, which are in
    none of this; ``hidden_exceeded`` those of them that are exceeded, ``hidden_certain`` those that
    are so beyond their interval, by people who are not too few to tell.
    """

    data: str
    people: int
    error: Range
    excess: Range
    disparity: Range | None
    worst: str
    rows: list[RowContents]
    overlap: Overlap | None = None
    hidden: int = 0
    hidden_exceeded: int = 0
    hidden_certain: int = 0
    headline: RowContents | None = None
    bound: float | None = None

    @property
    def estimated(self) -> RowContents | None:
        """The inequality of the largest estimate, None where that is the headline."""
        found = next((row for row in self.rows if row.text == self.worst), None)
        return None if found == self.headline else found

    @property
    def difference(self) -> Range | None:
        """The difference that the headline is about, None where bounds are not the same."""
        return None if self.headline is None else self.difference_of(self.headline)

    @property
    def traced(self) -> Range | None:
        """The difference on a frontier: of training data, which a bound is about, the largest."""
        return self.disparity if self.data == "training" else self.difference

    def difference_of(self, row: RowContents) -> Range | None:
        """Return the difference that an inequality is about, its excess plus the bound.

        >>> row, nothing = RowContents("F below M", Range(0.01, -0.03, 0.05)), Range(*[None] * 3)
        >>> entry = MeasuredContents("test", 9, nothing, nothing, None, "", [row], bound=0.02)
        >>> entry.difference_of(row)
        Range(estimate=0.03, low=0.0, high=0.07)
        """
        return None if self.bound is None else row.excess.above(self.bound)
