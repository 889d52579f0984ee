"""The page as text: it is well formed, complete, small, and shows text as text."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from unkind import BOUNDS, GROUPS, UNKIND, rates_by_hand

from equipoise.game.evidence import Scope, Status
from equipoise.report import report_of, write_report
from equipoise.report.contents import AuditContents, GroupContents, SwitchedContents
from equipoise.report.measurement import Range
from equipoise.report.page import render
from equipoise.report.text import findings, point_title

VOID = {"br", "hr", "input", "link", "meta"}


class Page(HTMLParser):
    """Checks that tags match, and keeps elements with their attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "within": list(self.open)}
        assert len(attrs) == len(element["attrs"])  # none is given twice
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attrs):
        return [
            e
            for e in self.elements
            if e["tag"] == tag and all(e["attrs"].get(k) == v for k, v in attrs.items())
        ]

    def inside(self, element, tag):
        return [e for e in self.all(tag) if any(outer is element for outer in e["within"])]


@pytest.fixture(scope="module")
def page(made):
    return Page(made.page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def numbers(page):
    (data,) = page.all("script", type="application/json")
    assert "<" not in data["text"]
    return json.loads(data["text"])


def panel_of(page):
    (panel,) = page.all("div", id="panel")
    return panel


def alone(made, at):
    """A page whose only point is this one, which is then the one drawn beforehand."""
    points = made.contents.points[at : at + 1]
    return Page(render(replace(made.contents, points=points)).decode())


def test_one_point_is_drawn_and_all_are_there_as_numbers(page, numbers):
    keys = ["0", "1", "2", "3", "free"]
    assert [point["key"] for point in numbers["points"]] == keys
    assert panel_of(page)["attrs"]["data-panel"] == "2"
    links = [e["attrs"]["data-point"] for e in page.all("a") if "data-point" in e["attrs"]]
    assert links == keys * 2  # on the picture and in the table
    ids = [e["attrs"]["id"] for e in page.elements if "id" in e["attrs"]]
    assert len(ids) == len(set(ids))
    targets = [e["attrs"]["href"][1:] for e in page.all("a")]
    assert set(targets) <= set(ids)


@pytest.mark.parametrize("at", range(len(BOUNDS)))
def test_numbers_of_a_panel_are_those_of_at(made, numbers, at):
    page = alone(made, at)
    panel = panel_of(page)
    model = made.frontier.at(BOUNDS[at])
    error, selected, disparity = rates_by_hand(model, made.test)
    tiles = [e["text"] for e in page.inside(panel, "strong")]
    assert tiles[:2] == [f"{error:.4f}", f"{disparity:.4f}"]
    assert f"{error:.4f}" in numbers["points"][at]["summary"]
    names = [numbers["names"][n] for n in numbers["groups"]["test"]["names"]]
    rates = numbers["points"][at]["rates"]["test"]["selection_rate"]
    for name, (rate, *_) in zip(names, rates, strict=True):
        if name != "everybody":
            assert rate == pytest.approx(selected[name.removeprefix("sex: ")], abs=1e-6)
    stated = numbers["points"][at]["measured"]["test"]
    assert stated["error"][0] == pytest.approx(error, abs=1e-6)
    assert stated["difference"][0] == pytest.approx(disparity, abs=1e-6)

    tables = page.inside(panel, "table")
    (groups,) = [t for t in tables if ", test data" in t["text"] and "Selected" in t["text"]]
    for row in page.inside(groups, "tr")[2:]:
        cells = [c["text"] for c in page.inside(row, "td")]
        name = page.inside(row, "th")[0]["text"].removeprefix("sex: ")
        if name != "everybody":
            assert cells[3].split()[0] == f"{selected[name]:.1%}"
    assert {f"sex: {name}" for name in GROUPS} <= {e["text"] for e in page.inside(groups, "th")}

    weights = [f"{w:.1%}" for w in sorted(model.classifier_.weights, reverse=True)]
    (members,) = [t for t in tables if "What is mixed" in t["text"]]
    assert [page.inside(r, "td")[0]["text"] for r in page.inside(members, "tr")[1:]] == weights
    code = [e["text"] for e in page.inside(panel, "code")]
    assert code == [
        f"equipoise at 'my frontier.equipoise' --eps {BOUNDS[at]:g} --output model.equipoise",
        f"equipoise.load('my frontier.equipoise').at(eps={BOUNDS[at]:g})",
    ]


def test_the_unconstrained_classifier_stands_beside(made):
    page = alone(made, 1)
    panel = panel_of(page)
    tables = page.inside(panel, "table")
    (groups,) = [t for t in tables if ", training data" in t["text"] and "Selected" in t["text"]]
    first = made.frontier.unconstrained_.mixture.members(made.frontier.pool_.classifiers)[
        0
    ].predict(made.train.X)
    by_group = {g: first[made.train.group["sex"] == g].mean() for g in GROUPS}
    for row in page.inside(groups, "tr")[2:]:
        name = page.inside(row, "th")[0]["text"].removeprefix("sex: ")
        if name != "everybody":
            assert page.inside(row, "td")[2]["text"].split()[0] == f"{by_group[name]:.1%}"


def test_violations_are_told_on_all_three_data(made, page):
    tables = page.inside(panel_of(page), "table")
    (measured,) = [t for t in tables if "Error and excess on each of the data" in t["text"]]
    rows = page.inside(measured, "tr")[1:]
    assert [page.inside(r, "th")[0]["text"] for r in rows] == ["out of fold", "training", "test"]
    assert all("[" in page.inside(row, "td")[2]["text"] for row in rows)


def test_text_of_users_is_shown_as_text(made, page):
    raw = made.page.read_text(encoding="utf-8")
    assert UNKIND not in raw
    assert "<img" not in raw
    assert {e["attrs"].get("type") for e in page.all("script")} == {None, "application/json"}
    assert len(page.all("script")) == 2
    assert "</title><img src=x" in page.all("h1")[0]["text"]
    assert not [k for e in page.elements for k in e["attrs"] if k.startswith("on")]


def test_nothing_is_loaded_and_no_other_script_may_run(page):
    assert not [e for e in page.elements if {"src", "srcset"} & set(e["attrs"])]
    assert not page.all("link")
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    content = policy["attrs"]["content"]
    assert content.startswith("default-src 'none'")
    for tag in ("script", "style"):
        (own,) = [e for e in page.all(tag) if "type" not in e["attrs"]]
        digest = b64encode(sha256(own["text"].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in content
    assert not [e for e in page.elements if "style" in e["attrs"]]  # the policy would forbid it


def test_tables_have_captions_and_headers(page):
    for table in page.all("table"):
        assert len(page.inside(table, "caption")) == 1
        assert all("scope" in th["attrs"] for th in page.inside(table, "th"))
        assert page.inside(table, "th")
    (html,) = page.all("html")
    assert html["attrs"]["lang"] == "en"
    assert [len(page.all(tag)) for tag in ("header", "main", "nav", "footer", "h1")] == [1] * 5
    assert page.all("p", **{"aria-live": "polite"})
    assert all(e["attrs"].get("aria-label") for e in page.all("a") if e["within"][-1]["tag"] == "g")


def crowded(made, groups, points):
    """A frontier of many bounds and groups; all groups are alike but for their sizes."""
    span = Range(0.123456789, 0.101010101, 0.212121212)
    rates = dict.fromkeys(made.contents.points[0].groups["test"][0].rates, span)
    rows = [GroupContents("", "overall", 9999, rates)]
    rows += [GroupContents("town", f"town {n}", n, rates) for n in range(groups)]
    moved = [SwitchedContents(row.feature, row.group, 1, row.count, 1.5, 2.5) for row in rows]
    both = {"training": rows, "test": rows}
    point = made.contents.points[0]
    binding = ["demographic parity: town 7 below overall"]
    certificate = point.certificate | {"text": 20 * "a line of a certificate, as they are long\n"}
    point = replace(point, groups=both, binding=binding, certificate=certificate)
    points = [replace(point, switched=dict.fromkeys(both, moved)) for _ in range(points)]
    free = replace(made.contents.unconstrained, groups=both, switched={})
    return replace(made.contents, points=points, unconstrained=free)


def test_twenty_bounds_and_twelve_groups_make_a_small_page(made):
    assert len(render(crowded(made, 12, 20))) < 500_000


def test_all_of_many_groups_are_there(made):
    page = Page(render(crowded(made, 1500, 2)).decode())
    (data,) = page.all("script", type="application/json")
    numbers = json.loads(data["text"])
    names = [f"town: town {n}" for n in range(1500)]
    assert set(names) < set(numbers["names"])
    for point in numbers["points"]:
        assert len(point["rates"]["test"]["selection_rate"]) == 1501
    (table,) = (t for t in page.all("table") if "Selected" in t["text"] and "test" in t["text"])
    drawn = [e["text"] for e in page.inside(table, "th") if e["attrs"]["scope"] == "row"]
    # Everybody, the groups that lose most and that bind, and the largest.
    assert drawn == ["everybody", names[1], names[7], *names[1402:]]
    (button,) = page.all("button", id="every")
    assert button["text"] == "Show all 1,500 groups"


def test_a_model_and_an_audit_have_pages_too(made):
    model = made.frontier.at(0.05)
    train = made.train
    contents = report_of(model, train.X, train.y, sensitive_features=train.group, title="One")
    page = Page(render(contents).decode())
    error = rates_by_hand(model, train)[0]
    (measured,) = [t for t in page.all("table") if "Error and excess on each" in t["text"]]
    (row,) = [r for r in page.inside(measured, "tr") if r["text"].startswith("training")]
    assert page.inside(row, "td")[1]["text"].split()[0] == f"{error:.4f}"
    assert not page.all("svg", role="group")
    bare = replace(contents, points=[replace(contents.points[0], groups={})])
    assert "No people were at hand" in render(bare).decode()

    found = AuditContents(
        "pred", contents.points[0].groups["training"], [("d", Range(0.1, 0.0, 0.2), "worst gap")]
    )
    audit = replace(contents, kind="audit", points=[], constraint=None, audit=found)
    text = Page(render(audit).decode()).all("body")[0]["text"]
    assert "Worst gap: 0.1000 [0.0000, 0.2000]." in text
    assert UNKIND in text


def test_a_bound_that_cannot_be_met_is_said(made):
    first = made.contents.points[0]
    for status, words in (
        (Status.IMPOSSIBLE, "proven impossible with this learner"),
        (Status.NOT_YET, "not met yet: the search ended before"),
    ):
        unmet = replace(first, certificate={**first.certificate, "status": status.value})
        contents = replace(made.contents, points=[unmet, *made.contents.points[1:]])
        text = render(contents).decode()
        assert f"1 of the bounds, up to 0.005, are {words}" in text
        assert f"<td>{status.value}</td>" in text
        alone = replace(contents, kind="model", points=[unmet], unconstrained=None)
        text = render(alone).decode()
        assert f"The bound is {words}" in text
        assert "of the bounds" not in text
        assert "Not told: they are those of bounds that are met." in text
        assert "Loosening the bound by 0.01 saves" not in text
    assert "impossible" not in text


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (Scope.WHOLE_CLASS, "with these classifiers"),
        (Scope.POOL, "with mixtures of the classifiers known"),
    ],
)
def test_what_is_impossible_is_said_with_whom(made, scope, words):
    first = made.contents.points[0]
    told = {"status": Status.IMPOSSIBLE.value, "scope": scope.value}
    unmet = replace(first, certificate=first.certificate | told)
    text = " ".join(findings(replace(made.contents, points=[unmet])))
    assert f"The bound is proven impossible {words}." in text
    assert "learner" not in text


def test_no_price_is_said_of_what_is_shown_alone(made):
    point = replace(made.contents.points[-1], prices=[])
    alone = replace(made.contents, kind="model", points=[point])
    assert "No inequality costs any error here" in render(alone).decode()
    hidden = [replace(entry, hidden=2) for entry in point.measured]
    alone = replace(alone, points=[replace(point, measured=hidden)])
    assert "None of the inequalities shown costs any error here" in render(alone).decode()


def test_files_are_replaced_only_if_allowed(made, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        write_report(path, made.contents, overwrite=False)
    assert path.read_text() == "mine"
    write_report(path, made.contents)
    assert path.read_bytes() == made.page.read_bytes()


def test_places_keep_the_order_of_errors(made, page):
    (svg,) = page.all("svg", role="group")
    circles = [e for e in page.inside(svg, "circle") if e["attrs"]["class"] == "mark train"]
    heights = [float(e["attrs"]["cy"]) for e in circles]
    errors = [p.error for p in made.frontier.report()["training"]]
    measured = [entry.estimate for entry in errors]
    order = sorted(range(len(measured)), key=measured.__getitem__)
    drawn = [heights[at] for at in order]
    assert drawn == sorted(drawn, reverse=True)  # less error is further down
    assert re.fullmatch(r"0 0 \d+ \d+", svg["attrs"]["viewbox"])


def test_groups_are_named_in_the_first_lines(made):
    point = made.contents.points[0]
    groups = [group for group in point.groups["test"] if group.feature]
    rates = {group.group: group.rates["selection_rate"] for group in groups}
    most = max(rates, key=lambda group: rates[group].low)
    least = min(rates, key=lambda group: rates[group].high)
    (line,) = (text for text in findings(made.contents) if text.startswith(point_title(point)))
    assert re.search(rf"{re.escape(most)} \([^)]*\) is selected most often", line)
    assert re.search(rf"{re.escape(least)} \([^)]*\) least often", line)
    assert point.on("test").headline.text in line


def test_in_a_notebook_the_page_is_in_a_frame_of_its_own(made):
    contents = replace(made.contents, title='"><script>alert(1)</script>')
    (frame,) = Page(contents._repr_html_()).elements
    assert frame["tag"] == "iframe"
    assert frame["attrs"]["title"] == contents.title
    assert "allow-same-origin" not in frame["attrs"]["sandbox"]
    assert frame["attrs"]["srcdoc"].encode() == render(contents)
    assert repr(contents) == f"<ReportContents: {contents.title}>"
