"""What was measured on some people, as plain data: error, inequalities, and the headline."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from equipoise.metrics.headline import compared
from equipoise.rows.fingerprint import Overlap


def finite(value: float) -> float | None:
    """Return a number for JSON, which knows no infinity."""
    return float(value) if math.isfinite(value) else None


def largest_of(values: Iterable[float | None]) -> float | None:
    """Return the largest of the values that are there; None where none is."""
    return max((value for value in values if value is not None), default=None)


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
    is one group alone, the excess is not known. ``verdict`` says in words whether the bound is
    exceeded, see `equipoise.metrics.verdict`.
    """

    text: str
    excess: Range
    people: int = 0
    verdict: str = ""


@dataclass(frozen=True)
class MeasuredContents:
    """A classifier measured on some people.

    ``data`` is "training", "out of fold" or "test". ``excess`` is the largest constraint value
    minus its bound, ``worst`` the inequality that it belongs to. ``disparity`` is the largest
    difference itself, where all inequalities have the same ``bound``. ``headline`` is the
    inequality that stands first, see `equipoise.metrics.headline`, None where nothing is known.
    ``overlap`` tells how many of the people were learned from, None where that is not known.
    ``verdict`` says in words whether a bound is exceeded, of all inequalities. ``traced`` where
    this is of a frontier: the same inequalities are then stated for every bound, see
    `equipoise.metrics.headline.compared`.

    What is written for others leaves people out, see `equipoise.metrics.few`. ``hidden`` then
    counts the inequalities that are about them and in none of this; the verdict is of everybody,
    and ``larger_for_few`` says that the inequality stated first would be of such a group.
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
    headline: RowContents | None = None
    bound: float | None = None
    traced: bool = False
    verdict: str = ""
    larger_for_few: bool = False

    @property
    def estimated(self) -> RowContents | None:
        """The inequality of the largest estimate, None where that is the one stated."""
        worst = next((row for row in self.rows if row.text == self.worst), None)
        return None if worst == self.stated else worst

    @property
    def stated(self) -> RowContents | None:
        """The inequality that is stated first: the headline; on a frontier the largest."""
        if not self.traced:
            return self.headline
        measured = [row for row in self._compared if row.excess.estimate is not None]
        return max(measured, key=lambda row: row.excess.estimate or 0.0, default=None)

    @property
    def stated_excess(self) -> Range | None:
        """The excess that is stated first, None where nothing is known.

        On a frontier the interval is that of the largest, since the intervals of all hold at once.
        """
        if self.stated is None or not self.traced:
            return None if self.stated is None else self.stated.excess
        return Range(*map(largest_of, zip(*(row.excess for row in self._compared), strict=True)))

    @property
    def difference(self) -> Range | None:
        """The difference that is stated first, None where bounds are not the same."""
        excess = self.stated_excess
        return None if excess is None or self.bound is None else excess.above(self.bound)

    @property
    def _compared(self) -> list[RowContents]:
        mask = compared([row.people for row in self.rows], self.data)
        return [row for row, there in zip(self.rows, mask, strict=True) if there]

    def difference_of(self, row: RowContents) -> Range | None:
        """Return the difference that an inequality is about, its excess plus the bound.

        >>> row, nothing = RowContents("F below M", Range(0.01, -0.03, 0.05)), Range(*[None] * 3)
        >>> entry = MeasuredContents("test", 9, nothing, nothing, None, "", [row], bound=0.02)
        >>> entry.difference_of(row)
        Range(estimate=0.03, low=0.0, high=0.07)
        """
        return None if self.bound is None else row.excess.above(self.bound)
