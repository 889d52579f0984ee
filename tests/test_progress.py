"""Progress: a bar where one can be shown, lines elsewhere, and never a step back."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from equipoise.progress import telling


class Notebook(ModuleType):
    """IPython as a notebook has it, with all that it displays."""

    def __init__(self):
        super().__init__("IPython")
        self.shown = []
        self.display = ModuleType("IPython.display")
        self.display.HTML = str
        self.display.display = self.show

    def get_ipython(self):
        return SimpleNamespace(kernel="one")

    def show(self, html, display_id):
        assert display_id
        self.shown.append(html)
        return SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch):
    found = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", found)
    monkeypatch.setitem(sys.modules, "IPython.display", found.display)
    return found


def test_a_notebook_has_a_bar_from_the_start(notebook, capsys):
    with telling(True) as tell:
        assert notebook.shown == ['<progress max="1"></progress> <span>first fit</span>']
        tell(None, "1 fit, gap < 1", "line")
        tell(0.25, "2 fits", "line")
    assert notebook.shown[1:] == [
        '<progress max="1"></progress> <span>1 fit, gap &lt; 1</span>',
        '<progress max="1" value="0.250"></progress> <span>2 fits</span>',
        "<span>2 fits</span>",  # which does not move any more
    ]
    assert capsys.readouterr().out == ""


def test_a_bar_ends_with_the_fit_that_fails(notebook):
    with pytest.raises(KeyError), telling("bar"):
        raise KeyError
    assert notebook.shown[-1] == "<span>first fit</span>"


def test_lines_where_they_are_asked_for(notebook, capsys):
    with telling("lines") as tell:
        tell(0.5, "words", "line")
    assert capsys.readouterr().out == "line\n"
    assert notebook.shown == []


def test_a_log_has_a_few_lines_and_the_last(capsys):
    with telling(True) as tell:
        for number in range(1, 101):
            tell(0.5, "words", f"round {number}")
    lines = [f"round {number}" for number in (1, 2, 4, 8, 16, 32, 64, 100)]
    assert capsys.readouterr().out.splitlines() == lines


def test_a_terminal_has_a_bar(capsys):
    pytest.importorskip("rich")
    with telling("bar") as tell:
        tell(None, "[red]words", "line")
        tell(0.5, "2 fits", "line")
    printed = capsys.readouterr()
    assert "2 fits" in printed.err
    assert printed.out == ""


def test_without_rich_a_bar_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ImportError, match="pip install rich"), telling("bar"):
        pass
