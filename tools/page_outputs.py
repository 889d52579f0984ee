"""Write what the code of a page prints into the page.

Blocks of ``python`` are run from top to bottom, and so are the ``$ equipoise`` lines of blocks of
``console``; other commands of these are not. A block that prints is followed by a block of
``text``, and this replaces it by what was printed::

    OMP_NUM_THREADS=1 python tools/page_outputs.py docs/start/tutorial.md ...

`tests/docs/test_site.py` compares the two.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCED = re.compile(r"^```(python|console|text)\n(.*?)^```", re.M | re.S)
#: What follows a command that is to end with another code than 0.
EXIT_CODE = re.compile(r"# exit code (\d)")


class Played(NamedTuple):
    """A block of code, what it printed, and the place of the text that the page shows for it."""

    code: str
    printed: str
    shown: re.Match | None


def play(text: str, name: str, names: dict | None = None) -> Iterator[Played]:
    """Run the blocks of a page, in the current folder, as one program, over these names."""
    names = {} if names is None else names
    names["__name__"] = "page"
    blocks = list(FENCED.finditer(text))
    for at, block in enumerate(blocks):
        if block[1] == "text":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            if block[1] == "python":
                exec(compile(block[2], name, "exec"), names)
            else:
                run_commands(block[2])
        shown = blocks[at + 1] if blocks[at + 1 :] and blocks[at + 1][1] == "text" else None
        yield Played(block[2], out.getvalue(), shown)


def run_commands(lines: str) -> None:
    """Run the lines that start with ``$ equipoise``."""
    from equipoise.cli.app import run

    for line in lines.splitlines():
        if line.startswith("$ equipoise "):
            code, expected = run(shlex.split(line, comments=True)[2:]), EXIT_CODE.search(line)
            if code != (int(expected[1]) if expected else 0):
                raise AssertionError(f"{line} ended with code {code}")


def refreshed(text: str, name: str) -> str:
    """Return the text of the page with fresh outputs."""
    done, end = "", 0
    for block in play(text, name):
        if (block.shown is None) != (not block.printed) and not block.code.startswith("$"):
            raise AssertionError(f"{block.code}\nprints {block.printed!r}, the page otherwise")
        if block.shown is not None:
            lines = (line.rstrip() for line in block.printed.rstrip().splitlines())
            done += text[end : block.shown.start()] + "\n".join(["```text", *lines, "```"])
            end = block.shown.end()
    return done + text[end:]


def main(pages: list[str]) -> None:
    """Rewrite the pages."""
    for page in [Path(page).resolve() for page in pages]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            fresh = refreshed(page.read_text(encoding="utf-8"), page.name)
        page.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main(sys.argv[1:])
