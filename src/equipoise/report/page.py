"""The report page: one HTML file that needs no network, no server and, to be read, no script."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from equipoise.atomic_files import new_file
from equipoise.report import sections
from equipoise.report.chart import frontier_chart, legend, point_key
from equipoise.report.contents import PointContents, ReportContents
from equipoise.report.markup import Child, Html, element
from equipoise.report.numbers import bound
from equipoise.report.panel import point_panel
from equipoise.report.words import chosen_point

#: A page that people can send is no larger.
MOST_BYTES = 2_000_000
#: Groups that tables have: as many as fit.
_MOST_GROUPS = (100, 40, 15, 5, 0)
#: The numbers travel with the page, unless they are most of it.
_MOST_DATA = 600_000


def write_report(path: str | Path, contents: ReportContents, *, overwrite: bool = True) -> None:
    """Write the report page: one HTML file, complete in itself.

    Parameters
    ----------
    path : str or Path
        Where to; the file is there whole or not at all.
    contents : ReportContents
        See `report_of`, or the command line's ``equipoise report``.
    overwrite : bool, default=True
        Whether a file that has this name is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from equipoise.report.contents import DataContents
    >>> data = DataContents("a.csv", 2, 2, 0, "y", ("0", "1"), 0.5, ["sex"], [], None, {}, {})
    >>> with TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/page.html", ReportContents("audit", "Audit of <y>", data))
    ...     "<title>Audit of &lt;y&gt;</title>" in Path(folder, "page.html").read_text("utf-8")
    True
    """
    with new_file(path, overwrite=overwrite) as partial:
        partial.write_bytes(render(contents))


def render(contents: ReportContents) -> bytes:
    """Return the page; where there are too many groups for its size, the largest groups only."""
    numbers = _numbers(contents)
    for most_groups in _MOST_GROUPS:
        page = _document(contents, most_groups, numbers).encode("utf-8", errors="replace")
        if len(page) < MOST_BYTES:
            break
    return page


def _document(contents: ReportContents, most_groups: int, numbers: Html | None) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", _title(contents)),
        element("style", style),
    )
    body = element(
        "body",
        element("a", "Skip to the content", href="#main", class_="skip"),
        _header(contents),
        element("main", _main(contents, most_groups), id="main"),
        element("footer", element("p", "Made with equipoise. Nothing on this page is sent.")),
        numbers,
        element("script", script),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _title(contents: ReportContents) -> str:
    return contents.title[:1].upper() + contents.title[1:]


def _header(contents: ReportContents) -> Html:
    kinds = {"frontier": "Accuracy and fairness", "model": "A fair model", "audit": "Audit"}
    links = [
        element("li", element("a", name, href=f"#{key}"))
        for key, name, there in (
            ("short", "In short", True),
            ("frontier", "Frontier", contents.kind == "frontier"),
            ("model", "Model", contents.kind == "model"),
            ("audit", "Groups", contents.audit is not None),
            ("points-table", "All points", len(contents.points) > 1),
            ("meaning", "Meaning", contents.constraint is not None),
            ("data", "Data", True),
            ("card", "Model card", bool(contents.points)),
        )
        if there
    ]
    return element(
        "header",
        element("p", kinds.get(contents.kind, ""), class_="kind"),
        element("h1", _title(contents)),
        element("nav", element("ul", links), aria_label="Sections"),
    )


def _main(contents: ReportContents, most_groups: int) -> list[Child]:
    return [
        sections.in_short(contents),
        _chosen(contents, most_groups),
        sections.audit(contents, most_groups),
        sections.all_points(contents) if len(contents.points) > 1 else None,
        sections.meaning(contents),
        sections.proof(contents),
        sections.data_summary(contents),
        sections.card(contents),
        sections.made_with(contents),
    ]


def _chosen(contents: ReportContents, most_groups: int) -> Html | None:
    """Return the frontier and what is known about its points; a model has one point only."""
    chosen = chosen_point(contents)
    if chosen is None:
        return None
    alone = [] if contents.unconstrained is None else [contents.unconstrained]
    panels = [point_panel(contents, point, most_groups) for point in [*contents.points, *alone]]
    place = element("div", panels, id="chosen", data_first=point_key(contents, chosen))
    if contents.kind != "frontier":
        return sections.section("model", "The model", place)
    return sections.section(
        "frontier",
        "The frontier",
        element(
            "p",
            "Every point is the most accurate classifier found within one bound. Choose one: by a "
            "click, with the arrow keys, or with the slider.",
        ),
        element("figure", frontier_chart(contents, chosen), legend(contents)),
        _slider(contents, chosen),
        element("p", "", id="announced", class_="unseen", role="status", aria_live="polite"),
        place,
    )


def _slider(contents: ReportContents, chosen: PointContents) -> Html:
    alone = [] if contents.unconstrained is None else [contents.unconstrained]
    keys = [point_key(contents, point) for point in [*contents.points, *alone]]
    return element(
        "p",
        element("label", "Bound", for_="bound"),
        element(
            "input",
            type="range",
            id="bound",
            min=0,
            max=len(keys) - 1,
            value=keys.index(point_key(contents, chosen)),
            data_keys=" ".join(keys),
        ),
        element("output", bound(chosen.eps), for_="bound", id="bound-shown"),
        class_="slider",
        hidden=True,
    )


def _numbers(contents: ReportContents) -> Html | None:
    """Return the contents as data, for other programs: `ReportContents.from_dict` reads them."""
    entries = sum(
        sum(map(len, point.groups.values())) + sum(len(entry.rows) for entry in point.measured)
        for point in contents.points
    )
    if entries * 100 > _MOST_DATA:  # an entry is longer than that, and there is no need to try
        return None
    text = json.dumps(contents.to_dict(), separators=(",", ":"))
    if len(text) > _MOST_DATA:
        return None
    # Nothing in a script element may look like its end tag, or like a comment.
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return element("script", Html(safe), type="application/json", id="contents")


def _asset(name: str) -> Html:
    return Html(files("equipoise.report").joinpath(name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Return a policy under which no other script or style runs, and nothing is loaded."""
    return (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'; "
        f"script-src 'sha256-{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")
