"""The page in a real browser: Debian's chromium, driven by Playwright."""

import csv
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from people import three_labels
from sklearn.linear_model import LinearRegression, LogisticRegression
from unkind import BOUNDS, UNKIND, rates_by_hand

from equipoise import DemographicParity, FairClassifier, Frontier
from equipoise.oracles import Plugin
from equipoise.report import report_of, write_report

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser tests need playwright: pip install playwright"
)
CHROMIUM = os.environ.get("EQUIPOISE_CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip(
        "the browser tests need chromium: apt-get install chromium", allow_module_level=True
    )

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MARK = "#points [data-point='{}']"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=300_000)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, made):
    """Opens the page and, at the end, makes sure that nothing was wrong and nothing was loaded."""
    wrong, loaded, contexts = [], [], []

    def opened(path=made.page, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)  # a limit of despair, for busy machines
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
    assert len(loaded) == len(contexts)


def shown_panels(page):
    return page.eval_on_selector_all("[data-panel]", "all => all.map(p => p.dataset.panel)")


READ = """() => {
  const panel = document.querySelector("[data-panel]");
  const rows = [...panel.querySelectorAll("details[open] tbody tr")].filter(
    row => row.querySelector("td.fair"));
  return [
    [...panel.querySelectorAll(".tile strong")].map(e => e.innerText),
    Object.fromEntries(rows.map(row => [
      row.querySelector("th").innerText, row.querySelector("td.fair").innerText.split(/\\s/)[0]])),
  ];
}"""


def read_panel(page):
    """Error, largest difference and the selection rates of groups, as a reader sees them."""
    tiles, rates = page.evaluate(READ)
    return tiles, {name.removeprefix("sex: "): rate for name, rate in rates.items()}


def check_panel(page, made, eps):
    error, selected, disparity = rates_by_hand(made.frontier.at(eps), made.test)
    tiles, rates = read_panel(page)
    assert tiles[:2] == [f"{error:.4f}", f"{disparity:.4f}"]
    assert {name: rates[name] for name in selected} == {
        name: f"{rate:.1%}" for name, rate in selected.items()
    }
    return tiles, rates


def test_a_click_shows_the_numbers_of_at(visit, made):
    page = visit()
    assert shown_panels(page) == ["2"]  # the middle
    before = check_panel(page, made, BOUNDS[2])
    mark = page.locator(f"{MARK.format(0)} .mark.fold")
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert shown_panels(page) == ["0"]
    after = check_panel(page, made, BOUNDS[0])
    assert before != after
    visible = page.locator("[data-panel]:visible")
    assert (
        visible.locator("pre code")
        .first.inner_text()
        .endswith("--eps 0.005 --output model.equipoise")
    )
    assert "at(eps=0.005)" in visible.locator("pre code").nth(1).inner_text()
    assert "Bound 0.005." in page.locator("#announced").text_content()
    assert page.url.endswith("#point-0")
    assert page.locator("#bound-shown").inner_text() == "0.005"
    assert page.locator(MARK.format(0)).get_attribute("aria-current") == "true"
    assert page.locator("#points .chosen").count() == 1


def test_the_keyboard_is_enough(visit, made):
    page = visit()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.point"):
            break
    assert page.evaluate("document.activeElement.dataset.point") == "2"
    ring = "getComputedStyle(document.activeElement.querySelector('.target')).strokeWidth"
    assert page.evaluate(ring) == "3px"
    page.keyboard.press("ArrowRight")
    assert shown_panels(page) == ["3"]
    check_panel(page, made, BOUNDS[3])
    page.keyboard.press("Home")
    assert shown_panels(page) == ["0"]
    page.keyboard.press("End")
    assert shown_panels(page) == ["free"]
    page.keyboard.press("ArrowRight")  # there is none further
    assert shown_panels(page) == ["free"]
    page.keyboard.press("Tab")  # one stop for all points, then the slider
    assert page.evaluate("document.activeElement.id") == "bound"
    page.keyboard.press("Home")
    assert shown_panels(page) == ["0"]


def test_the_table_and_the_address_choose_too(visit, made):
    page = visit()
    page.locator("#points-table [data-point='1']").click()
    check_panel(page, made, BOUNDS[1])
    assert page.evaluate("document.activeElement.id") == "panel-title"
    page.evaluate("location.hash = 'point-3'")
    page.wait_for_function("document.getElementById('panel').dataset.panel == '3'")
    check_panel(page, made, BOUNDS[3])


def test_copy_and_save(visit, made):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    button = page.locator("[data-panel]:visible button.copy").first
    button.click()
    page.wait_for_function("b => b.textContent == 'Copied'", arg=button.element_handle())
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == made.contents.points[2].command
    with page.expect_download() as download:
        page.locator("button.save").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("# Model card: ")
    assert r"\<script\>" in text


def test_unkind_names_are_text(visit):
    page = visit()
    assert UNKIND in page.locator("[data-panel]:visible table").nth(2).inner_text()
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert "onerror=alert(1)" in page.title()


def test_without_a_script_one_point_and_the_table_are_there(visit, made):
    page = visit(java_script_enabled=False)
    assert page.locator("#points .mark.train").count() == len(BOUNDS) + 1
    assert page.locator("#points-table tbody tr").count() == len(BOUNDS) + 1
    assert page.locator(".slider").is_hidden()
    assert page.locator("button:visible").count() == 0
    assert shown_panels(page) == ["2"]
    check_panel(page, made, BOUNDS[2])
    assert (
        "Without a script this page shows one classifier" in page.locator("noscript").inner_text()
    )
    page.locator(f"{MARK.format(0)} .target").first.click(force=True)
    assert page.locator("#points-table tr:target a").inner_text() == "0.005"


#: Tags, texts and row heads of the panel; a title is of the element it stands in.
OUTLINE = """() => [...document.querySelectorAll("#panel *:not(button)")].map(e => [
  e.tagName.toLowerCase(), e.className.baseVal ?? e.className, e.scope || "", e.rowSpan || 1,
  e.colSpan || 1, Boolean(e.open),
  [...e.childNodes].filter(n => n.nodeType == 3).map(n => n.data.trim()).filter(t => t)])"""


def outlines(visit, path):
    """The panel as the template draws it, and as the script does."""
    pages = [visit(path, java_script_enabled=script) for script in (False, True)]
    return [page.evaluate(OUTLINE) for page in pages]


def test_the_script_draws_what_the_template_draws(visit, made, tmp_path):
    written, drawn = outlines(visit, made.page)
    assert len(written) > 400
    assert drawn == written
    model = tmp_path / "model.html"
    alone = replace(made.contents, points=made.contents.points[:1], unconstrained=None)
    write_report(model, replace(alone, kind="model"))
    written, drawn = outlines(visit, model)
    assert drawn == written


def test_the_script_draws_three_decisions_as_the_template_does(visit, tmp_path):
    X, y, A = three_labels()
    model = FairClassifier(LogisticRegression(), DemographicParity(0.05), oracle=Plugin(cv=2))
    model.fit(X, y, sensitive_features=A)
    path = tmp_path / "page.html"
    write_report(path, report_of(model, X, y, sensitive_features=A))
    written, drawn = outlines(visit, path)
    assert ["th", "", "rowgroup", 3, 1, False, []] in written
    assert drawn == written


def hostile(group, at):
    name = HOSTILE[at % len(HOSTILE)] + ("" if at < len(HOSTILE) else str(at))
    return replace(group, feature="town", group=name)


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "]]>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "'\"><b>bold",
    "&lt;b&gt;",
    "{{ 7 * 7 }}",
    "${alert(1)}",
    "__proto__",
    "constructor",
    "\u202eevil\u202c",
    "\u2028line",
    "javascript:alert(1)",
    "</title></style></template>",
    "\\u003cscript\\u003e",
    "null",
    "0",
]


def test_many_groups_of_any_name_are_drawn_as_text(visit, made, tmp_path):
    def crowded(point):
        rows = point.groups["test"]
        everybody, group = rows[0], rows[-1]
        groups = [everybody, *(hostile(group, at) for at in range(150))]
        return replace(point, groups={"test": groups}, switched={})

    points = [crowded(point) for point in made.contents.points]
    free = crowded(made.contents.unconstrained)
    path = tmp_path / "page.html"
    write_report(path, replace(made.contents, points=points, unconstrained=free))
    page = visit(path)
    rows = page.locator("[data-panel] details[open] table.rates tbody tr")
    assert rows.count() == 101
    page.locator("#every").click()
    assert rows.count() == 151
    page.locator("#points-table [data-point='1']").click()
    shown = rows.locator("th").all_text_contents()
    names = [hostile(points[0].groups["test"][-1], at).group for at in range(150)]
    assert shown == ["everybody", *(f"town: {name}" for name in names)]
    assert page.locator("#reference option").count() == 152
    assert page.locator("#panel img, #panel b, #panel script").count() == 0


@pytest.mark.parametrize("width", [320, 768])
def test_a_narrow_screen_does_not_scroll_sideways(visit, width):
    page = visit(viewport={"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#bound").focus()
    page.keyboard.press("ArrowLeft")
    assert shown_panels(page) == ["1"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # What is written beside the axes can be read.
    height = page.locator("svg.frontier .frame text").first.bounding_box()["height"]
    assert height > 10


def luminance(colour):
    parts = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_page_of_a_regressor_fits_a_phone_and_saves_its_tables(visit, tmp_path):
    rng = np.random.default_rng(0)
    group = rng.choice(["F", "M"], 200)
    X = rng.normal(size=(200, 2)) + (group == "M")[:, None]
    rule = DemographicParity()
    made = Frontier(LinearRegression(), rule, bounds=[0.1, 0.3], thresholds=5)
    made.fit(X, X.sum(axis=1), sensitive_features=group)
    contents = report_of(made, X, X.sum(axis=1), sensitive_features=group)
    write_report(tmp_path / "page.html", contents)
    page = visit(tmp_path / "page.html", viewport={"width": 390, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    with page.expect_download() as saved:
        page.locator("button.csv").nth(1).click()
    with open(saved.value.path(), encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    told = contents.points[0].groups["training"]
    assert [row["Group"] for row in rows] == ["overall", "F", "M"]
    assert [row["Mean loss"] for row in rows] == [f"{each.loss:.5g}" for each in told]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes_can_be_read(visit, scheme):
    page = visit(color_scheme=scheme)
    colours = page.evaluate(
        """() => [["body", "backgroundColor"], ["body", "color"], ["caption", "color"],
                  ["#points .mark.train", "fill"], ["#points .mark.test", "fill"],
                  ["#points .mark.fold", "fill"]]
            .map(([which, what]) => getComputedStyle(document.querySelector(which))[what])"""
    )
    back, *others = map(luminance, colours)
    assert (back < 0.05) == (scheme == "dark")
    contrast = [(max(back, c) + 0.05) / (min(back, c) + 0.05) for c in others]
    assert contrast[0] > 7
    assert contrast[1] > 4.5
    assert min(contrast[2:]) > 3


def test_on_paper_it_is_dark_on_white_and_unfolded(visit):
    page = visit(color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    assert page.locator("[data-panel]:visible details:not([open])").count() == 0
    assert shown_panels(page) == ["2"]


def test_a_page_without_frontier_opens(visit, made, tmp_path):
    path = tmp_path / "model.html"
    model = replace(
        made.contents, kind="model", points=made.contents.points[:1], unconstrained=None
    )
    write_report(path, model)
    page = visit(path)
    assert shown_panels(page) == ["0"]


def test_tables_are_saved_as_csv(visit, made):
    page = visit(accept_downloads=True)
    panel = page.locator("[data-panel]:not([hidden])")
    table = panel.locator("details[open] .scroll", has=page.locator("td.fair")).first
    with page.expect_download() as download:
        table.locator("xpath=following-sibling::button[1]").click()
    text = download.value.path().read_text(encoding="utf-8-sig")
    rows = list(csv.reader(text.splitlines()))
    assert rows[0][:6] == [
        *("Group", "People", "Label is favourable", "Label is favourable low"),
        *("Label is favourable high", "Selected without"),
    ]
    assert {len(row) for row in rows} == {len(rows[0])}
    point = made.contents.nearest()
    groups = point.groups[point.main_data]
    assert len(rows) == len(groups) + 1
    at = rows[0].index("Selected within")
    for row, group in zip(rows[1:], groups, strict=True):
        assert row[1] == str(group.count)  # no marks of thousands
        ends = group.rates["selection_rate"]
        assert [float(text.rstrip("%")) for text in row[at : at + 3]] == pytest.approx(
            [100 * end for end in ends], abs=0.051
        )
        assert not row[0].startswith(("=", "+", "@"))
    with page.expect_download() as download:
        panel.locator(".scroll", has=page.locator("svg.balance")).first.locator(
            "xpath=following-sibling::button[1]"
        ).click()
    header = download.value.path().read_text(encoding="utf-8-sig").splitlines()[0]
    assert header == "Group,People,Gain all,Gain label yes,Lose all,Lose label yes"  # no picture


def test_two_points_stand_beside_each_other(visit, made):
    page = visit()
    panel = page.locator("[data-panel]:visible")

    def column(kind):
        cells = panel.locator(f"details[open] table.rates td.{kind}").all_inner_texts()
        marks = panel.locator(f".tracks g.{kind} .mark").evaluate_all(
            "all => all.map(mark => mark.getAttribute('cx'))"
        )
        return cells, marks

    without, within = column("free"), column("fair")
    page.locator("#compare").select_option("0")
    assert column("fair") == within
    other, names = column("free"), panel.locator("th.free").all_text_contents()
    assert other != without
    assert set(names) == {"bound 0.005"}
    assert "Compared with bound 0.005" in page.locator("#announced").text_content()
    error, _, disparity = rates_by_hand(made.frontier.at(BOUNDS[0]), made.test)
    beside = panel.locator(".tile .beside").all_inner_texts()
    assert beside == [f"{error:.4f}", f"{disparity:.4f}"]
    page.evaluate("location.hash = 'point-0'")
    page.wait_for_function("document.getElementById('panel').dataset.panel == '0'")
    assert column("fair") == other  # its own numbers, on the same axes
    assert column("free") == other
    page.locator("#compare").select_option("free")
    assert column("free") == without


def test_a_reference_group_is_chosen(visit, made):
    page = visit()
    groups = made.contents.nearest().groups["test"]
    assert page.locator(".against").count() == 0
    page.locator("#reference").select_option("sex: F")
    rows = page.locator("[data-panel]:visible details[open] table.rates").first.locator("tbody tr")
    rates = {group.group: group.rates["selection_rate"].estimate for group in groups}
    for at, group in enumerate(groups):
        told = rows.nth(at).locator("td.fair").first.locator(".against")
        if group.group == "F":
            assert told.count() == 0
            continue
        more, ratio = told.inner_text().replace("−", "-").split(" points, ×")
        assert float(more) == pytest.approx(100 * (rates[group.group] - rates["F"]), abs=0.06)
        assert float(ratio) == pytest.approx(rates[group.group] / rates["F"], abs=0.006)
    page.locator("#compare").select_option("3")
    page.locator("#reference").select_option("")
    assert page.locator(".against").count() == 0


def test_who_gains_and_who_loses_is_in_the_first_lines(visit, made):
    page = visit()
    model, test = made.frontier.at(BOUNDS[2]), made.test
    selected, before = model.predict_proba(test.X)[:, 1], model.unconstrained_.predict(test.X)
    gained = selected[before == "no"].sum()
    lost = (1 - selected[before == "yes"]).sum()
    tiles = page.locator("[data-panel]:visible .tile")
    told = {
        tile.locator("dt").inner_text(): tile.locator("strong").inner_text() for tile in tiles.all()
    }
    assert told["People who gain"] == f"{gained:,.0f}"
    assert told["People who lose"] == f"{lost:,.0f}"
    assert f"{gained:,.0f} of 400 people gain" in page.locator("#short").inner_text()
