"""Progress of a fit: a bar in a notebook or a terminal, a few lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib.util import find_spec
from typing import Any

#: Shows a share from 0 to 1, None while it is not known, words beside the bar, and a line for logs.
Tell = Callable[[float | None, str, str], None]

_BEFORE = "first fit"


def check_verbose(verbose: Any) -> None:
    """Raise an error unless this is a value of the parameter ``verbose``."""
    if not isinstance(verbose, (int, type(None))) and verbose not in ("bar", "lines"):
        raise ValueError(
            f"verbose is {verbose!r}; expected False, True (a bar where one can be shown, lines "
            "elsewhere), 'bar' or 'lines'."
        )


@contextmanager
def telling(verbose: Any) -> Iterator[Tell]:
    """Yield a function that shows how far a fit has got; a bar is there from the start."""
    notebook = _in_notebook()
    if verbose == "lines":
        yield lambda share, words, line: print(line, flush=True)
        return
    if not (notebook or verbose == "bar" or _on_terminal()):
        with _few_lines() as tell:
            yield tell
        return
    with _notebook_bar() if notebook else _terminal_bar() as tell:
        yield tell


@contextmanager
def _few_lines() -> Iterator[Tell]:
    """Yield a function that prints lines 1, 2, 4, 8 and so on, and at the end the last one."""
    number = 0
    waiting = ""

    def tell(share: float | None, words: str, line: str) -> None:
        nonlocal number, waiting
        number += 1
        waiting = line
        if number & (number - 1) == 0:
            print(line, flush=True)
            waiting = ""

    try:
        yield tell
    finally:
        if waiting:
            print(waiting, flush=True)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _on_terminal() -> bool:
    return sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def _notebook_bar() -> Iterator[Tell]:
    from IPython.display import HTML, display

    text = _BEFORE
    shown = display(HTML(_bar(None, text)), display_id=True)

    def tell(share: float | None, words: str, line: str) -> None:
        nonlocal text
        text = words
        shown.update(HTML(_bar(share, words)))

    try:
        yield tell
    finally:
        # A bar without end would move for ever.
        shown.update(HTML(f"<span>{escape(text)}</span>"))


def _bar(share: float | None, words: str) -> str:
    value = "" if share is None else f' value="{share:.3f}"'
    return f'<progress max="1"{value}></progress> <span>{escape(words)}</span>'


@contextmanager
def _terminal_bar() -> Iterator[Tell]:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError as error:
        raise ImportError(
            "verbose='bar' needs rich, which is not installed. Run: pip install rich; or use "
            "verbose='lines'."
        ) from error
    words_column = TextColumn("{task.fields[words]}", markup=False)
    columns = (BarColumn(), TimeElapsedColumn(), words_column)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None, words=_BEFORE)

        def tell(share: float | None, words: str, line: str) -> None:
            total = None if share is None else 1.0
            bar.update(task, total=total, completed=share or 0.0, words=words)

        yield tell
