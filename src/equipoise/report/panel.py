"""What is known about one classifier: measurements, groups, members, prices, certificate."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.report.chart import point_key, summary
from equipoise.report.contents import GroupContents, PointContents, Range, ReportContents
from equipoise.report.group_tables import shown_groups, side_by_side
from equipoise.report.markup import Html, element, join, named
from equipoise.report.numbers import (
    DECISION_RATES,
    bound,
    decimal,
    interval,
    on,
    percent,
    verdict,
)
from equipoise.report.tables import cell, range_cell, scrolling, table
from equipoise.report.tracks import rate_tracks
from equipoise.report.words import main_data

#: Of the inequalities of a constraint, which can be thousands, only the worst are shown.
_MOST_ROWS = 8
#: A member may describe itself at length.
_MOST_LETTERS = 300


def point_panel(contents: ReportContents, point: PointContents, most_groups: int) -> Html:
    """Return everything about one classifier, folded up under one line.

    Parameters
    ----------
    contents : ReportContents
    point : PointContents
        One of its points, or the unconstrained one.
    most_groups : int
        How many groups the tables have, at most.
    """
    key = point_key(contents, point)
    title = point_title(point)
    return element(
        "details",
        element("summary", summary(point)),
        element("h3", title, id=f"title-{key}", tabindex="-1"),
        _tiles(contents, point),
        _selection(point),
        _measured(contents, point),
        _groups(contents, point, most_groups),
        _inside(point),
        id=f"point-{key}",
        class_="panel",
        data_panel=key,
        data_summary=summary(point),
    )


def point_title(point: PointContents) -> str:
    """Return the name of a point."""
    if point.eps is not None:
        return f"Within the bound {bound(point.eps)}"
    return "The model" if point.command else "Without the constraint"


def _tiles(contents: ReportContents, point: PointContents) -> Html:
    data = main_data(point)
    measured, alone = on(point, data), contents.unconstrained
    free = None if alone is None or alone is point else on(alone, data)
    tiles = []
    if measured is not None:
        tiles.append(_tile("Error", measured.error, data, None if free is None else free.error))
    if measured is not None and measured.disparity is not None:
        without = None if free is None else free.disparity
        tiles.append(_tile("Largest difference", measured.disparity, data, without))
    if point.price is not None:
        saved = decimal(0.01 * point.price)
        where = "of error at most, on training data"
        tiles.append(_fact("Loosening the bound by 0.01 saves", saved, where))
    if "gap" in point.certificate and point.eps is not None:
        proven = "certified" if point.certificate.get("certified") else "not certified"
        gap = point.certificate["gap"]
        gap = "not known" if gap is None else f"{gap:.6f}"
        tiles.append(_fact("Distance from the best, at most", gap, proven))
    return element("dl", tiles, class_="tiles")


def _tile(name: str, value: Range, data: str, without: Range | None) -> Html:
    parts = [f"{data} data {interval(value)}".rstrip()]
    if without is not None:
        parts.append(f"without the constraint {decimal(without.estimate)}")
    return _fact(name, decimal(value.estimate), *parts)


def _fact(name: str, value: str, *small: str) -> Html:
    lines = [element("span", text, class_="small") for text in small]
    parts = element("dt", name), element("dd", element("strong", value), lines)
    return element("div", *parts, class_="tile")


def _selection(point: PointContents) -> Html | None:
    if not point.command:
        return None
    return element(
        "div",
        element("h4", "To use this classifier"),
        copied("On the command line", point.command),
        copied("In Python", point.python),
        class_="selection",
    )


def copied(name: str, code: str) -> Html | None:
    """Return a line of code with a button that copies it; the button needs the script."""
    if not code:
        return None
    button = element(
        "button", "Copy", type="button", class_="copy", aria_label=f"Copy: {name}", hidden=True
    )
    return element(
        "div",
        element("span", name, class_="small"),
        element("pre", element("code", code), tabindex="0"),
        button,
        class_="code",
    )


def _measured(contents: ReportContents, point: PointContents) -> Html | None:
    if not point.measured:
        return None
    free = point is contents.unconstrained
    difference = any(entry.disparity is not None for entry in point.measured)
    header = ["Data", "People", "Error"]
    header += ["Largest difference"] if difference else []
    header += ["Of"] if free else ["Excess over the bound", "Bound", "Of"]
    rows = []
    for entry in point.measured:
        row = [element("th", entry.data, scope="row"), cell(f"{entry.people:,}")]
        row.append(range_cell(entry.error))
        row += [range_cell(entry.disparity)] if difference else []
        if not free:
            row += [range_cell(entry.excess, sign="+"), cell(verdict(entry.excess))]
        rows.append([*row, cell(named(entry.worst))])
    caption = f"Violation on each of the data [{contents.level:.0%} intervals]"
    return join(
        element("h4", "On people learned from, and on others"),
        table(caption, header, rows),
        None if free else _worst_rows(point),
    )


def _worst_rows(point: PointContents) -> Html | None:
    entry = on(point, main_data(point))
    if entry is None or len(entry.rows) < 2:
        return None
    worst = sorted(entry.rows, key=lambda row: -(row.excess.estimate or 0.0))[:_MOST_ROWS]
    more = f"{len(worst)} of {len(entry.rows)}" if len(worst) < len(entry.rows) else "all"
    rows = [
        [
            element("th", named(row.text), scope="row"),
            range_cell(row.excess, sign="+"),
            cell(verdict(row.excess)),
        ]
        for row in worst
    ]
    caption = f"Inequalities on {entry.data} data, worst first ({more}); intervals hold at once"
    header = ["Inequality", "Excess over its bound", "Bound"]
    return element(
        "details",
        element("summary", "Every inequality of the constraint"),
        table(caption, header, rows),
    )


def _groups(contents: ReportContents, point: PointContents, most: int) -> Html:
    heading = element("h4", "Groups")
    if not point.groups:
        text = (
            "No people were at hand to measure groups on. Make the page with data: equipoise "
            "report FILE DATA."
        )
        return join(heading, element("p", text))
    alone = contents.unconstrained
    compared = None if alone is None or alone is point else alone
    main = main_data(point) if main_data(point) in point.groups else next(iter(point.groups))
    order = [main, *(data for data in point.groups if data != main)]
    tables = [_group_table(contents, point, compared, data, most, main) for data in order]
    return join(heading, _picture(point, compared, main, most), tables)


def _picture(
    point: PointContents, compared: PointContents | None, data: str, most: int
) -> Html | None:
    series: dict[str, Sequence[GroupContents]] = {}
    if compared is not None and len(compared.groups.get(data, [])) == len(point.groups[data]):
        series["free"] = shown_groups(compared.groups[data], most)
    series["fair"] = shown_groups(point.groups[data], most)
    description = f"Rates of groups on {data} data; the numbers are in the table below."
    picture = rate_tracks(series, DECISION_RATES, description)
    if picture is None:
        return None
    words = "filled: within the bound; hollow: without the constraint; lines: intervals"
    words = words if "free" in series else "lines: intervals"
    note = element("p", f"From 0 to 100%, {data} data. {words.capitalize()}.", class_="small")
    return join(note, picture)


def _group_table(
    contents: ReportContents,
    point: PointContents,
    compared: PointContents | None,
    data: str,
    most: int,
    main: str,
) -> Html:
    without = None if compared is None else compared.groups.get(data)
    return element(
        "details",
        element("summary", f"Table of groups, {data} data"),
        side_by_side(point.groups[data], without, point_title(point), data, contents.level, most),
        open=data == main,
    )


def _inside(point: PointContents) -> Html:
    return join(
        element("div", _members(point), _prices(point), class_="inside"), _certificate(point)
    )


def _members(point: PointContents) -> Html:
    rows = [
        [
            cell(percent(weight)),
            cell(_bar(weight)),
            element("td", named(_short(text))),
        ]
        for text, weight in sorted(point.members, key=lambda member: -member[1])
    ]
    if not rows:
        return Html("")
    words = "One classifier decides alone." if len(rows) == 1 else "Each decision is drawn."
    header = ["Weight", "", "Classifier"]
    return element("div", element("h4", "Members"), table(f"What is mixed. {words}", header, rows))


def _bar(weight: float) -> Html:
    inside = element("rect", width=f"{100 * weight:.1f}%", height=10)
    return element("svg", inside, width=80, height=10, class_="weight", aria_hidden="true")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _prices(point: PointContents) -> Html | None:
    if point.eps is None and not point.prices:
        return None
    heading = element("h4", "Shadow prices")
    if not point.prices:
        return element("div", heading, element("p", "No inequality costs any error here."))
    rows = [
        [element("th", named(text), scope="row"), cell(decimal(saved))]
        for text, saved in point.prices[:_MOST_ROWS]
    ]
    left = len(point.prices) - len(rows)
    caption = "Error saved by loosening each by 0.01, at most" + (f"; {left} more" if left else "")
    return element("div", heading, table(caption, ["Inequality", "Saves"], rows))


def _certificate(point: PointContents) -> Html | None:
    text = point.certificate.get("text")
    if not text or (point.eps is None and not point.command):
        return None
    return element(
        "details",
        element("summary", "Certificate"),
        scrolling("Certificate", element("pre", text)),
    )
