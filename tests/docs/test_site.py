"""The site: it is built without a warning, its code runs, and it prints what the pages show."""

import code
import html
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import equipoise

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from page_outputs import play  # noqa: E402

DOCS = ROOT / "docs"
FOLDERS = ("start", "howto", "explanation")
PAGES = sorted(page for folder in FOLDERS for page in (DOCS / folder).glob("*.md"))
PAGES += [DOCS / "frontier.md", DOCS / "unseen_people.md"]
EXAMPLES = sorted((DOCS / "gallery").glob("*.py"))
#: What a page needs beyond the packages that are always there.
NEEDS = {
    "tutorial.md": ("pandas", "skops"),
    "scores.md": ("pandas",),
    "lightgbm_pipeline.md": ("pandas", "lightgbm"),
    "large_data.md": ("pyarrow", "xgboost", "distributed", "dask.dataframe"),
    "deploy_and_monitor.md": (
        "pandas",
        "skops",
        "onnxruntime",
        "skl2onnx",
        "typer",
        "rich",
        "pyarrow",
    ),
    "from_fairlearn.md": ("fairlearn",),
    "prove_a_bound.md": ("pandas", "pyarrow"),
}
#: The file that a page needs; too large to be downloaded for a test.
DATA = dict.fromkeys(("prove_a_bound.md", "tutorial.md"), "acs_income_2018.parquet")
OLDEST = {"xgboost": "3.0"}
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e-?\d+)?")


def numbers(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def assert_prints(printed, shown, code):
    """Compare what is printed with what the page shows: every digit, but not the spaces."""
    advice = f"{code}\nprints\n{printed}\nrun tools/page_outputs.py if that is right"
    assert printed.split() == shown.split(), advice


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    for need in NEEDS.get(page.name, ()):
        reason = f"{page.name} shows code that needs {need}"
        pytest.importorskip(need, minversion=OLDEST.get(need), reason=reason)
    if file := DATA.get(page.name):
        folder = Path(os.environ.get("EQUIPOISE_DATA", ROOT.parent / "shared" / "data"))
        if not (folder / file).exists():
            pytest.skip(f"{page.name} needs {file} in the folder EQUIPOISE_DATA, or in {folder}")
        monkeypatch.setenv("EQUIPOISE_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    names = {}
    played = list(play(page.read_text(encoding="utf-8"), page.name, names))
    assert played
    for block in played:
        if block.shown is not None:
            assert_prints(block.printed, block.shown[2], block.code)
        elif not block.code.startswith("$"):
            assert not block.printed, f"the page does not show what is printed by\n{block.code}"
    if page.name == "from_fairlearn.md":
        check_attributes(page, names["theirs"], names["ours"])
    if page.name == "frontier.md":
        check_frontier_page(names)


def check_attributes(page, theirs, ours):
    """Attributes in the table of calls are there, in fairlearn and here."""
    lines = [line.split("|")[1:3] for line in page.read_text().splitlines() if line[:1] == "|"]
    pairs = [[re.findall(r"`(\w+_)(?:\.(\w+))?`", cell) for cell in line] for line in lines]
    found = [
        (model, *names)
        for pair in pairs
        for model, cell in zip((theirs, ours), pair, strict=True)
        for names in cell
    ]
    assert len(found) >= 10
    for model, name, inner in found:
        value = getattr(model, name)
        assert not inner or hasattr(value, inner), f"{name}.{inner}"


def check_frontier_page(names):
    """Models of the page keep what it asks of them, counted by hand."""
    selected = names["frontier"].at(eps=0.03).predict_proba(names["X"])[:, 1]
    for group in (0, 1):
        assert abs(selected[names["A"] == group].mean() - selected.mean()) <= 0.03 + 1e-6
    fairest = names["frontier"].select(error=0.27).predict_proba(names["X"])[:, 1]
    assert np.abs(fairest - names["y"]).mean() <= 0.27 + 1e-6


def test_the_quick_start_can_be_pasted_into_a_prompt(capsys):
    class Prompt(code.InteractiveConsole):
        def runcode(self, _):
            """Parse only: the prompt wants a blank line after a loop, where a file does not."""

    prompt = Prompt()
    text = (DOCS / "start" / "quick_start.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        waiting = [prompt.push(line) for line in block.splitlines()]
        assert not waiting[-1], block
    assert not capsys.readouterr().err


def test_every_page_with_code_is_run_by_some_test():
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for page in sorted(set(DOCS.rglob("*.md")) - set(PAGES)):
        if "```python" in page.read_text(encoding="utf-8"):
            assert page.name in tests, f"no test runs the code of {page.name}"


@pytest.mark.parametrize("printed", ["error 0.172", "error .171", "errors 0.171", "error 0.171 1"])
def test_the_comparison_of_outputs_can_fail(printed):
    assert_prints("error 0.171\n", "error   0.171", "")
    with pytest.raises(AssertionError):
        assert_prints(printed, "error 0.171", "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("sphinx", "myst_parser", "furo", "sphinx_gallery", "sphinx_copybutton"):
        pytest.importorskip(package, reason=f"building the site needs {package}: extra 'docs'")
    pytest.importorskip("matplotlib", reason="the gallery needs matplotlib: extra 'docs'")
    folder = tmp_path_factory.mktemp("site")
    # A copy, because the pages of the gallery are written beside the others.
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("gallery_pages"))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", "built"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def text_of(page):
    """Return the page without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def outputs_of(page):
    """Return what the code of a gallery page printed, block by block."""
    found = re.findall(
        r"sphx-glr-script-out.*?<pre>(.*?)</pre>", page.read_text(encoding="utf-8"), re.S
    )
    return [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in found]


def test_the_site_is_built_without_a_warning(site):
    """One test, since every worker that needs the site would build it."""
    pages, site = site / "docs", site / "built"
    for page in sorted(pages.rglob("*.md")):
        built = page.relative_to(pages).with_suffix(".html")
        assert (site / built).is_file(), f"{built} is missing"
    reference = "".join(text_of(page) for page in (site / "reference").glob("*.html"))
    for name in equipoise.__all__:
        assert re.search(rf"\b{name}\b", reference), f"{name} is in no page of the reference"
    check_signatures(site / "reference")
    for example in EXAMPLES:
        page = site / "gallery_pages" / f"{example.stem}.html"
        pictures = re.findall(r'src="([^"]+sphx_glr[^"]+\.png)"', page.read_text(encoding="utf-8"))
        assert pictures, f"{example.name} draws nothing"
        for picture in pictures:
            check_picture(page.parent / picture)
        assert outputs_of(page), f"{example.name} prints nothing"
        CHECKS[example.stem](outputs_of(page))


def check_signatures(reference):
    """See that classes have their parameters and defaults, and that none takes anything."""
    text = "".join(page.read_text(encoding="utf-8") for page in reference.glob("*.html"))
    heads = re.findall(r'<dt class="sig sig-object py" id="([\w.]+)">(.*?)</dt>', text, re.S)
    heads = {name: html.unescape(re.sub(r"<[^>]+>", "", head)) for name, head in heads}
    classes = {name: head for name, head in heads.items() if head.lstrip().startswith("class")}
    assert len(classes) > 60
    assert not [name for name, head in classes.items() if "*args" in head]
    for kind in (equipoise.FairClassifier, equipoise.DemographicParity, equipoise.Frontier):
        (head,) = (head for name, head in classes.items() if name.endswith(f".{kind.__name__}"))
        for name, parameter in inspect.signature(kind).parameters.items():
            default = parameter.default
            shown = name if default is inspect.Parameter.empty else f"{name}={default!r}"
            assert shown in head, f"{kind.__name__} does not show {shown}"


def check_picture(file):
    """See that axes are drawn, in ink and in the colours of the gallery, on a white ground."""
    from matplotlib.image import imread

    red, green, blue = np.moveaxis(imread(file)[..., :3], -1, 0)
    white = (red == 1) & (green == 1) & (blue == 1)
    assert 0.4 < white.mean() < 0.95, file.name
    assert ((red < 0.2) & (green < 0.2) & (blue < 0.2)).mean() > 0.005, f"{file.name}: no axes"
    assert ((blue > red + 0.3) & ~white).mean() > 0.002, f"{file.name}: nothing is drawn in blue"


def rows(text):
    """Return the numbers of each line that has any."""
    found = [numbers(line) for line in text.splitlines()]
    return [line for line in found if line]


def check_frontier(outputs):
    (bounds, fits), (*measured,) = rows(outputs[0])[0], rows(outputs[1])
    assert bounds == 10
    assert fits < 30
    assert len(measured) == 3
    for eps, difference, error in measured:
        # A loose bound need not be used up: the unconstrained model may meet it within nu.
        assert eps - 0.05 < difference < eps + 0.05  # three standard errors of both samples
        assert 0.12 < error < 0.2
    assert measured[0][2] > measured[-1][2]  # parity is not free


def check_four_fifths(outputs):
    (free, free_error), (fair, fair_error) = rows(outputs[0])
    assert free < 0.5
    assert fair >= 0.8
    assert 0 < fair_error - free_error < 0.03


def check_several_attributes(outputs):
    margins, intersections = rows(outputs[0])
    assert max(margins[:2]) <= 0.02
    assert margins[2] > 0.3
    assert max(intersections) <= 0.02


def check_plugin(outputs):
    measured = rows(outputs[0])
    assert len(measured) == 5
    for eps, refit, refit_error, plugin, plugin_error in measured:
        assert max(refit, plugin) < eps + 0.03  # less where the bound does not bind
        assert abs(refit_error - plugin_error) < 0.015


def check_blindness(outputs):
    measured = rows(outputs[0])
    one, two = measured[:6], measured[6:]
    for bound, blind, aware, price in measured:
        assert price == pytest.approx(blind - aware, abs=2e-4)
        assert 0 < bound < 0.5
    assert one[0][3] > 0.05 > two[0][3] > 0
    assert one[0][3] > one[-1][3]


def check_out_of_fold(outputs):
    (on_fit, missed), (_, met) = rows(outputs[0])
    assert on_fit <= 0.02
    assert missed > 0.05
    assert met < 0.045


def check_minimax(outputs):
    (many, few), (many_equal, few_equal), (many_least, few_least) = rows(outputs[0])
    assert few > 2 * many
    assert abs(many_equal - few_equal) <= 0.011
    assert few_least <= min(few, few_equal) + 0.001
    assert many_least < many_equal - 0.02
    ((reached, low),) = rows(outputs[1])
    assert low <= reached == few_least


def check_promise(outputs):
    (plain, samples), (broken, found) = rows(outputs[0])
    assert samples == 20
    assert plain >= 4
    assert broken <= 2
    assert found >= 10


def check_regression(outputs):
    (constant,), *points = rows(outputs[0])
    bounds, losses, _ = zip(*points, strict=True)
    assert bounds == (0.01, 0.03, 0.1, 0.2, 0.3)
    assert constant > losses[0] > losses[1] > losses[2]  # these bounds bind
    assert min(losses) == losses[-1] > 9 - 1  # the noise in the labels has variance 9


def check_several_labels(outputs):
    (plain, plain_error), (bound, fair, fair_error) = rows(outputs[0])
    assert plain > 0.2
    assert fair < bound + 0.02
    assert plain_error < fair_error < 2 / 3


CHECKS = {
    "plot_1_frontier": check_frontier,
    "plot_2_four_fifths": check_four_fifths,
    "plot_3_several_attributes": check_several_attributes,
    "plot_4_plugin": check_plugin,
    "plot_5_price_of_blindness": check_blindness,
    "plot_6_out_of_fold": check_out_of_fold,
    "plot_7_minimax": check_minimax,
    "plot_8_promise_kept": check_promise,
    "plot_9_regression": check_regression,
    "plot_10_several_labels": check_several_labels,
}
