"""Makes the pictures in docs/images: the report page on Adult, and what `make demo` prints.

Run it from the root of the repository: python tools/report_pictures.py
It needs chromium, playwright and Pillow.
"""

import html
import subprocess
import sys
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, Frontier
from equipoise.datasets import load_adult
from equipoise.report import report_of, write_report

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
TERMINAL = """<style>body { margin: 0; background: #12161b; color: #e8ecf0; }
pre { margin: 0; padding: 20px; font: 15px/1.4 "DejaVu Sans Mono", monospace; width: max-content; }
</style><pre>"""


def write_adult_page(path):
    adult = load_adult()
    train = adult.split == "train"
    sex = adult.sensitive["sex"]
    learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    frontier = Frontier(learner, DemographicParity(reference="pairwise"))
    frontier.fit(adult.data[train], adult.target[train], sensitive_features={"sex": sex[train]})
    contents = report_of(
        frontier,
        adult.data[train],
        adult.target[train],
        sensitive_features={"sex": sex[train]},
        X_test=adult.data[~train],
        y_test=adult.target[~train],
        sensitive_features_test={"sex": sex[~train]},
        source="the Adult data",
        label="earns more than 50,000 dollars",
        file="adult.equipoise",
    )
    write_report(path, contents)


def demo_output(folder):
    printed = subprocess.run(
        [sys.executable, "-m", "equipoise.experiments.demo"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return "$ make demo\n" + printed.stdout


def photograph(browser, source, name, clip=None, **options):
    page = browser.new_page(**options)
    page.goto(source.as_uri())
    target = IMAGES / name
    if clip is None:
        page.locator("pre").first.screenshot(path=target)
    else:
        height = page.locator(clip).last.bounding_box()
        bottom = height["y"] + height["height"] + 16
        area = {"x": 0, "y": 0, "width": options["viewport"]["width"], "height": bottom}
        page.screenshot(path=target, full_page=True, clip=area)
    page.close()
    Image.open(target).convert("RGB").quantize(96).save(target, optimize=True)
    print(target.name, f"{target.stat().st_size:,} bytes")


def main():
    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        page, terminal = Path(folder, "report.html"), Path(folder, "demo.html")
        write_adult_page(page)
        terminal.write_text(TERMINAL + html.escape(demo_output(folder)), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=which("chromium"), args=FLAGS)
        groups = "[data-panel]:visible details[open] .scroll"
        wide = {"width": 1200, "height": 900}
        photograph(browser, page, "report.png", groups, viewport=wide)
        photograph(browser, page, "report_dark.png", groups, viewport=wide, color_scheme="dark")
        phone = {"width": 360, "height": 740}
        tiles = "[data-panel]:visible .tiles"
        photograph(
            browser, page, "report_phone.png", tiles, viewport=phone, device_scale_factor=1.5
        )
        photograph(browser, terminal, "demo.png")
        browser.close()


if __name__ == "__main__":
    main()
