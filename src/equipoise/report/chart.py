"""The frontier as a picture: inline SVG whose points are links, readable without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.report.axis import Axis
from equipoise.report.contents import PointContents, Range, ReportContents
from equipoise.report.markup import Html, element
from equipoise.report.numbers import bound, decimal

WIDTH, HEIGHT = 720, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 108, 16, 14, 72

#: Data -> class of its marks, which says colour and shape, and the order of drawing.
_SERIES = {"test": "test", "out of fold": "fold", "training": "train", "recertified": "train"}


@dataclass(frozen=True)
class Mark:
    """Where a classifier is on the picture, as measured on some data."""

    data: str
    disparity: Range
    error: Range

    @property
    def kind(self) -> str:
        """The class of the mark."""
        return _SERIES.get(self.data, "train")


def point_key(contents: ReportContents, point: PointContents) -> str:
    """Return the name of a point in links: its number, or "free" for the unconstrained one."""
    if point is contents.unconstrained:
        return "free"
    return str(next(at for at, other in enumerate(contents.points) if other is point))


def marks_of(point: PointContents) -> list[Mark]:
    """Return where a classifier is, on each of the data, those it was fitted to last."""
    found = [
        Mark(entry.data, entry.disparity, entry.error)
        for entry in point.measured
        if entry.disparity is not None
        and entry.disparity.estimate is not None
        and entry.error.estimate is not None
    ]
    if not found and point.disparity is not None:
        alone = Range(point.disparity, None, None), Range(point.error, None, None)
        found = [Mark("training", *alone)]
    order = list(_SERIES)
    return sorted(found, key=lambda mark: order.index(mark.data) if mark.data in order else 9)


def frontier_chart(contents: ReportContents, chosen: PointContents) -> Html:
    """Return the picture: error against the largest difference, a link for each point."""
    alone = [] if contents.unconstrained is None else [contents.unconstrained]
    points = [*contents.points, *alone]
    marks = {id(point): marks_of(point) for point in points}
    every = [mark for found in marks.values() for mark in found]
    across = Axis.over(
        [mark.disparity.estimate or 0.0 for mark in every], _LEFT, WIDTH - _RIGHT, ratios=True
    )
    up = Axis.over([mark.error.estimate or 0.0 for mark in every], HEIGHT - _BOTTOM, _TOP)
    links = [
        _link(contents, point, marks[id(point)], across, up, chosen=point is chosen)
        for point in points
    ]
    return element(
        "svg",
        element("title", _title(contents)),
        element("desc", "Each point is a classifier. Select one to see what it does to people."),
        _frame(across, up),
        [_line(contents.points, data, across, up) for data in _SERIES],
        element("g", links, id="points"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        class_="frontier",
        role="group",
        aria_label=_title(contents),
        xmlns="http://www.w3.org/2000/svg",
    )


def legend(contents: ReportContents) -> Html:
    """Return what the marks mean."""
    names = {
        "training": "people learned from",
        "out of fold": "the same people, out of fold",
        "test": "people held out",
        "recertified": "people recertified on",
    }
    first = contents.points[0]
    shown = [(mark.kind, names.get(mark.data, mark.data)) for mark in reversed(marks_of(first))]
    items = [element("li", _swatch(kind), name) for kind, name in shown]
    if contents.unconstrained is not None:
        items.append(element("li", _swatch("train", ring=True), "ringed: without the constraint"))
    items.append(element("li", "dashed: the bound; lines through a mark: intervals"))
    return element("ul", items, class_="legend")


def summary(point: PointContents) -> str:
    """Return a point in one sentence.

    >>> summary(PointContents(0.02, 0.17, 0.02, 0.1, [], {}, [], [], [], {}))
    'Bound 0.02. On training data: error 0.1700, largest difference 0.0200.'
    """
    name = "Without the constraint." if point.eps is None else f"Bound {bound(point.eps)}."
    parts = [
        f"On {mark.data} data: error {decimal(mark.error.estimate)}, largest difference "
        f"{decimal(mark.disparity.estimate)}."
        for mark in reversed(marks_of(point))
    ]
    return " ".join([name, *parts])


def _title(contents: ReportContents) -> str:
    name = "the constraint" if contents.constraint is None else contents.constraint.name
    return f"Frontier for {name}: error against the largest difference between groups"


def _frame(across: Axis, up: Axis) -> Html:
    bottom, left = HEIGHT - _BOTTOM, _LEFT
    parts = []
    for tick in across.ticks():
        x = across.place(tick)
        parts += [
            element("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid"),
            element("text", f"{tick:g}", x=x, y=bottom + 24, text_anchor="middle"),
        ]
    for tick in up.ticks():
        y = up.place(tick)
        parts += [
            element("line", x1=left, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid"),
            element("text", f"{tick:g}", x=left - 8, y=y + 5, text_anchor="end"),
        ]
    scale = " (log scale)" if across.logarithmic else ""
    middle = (left + WIDTH - _RIGHT) / 2
    label = f"largest difference{scale} → less fair"
    parts.append(element("text", label, x=middle, y=HEIGHT - 12, text_anchor="middle"))
    turned = f"translate(20 {(bottom + _TOP) / 2}) rotate(-90)"
    parts.append(element("text", "error → less accurate", transform=turned, text_anchor="middle"))
    return element("g", parts, class_="frame", aria_hidden="true")


def _line(points: Sequence[PointContents], data: str, across: Axis, up: Axis) -> Html | None:
    places = [
        f"{across.place(mark.disparity.estimate or 0.0)},{up.place(mark.error.estimate or 0.0)}"
        for point in points
        for mark in marks_of(point)
        if mark.data == data
    ]
    if len(places) < 2:
        return None
    return element("polyline", points=" ".join(places), class_=f"line {_SERIES[data]}")


def _link(
    contents: ReportContents,
    point: PointContents,
    marks: Sequence[Mark],
    across: Axis,
    up: Axis,
    *,
    chosen: bool,
) -> Html:
    key, text = point_key(contents, point), summary(point)
    shapes = [shape for mark in marks for shape in _shapes(mark, across, up, ring=key == "free")]
    limit = None
    if point.eps is not None:
        x = across.place(point.eps)
        limit = element("line", x1=x, x2=x, y1=_TOP, y2=HEIGHT - _BOTTOM, class_="limit")
    return element(
        "a",
        element("title", text),
        limit,
        shapes,
        href=f"#point-{key}",
        data_point=key,
        class_="point chosen" if chosen else "point",
        aria_label=text,
        aria_current="true" if chosen else None,
    )


def _shapes(mark: Mark, across: Axis, up: Axis, *, ring: bool) -> list[Html]:
    x, y = across.place(mark.disparity.estimate or 0.0), up.place(mark.error.estimate or 0.0)
    shapes = [*_bars(mark, across, up, x, y)]
    if ring:
        shapes.append(element("circle", cx=x, cy=y, r=11, class_=f"ring {mark.kind}"))
    shapes.append(element("circle", cx=x, cy=y, r=15, class_="target"))
    return [*shapes, _mark(mark.kind, x, y)]


def _bars(mark: Mark, across: Axis, up: Axis, x: float, y: float) -> list[Html]:
    """Return the intervals, drawn for the chosen point only; on the data of the fit, none."""
    bars: list[Html] = []
    if mark.data == "training":
        return bars
    kind = f"bar {mark.kind}"
    if mark.disparity.low is not None and mark.disparity.high is not None:
        ends = across.place(mark.disparity.low), across.place(mark.disparity.high)
        bars.append(element("line", x1=ends[0], x2=ends[1], y1=y, y2=y, class_=kind))
    if mark.error.low is not None and mark.error.high is not None:
        ends = up.place(mark.error.low), up.place(mark.error.high)
        bars.append(element("line", x1=x, x2=x, y1=ends[0], y2=ends[1], class_=kind))
    return bars


def _mark(kind: str, x: float, y: float) -> Html:
    """Return the mark itself: kinds differ in shape, not in colour alone."""
    name = f"mark {kind}"
    if kind == "test":
        return element("rect", x=x - 5, y=y - 5, width=10, height=10, class_=name)
    if kind == "fold":
        path = f"M{x} {y - 7}L{x + 6.5} {y + 5}L{x - 6.5} {y + 5}Z"
        return element("path", d=path, class_=name)
    return element("circle", cx=x, cy=y, r=6, class_=name)


def _swatch(kind: str, *, ring: bool = False) -> Html:
    around = element("circle", cx=12, cy=12, r=10, class_=f"ring {kind}") if ring else None
    mark = _mark(kind, 12, 12)
    return element("svg", around, mark, width=24, height=24, class_="swatch", aria_hidden="true")
