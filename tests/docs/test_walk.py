"""The walk of a fit in ARCHITECTURE.md is the one that the code takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from walk import END, START, Step, as_read, changes, figures, lines_of, written  # noqa: E402


def steps(text):
    """Return one step a letter; each is the function and the file, an upper one an attribute."""
    return [Step(f"{letter}.py", letter, letter.isupper()) for letter in text]


def test_the_page_shows_the_walk_of_the_code():
    command = [sys.executable, str(ROOT / "tools" / "walk.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert page == written(page, done.stdout), "run: python tools/walk.py --write ARCHITECTURE.md"
    ((_, files, n_changes, *_),) = re.findall(r"^one round" + r"\s+(\d+)" * 5, done.stdout, re.M)
    assert int(files) <= 15
    assert int(n_changes) <= 40


def test_figures_by_hand():
    assert figures(steps("aabacB")) == {
        "steps": 6,
        "files": 4,
        "changes": 4,
        "returns": 1,
        "as read": 3,
    }


@pytest.mark.parametrize(
    ("taken", "read"),
    [
        ("abcd", "abcd"),
        ("aaa", "a"),
        ("xababaly", "xabaly"),
        ("aabaabc", "abc"),
        ("abba", "aba"),
        ("aBaBc", "ac"),
        ("abcabd", "abcabd"),
    ],
)
def test_loops_are_read_once(taken, read):
    assert as_read(steps(taken)) == steps(read)


def test_a_line_is_a_visit():
    assert list(lines_of("a way", steps("abba"))) == [
        "a way",
        "  a.py  a",
        "  b.py  b",
        "  a.py  a",
    ]
    assert changes(steps("abba")) == 2


def test_only_what_is_between_the_markers_is_written():
    page = f"# A page\n\n{START}old\n{END}\n\nmore\n"
    assert written(page, "new\n") == f"# A page\n\n{START}\n```text\nnew\n```\n\n{END}\n\nmore\n"
    for broken in ("no marker", START, f"{END}\n{START}"):
        with pytest.raises(ValueError, match="needs a line"):
            written(broken, "new\n")
