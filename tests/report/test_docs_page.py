"""The example in docs/report_page.md runs, and writes what it says."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_example_writes_both_files(tmp_path, monkeypatch):
    text = (DOCS / "report_page.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Demographic parity in Adult" in page
    assert page.count('"blocks":[{"tiles"') == 5
    assert "- Bound: 0.02." in Path("card.md").read_text(encoding="utf-8")


def test_pictures_are_small():
    pictures = list((DOCS / "images").glob("*.png"))
    assert len(pictures) >= 4
    assert all(picture.stat().st_size < 250_000 for picture in pictures)
