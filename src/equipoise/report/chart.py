"""The frontier as a picture: its axes, marks and lines. A template draws them as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.report.contents import GroupContents, PointContents, ReportContents
from equipoise.report.measurement import MeasuredContents, Range
from equipoise.report.text import bound, decimal, whose

#: Data -> class of its marks, which says colour and shape; in the order of drawing.
_KINDS = {"test": "test", "out of fold": "fold", "training": "train", "recertified": "train"}
_LEGEND = {
    "training": "people learned from",
    "out of fold": "the same people, out of fold",
    "test": "test data",
    "recertified": "people recertified on",
}


@dataclass(frozen=True)
class Mark:
    """A classifier as measured on some data, and the class of its mark."""

    data: str
    disparity: Range
    error: Range
    people: str = ""

    @property
    def kind(self) -> str:
        """The class of the mark."""
        return _KINDS.get(self.data, "train")

    @property
    def name(self) -> str:
        """Whom it was measured on, in words."""
        return self.people or _LEGEND.get(self.data, self.data)


def marks_of(point: PointContents) -> list[Mark]:
    """Return where a classifier is, on each of the data, those it was fitted to last."""
    found = [
        Mark(entry.data, difference, entry.error, _people(entry))
        for entry in point.measured
        if (difference := entry.difference) is not None
        and difference.estimate is not None
        and entry.error.estimate is not None
    ]
    if not found and point.disparity is not None:
        fit = Range(point.disparity, None, None), Range(point.error, None, None)
        found = [Mark("training", *fit)]
    order = list(_KINDS)
    return sorted(found, key=lambda mark: order.index(mark.data) if mark.data in order else 9)


def _people(entry: MeasuredContents) -> str:
    return whose(entry) if entry.data == "test" and entry.overlap is not None else ""


def point_summary(point: PointContents) -> str:
    """Return a point in one sentence.

    >>> point_summary(PointContents(0.02, 0.17, 0.02, 0.1, [], {}, [], [], [], {}))
    'Bound 0.02. On training data: error 0.1700, largest difference 0.0200.'
    """
    name = "Without the constraint." if point.eps is None else f"Bound {bound(point.eps)}."
    parts = [
        f"On {mark.data} data: error {decimal(mark.error.estimate)}, largest difference "
        f"{decimal(mark.disparity.estimate)}."
        for mark in reversed(marks_of(point))
    ]
    return " ".join([name, *parts])


class Plot:
    """The size of a picture, and the places of its axes."""

    width, height = 720, 430
    left, right, top, bottom = 108, 704, 14, 358


class Chart(Plot):
    """Error against the largest difference, for every point of a frontier."""

    measured, measure = "largest difference", "error"

    def __init__(self, contents: ReportContents) -> None:
        name = "the constraint" if contents.constraint is None else contents.constraint.name
        self.title = f"Frontier for {name}: error against the largest difference between groups"
        self.points = [(point, marks_of(point)) for point in contents.all_points]
        self.traced = self.points[: len(contents.points)]
        marks = [mark for _, found in self.points for mark in found]
        disparities = [mark.disparity.estimate or 0.0 for mark in marks]
        self.across = Axis.over(disparities, self.left, self.right, ratios=True)
        self.up = Axis.over([mark.error.estimate or 0.0 for mark in marks], self.bottom, self.top)

    def place(self, mark: Mark) -> tuple[float, float]:
        """Return where a mark is."""
        return (
            self.across.place(mark.disparity.estimate or 0.0),
            self.up.place(mark.error.estimate or 0.0),
        )

    def ends(self, mark: Mark) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the ends of its intervals, across and up; none on the data of the fit."""
        if mark.data == "training":
            return (), ()
        return _ends(self.across, mark.disparity), _ends(self.up, mark.error)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines through the marks of the same data: class of the line, and places."""
        drawn = []
        for data, kind in _KINDS.items():
            places = [self.place(m) for _, marks in self.traced for m in marks if m.data == data]
            if len(places) > 1:
                drawn.append((kind, " ".join(f"{x},{y}" for x, y in places)))
        return drawn


def _ends(axis: Axis, value: Range) -> tuple[float, ...]:
    if value.low is None or value.high is None:
        return ()
    return axis.place(value.low), axis.place(value.high)


#: Beyond this ratio of largest to smallest an axis is logarithmic: else bounds pile up at its end.
_WIDE = 20


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic axis, from ``low`` at the place ``start`` to ``high`` at ``end``.

    >>> axis = Axis(0.01, 1.0, 0.0, 100.0, logarithmic=True)
    >>> axis.place(0.1), axis.place(0.0)  # what lies outside is put at the end
    (50.0, 0.0)
    >>> axis.ticks()
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, ratios: bool = False
    ) -> Axis:
        """Return an axis that shows these numbers, with some room at its ends.

        With ``ratios`` it is logarithmic if the numbers differ that much.

        >>> Axis.over([0.001, 0.2], 0, 1, ratios=True).logarithmic
        True
        >>> Axis.over([0.1, 0.2], 0, 1).ticks()
        [0.1, 0.12, 0.14, 0.16, 0.18, 0.2]
        """
        values = list(values)
        low, high = min(values), max(values)
        positive = [value for value in values if value > 1e-9]
        if ratios and positive and high / min(positive) > _WIDE:
            least = max(min(positive), high / 1000)
            return cls(least / 1.2, high * 1.2, start, end, logarithmic=True)
        room = 0.06 * (high - low) or 0.1 * abs(high) or 0.01
        return cls(max(low - room, 0.0) if low >= 0 else low - room, high + room, start, end)

    def place(self, value: float) -> float:
        """Return where a number is on the picture."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Return round numbers on the axis."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            for digits in ((1, 2, 5), (1, 3), (1,)):
                every = [float(f"{d}e{n}") for n in range(first, last + 1) for d in digits]
                ticks = [tick for tick in every if self.low <= tick <= self.high]
                if len(ticks) < 8:
                    break
            return ticks
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(d * power for d in (1, 2, 5, 10) if rough <= d * power * 1.0001)
        count = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [float(f"{n * step:.6g}") for n in count]


def rate_axis(pairs: Iterable[tuple[GroupContents, GroupContents | None]], rate: str) -> Axis:
    """Return an axis, in percent of its length, for a rate of groups and its intervals.

    >>> groups = [GroupContents("a", "F", 9, {"r": Range(0.03, 0.02, 0.041)})]
    >>> rate_axis([(group, None) for group in groups], "r").ticks()
    [0.02, 0.025, 0.03, 0.035, 0.04]
    """
    ranges = [group.rates.get(rate) for pair in pairs for group in pair if group is not None]
    ends = [end for some in ranges if some is not None for end in some if end is not None]
    axis = Axis.over(ends or (0.0, 1.0), 0, 100)
    return replace(axis, high=min(axis.high, 1.0))


def on_axis(value: float, axis: Sequence[Any]) -> float:
    """Return where a number is between the ends of an axis, in percent.

    >>> on_axis(0.1, [0.0, 0.4, []])
    25.0
    """
    low, high, _ = axis
    return Axis(low, high, 0.0, 100.0).place(value)
