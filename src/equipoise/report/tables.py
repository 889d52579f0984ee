"""Tables that scroll on a narrow screen, with a caption and headers."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.report.contents import Range
from equipoise.report.markup import Child, Html, element
from equipoise.report.numbers import UNKNOWN, decimal, interval, percent


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Html]]) -> Html:
    """Return a table of cells that are made already, under one line of headers.

    >>> "scope" in table("Caption", ["a"], [[cell("1")]])
    True
    """
    head = element("tr", [element("th", name, scope="col") for name in header])
    return whole_table(caption, [head], [element("tr", row) for row in rows])


def whole_table(caption: str, head: Sequence[Html], body: Sequence[Html]) -> Html:
    """Return a table of lines that are made already."""
    # The inner element stays in sight while a wide table is scrolled.
    inside = (
        element("caption", element("span", caption)),
        element("thead", head),
        element("tbody", body),
    )
    return scrolling(caption, element("table", *inside))


def cell(*children: Child, class_: str | None = None) -> Html:
    """Return a cell.

    >>> cell("<")
    '<td>&lt;</td>'
    """
    return element("td", *children, class_=class_)


def range_cell(
    value: Range | None, *, share: bool = False, sign: str = "", kind: str | None = None
) -> Html:
    """Return a cell with an estimate, and its interval below.

    >>> range_cell(Range(0.2, 0.1, 0.3), share=True)
    '<td>20.0% <span class="small">[10.0, 30.0]</span></td>'
    """
    if value is None or value.estimate is None:
        return cell(UNKNOWN, class_=kind)
    estimate = percent(value.estimate) if share else decimal(value.estimate, sign)
    small = element("span", interval(value, share=share, sign=sign), class_="small")
    return cell(estimate, " ", small, class_=kind)


def scrolling(name: str, inside: Html) -> Html:
    """Return something wide in a box that scrolls, by keyboard too."""
    return element("div", inside, class_="scroll", role="region", aria_label=name, tabindex="0")
