"""The sections of the page around the frontier: data, constraint, audit, card, versions."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.report.chart import point_key
from equipoise.report.contents import PointContents, ReportContents
from equipoise.report.group_tables import plain, shown_groups
from equipoise.report.markup import Child, Html, element, join, named
from equipoise.report.model_card import CardSection, card_sections, model_card
from equipoise.report.numbers import RATE_NAMES, bound, on
from equipoise.report.panel import copied
from equipoise.report.tables import cell, range_cell, table
from equipoise.report.tracks import rate_tracks
from equipoise.report.words import certificate_words, does_not_promise, findings

#: Features that are named; the rest are counted.
_MOST_FEATURES = 60


def section(key: str, title: str, *children: Child) -> Html:
    """Return a part of the page with its heading."""
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, *children, id=key, aria_labelledby=f"{key}-title")


def in_short(contents: ReportContents) -> Html:
    """Return what was found, and what was warned of."""
    items = [element("li", text) for text in findings(contents)]
    notes = [element("li", text) for text in contents.notes]
    warned = element("div", element("h3", "Noted on the way"), element("ul", notes))
    return section("short", "In short", element("ul", items), warned if notes else None)


def all_points(contents: ReportContents) -> Html:
    """Return the table of all points; each line leads to its point."""
    data = [entry.data for entry in contents.points[0].measured]
    header = ["Bound", *(f"Error, {name}" for name in data)]
    header += [*(f"Difference, {name}" for name in data), "Price", "Members", "Proven"]
    alone = [] if contents.unconstrained is None else [contents.unconstrained]
    rows = [_point_row(contents, point, data) for point in [*contents.points, *alone]]
    note = (
        "Difference: the largest that the constraint looks at. Price: error saved for each unit "
        "that the bound is loosened. Proven: whether the gap is as small as asked for."
    )
    caption = f"All points of the frontier [{contents.level:.0%} intervals]"
    return section("points-table", "All points", table(caption, header, rows), element("p", note))


def _point_row(contents: ReportContents, point: PointContents, data: Sequence[str]) -> list[Html]:
    key = point_key(contents, point)
    link = element("a", bound(point.eps), href=f"#point-{key}", data_point=key)
    measured = [on(point, name) for name in data]
    errors = [range_cell(entry.error if entry else None) for entry in measured]
    gaps = [range_cell(entry.disparity if entry else None) for entry in measured]
    free = point is contents.unconstrained
    price = "" if point.price is None else f"{point.price:.3f}"
    proven = "yes" if point.certificate.get("certified") else "no"
    if not point.certificate.get("feasible", True):
        proven = "bound cannot be met"
    last = [cell(price), cell(len(point.members)), cell("" if free else proven)]
    return [element("th", link, scope="row"), *errors, *gaps, *last]


def meaning(contents: ReportContents) -> Html | None:
    """Return what the constraint asks, and what it does not promise."""
    asked = contents.constraint
    if asked is None:
        return None
    promises = [
        element("li", element("strong", short), " ", why)
        for short, why in does_not_promise(contents)
    ]
    return section(
        "meaning",
        "What the constraint means, and what it does not",
        element("p", asked.asks, class_="asks"),
        element("p", element("code", asked.formula)) if asked.formula else None,
        [element("p", text) for text in asked.explanation],
        element("p", "As written: ", element("code", asked.code)),
        element("h3", "What a bound that is met does not promise"),
        element("ul", promises),
    )


def proof(contents: ReportContents) -> Html | None:
    """Return what certificates prove; the certificate itself is with each point."""
    if not contents.points:
        return None
    words = [element("p", text) for text in certificate_words(contents)]
    calls = contents.points[0].certificate.get("n_calls")
    told = element("p", f"Calls of the learner, for all bounds together: {calls}.")
    return section("proof", "What is proven", words, told if calls else None)


def data_summary(contents: ReportContents) -> Html:
    """Return where the data are from and which columns are what."""
    data = contents.data
    facts: list[tuple[str, Child]] = [
        ("Source", named(data.source)),
        ("Rows", f"{data.rows:,}"),
    ]
    if data.train_rows:
        facts.append(("Learned from, held out", f"{data.train_rows:,}, {data.test_rows:,}"))
    facts += [
        ("Label", named(data.label)),
        ("Favourable label", named(data.labels[1])),
        ("Other label", named(data.labels[0])),
        ("People with the favourable label", f"{data.base_rate:.1%}"),
        ("Sensitive", _names(data.sensitive)),
    ]
    if data.control:
        facts.append(("Compared within", _names(data.control)))
    if data.weight:
        facts.append(("Weights", named(data.weight)))
    if contents.learner:
        facts.append(("Learner", element("code", contents.learner)))
    if data.features:
        kinds = [f"{name} ({kind})" for name, kind in data.features.items()]
        left = len(kinds) - _MOST_FEATURES
        more = f" and {left} more" if left > 0 else None
        facts.append((f"Features ({len(kinds)})", [_names(kinds[:_MOST_FEATURES]), more]))
    if data.missing:
        counts = [f"{name} {count:,}" for name, count in data.missing.items()]
        facts.append(("Missing values", _names(counts[:_MOST_FEATURES])))
    return section("data", "Data", _definitions(facts))


def audit(contents: ReportContents, most_groups: int) -> Html | None:
    """Return what was found about labels or predictions of others."""
    found = contents.audit
    if found is None:
        return None
    of_labels = found.decisions == "labels"
    rates = ["base_rate"] if of_labels else list(RATE_NAMES)
    groups = shown_groups(found.groups, most_groups)
    left = len(found.groups) - len(groups)
    caption = f"Rates of groups [{contents.level:.0%} intervals, one by one]"
    caption += f"; {left} smaller groups are left out" if left else ""
    picture = rate_tracks(
        {"fair": groups}, rates, "Rates of groups; the numbers are in the table below."
    )
    rows = [
        [element("th", words, scope="row"), range_cell(value)]
        for _, value, words in found.disparities
    ]
    what = "the labels" if of_labels else join("the predictions in column ", named(found.decisions))
    return section(
        "audit",
        "Groups and disparities",
        element("p", "Found in ", what, "."),
        picture,
        plain(groups, rates, caption),
        table(f"Disparities [{contents.level:.0%} intervals]", ["Disparity", "Value"], rows),
    )


def card(contents: ReportContents, eps: float | None = None) -> Html | None:
    """Return the model card, and a button that saves it; the button needs the script."""
    if not contents.points:
        return None
    text = model_card(contents, eps=eps)
    parts = [_card_part(part) for part in card_sections(contents, eps=eps)]
    button = element(
        "button",
        "Save as Markdown",
        type="button",
        class_="save",
        data_from="card-text",
        data_name="model-card.md",
        hidden=True,
    )
    return section(
        "card",
        "Model card",
        button,
        element("details", element("summary", "Read the card"), parts),
        element("template", text, id="card-text"),
    )


def _card_part(part: CardSection) -> Html:
    rows = None
    if part.table is not None:
        lines = [[cell(entry) for entry in row] for row in part.table.rows]
        rows = table(part.title, part.table.header, lines)
    return join(
        element("h3", part.title),
        [element("p", text) for text in part.paragraphs],
        element("ul", [element("li", item) for item in part.items]) if part.items else None,
        rows,
    )


def made_with(contents: ReportContents) -> Html:
    """Return the command and the versions."""
    versions = [(name, version) for name, version in contents.versions.items()]
    return section(
        "versions", "Made with", copied("Command", contents.command), _definitions(versions)
    )


def _definitions(facts: Sequence[tuple[str, Child]]) -> Html:
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("dl", pairs, class_="facts")


def _names(names: Sequence[str]) -> Html:
    return join(*[(", " if at else "", named(name)) for at, name in enumerate(names)])
