"""Rates of groups as marks on a line from 0 to 100 %, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.report.contents import GroupContents, Range
from equipoise.report.markup import Html, element, join, named
from equipoise.report.numbers import RATE_MEANINGS, RATE_NAMES, group_name

#: More groups than these make a picture that nobody reads; the table has them.
MOST_GROUPS = 14


def rate_tracks(
    series: Mapping[str, Sequence[GroupContents]], rates: Sequence[str], description: str
) -> Html | None:
    """Return a picture of rates, a block for each rate and a line for each group.

    Parameters
    ----------
    series : mapping from "free" or "fair" to the groups
        The same groups, decided on by the unconstrained and by the fair classifier.
    rates : sequence of str
    description : str
        What a screen reader says instead; the numbers are in a table.
    """
    groups = next(iter(series.values()))
    if not groups or len(groups) > MOST_GROUPS:
        return None
    blocks = []
    for rate in rates:
        lines = [_line(series, at, rate) for at in range(len(groups))]
        heading = element("p", RATE_NAMES[rate], class_="rate", title=RATE_MEANINGS[rate])
        blocks.append(element("div", heading, lines, class_="block"))
    return element("div", blocks, class_="tracks", role="img", aria_label=description)


def _line(series: Mapping[str, Sequence[GroupContents]], at: int, rate: str) -> Html:
    group = next(iter(series.values()))[at]
    marks = [_marks(kind, groups[at].rates[rate]) for kind, groups in series.items()]
    ticks = [
        element("line", x1=f"{x}%", x2=f"{x}%", y1=2, y2=26, class_="grid")
        for x in (0, 25, 50, 75, 100)
    ]
    picture = element("svg", ticks, marks, width="100%", height=28)
    name = named(group_name(group.feature, group.group))
    return element("div", element("span", name, class_="group"), picture, class_="line")


def _marks(kind: str, rate: Range) -> Html:
    if rate.estimate is None:
        return Html("")
    y = 9 if kind == "free" else 19
    bar = None
    if rate.low is not None and rate.high is not None:
        bar = element("line", x1=_at(rate.low), x2=_at(rate.high), y1=y, y2=y, class_=f"bar {kind}")
    return join(bar, element("circle", cx=_at(rate.estimate), cy=y, r=5, class_=f"mark {kind}"))


def _at(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"
