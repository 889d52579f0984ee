"""Templates: filled strictly, found in the package, and clear about what is missing."""

import subprocess
import sys

import pytest
from unkind import UNKIND

from equipoise.report import model_card, templates, write_report


def test_reports_say_what_to_install(made, monkeypatch, tmp_path):
    for cached in (templates.page_template, templates.markdown_template):
        cached.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'equipoise\[report\]'"):
        write_report(tmp_path / "page.html", made.contents)
    with pytest.raises(ImportError, match=r"pip install 'equipoise\[report\]'"):
        model_card(made.contents)
    assert not list(tmp_path.iterdir())


def test_jinja2_is_imported_when_a_page_is_written():
    code = "import sys, equipoise, equipoise.report; print('jinja2' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_what_the_page_lacks_is_an_error():
    jinja2 = pytest.importorskip("jinja2")
    environment = templates.page_template().environment
    assert environment.autoescape is True
    with pytest.raises(jinja2.UndefinedError):
        environment.from_string("{{ page.nothing }}").render(page=object())


def test_nothing_breaks_out_of_markdown():
    environment = templates.markdown_template("card.md.j2").environment
    shown = environment.from_string("| {{ text }} |").render(text=f"a|b\n# {UNKIND} [x](y) &amp;")
    assert shown == r"| a\|b \# \<script\>alert(1)\</script\> \[x\](y) \&amp; |"
