"""What a command prints: tables and sentences for people, one JSON object for machines.

Results go to the standard output, progress and notes to the standard error. Names of columns and
groups come out of files; they are printed as text, never as markup or as codes of the terminal.
"""

from __future__ import annotations

import json
import math
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console

#: Width of tables in a log, where there is no terminal to ask.
_LOG_WIDTH = 160


class Tick(Protocol):
    """Says how far a command has got: a share from 0 to 1, and in words."""

    def __call__(self, share: float, words: str = "") -> None:
        """Show the share and the words."""


class Terminal:
    """The two outputs of a command; for a machine, the standard output gets one JSON object."""

    def __init__(self, *, machine: bool = False) -> None:
        self.machine = machine
        self.notes: list[str] = []
        self.interrupted = False  #: Whether Ctrl-C came during `interruptible`.
        self.out, self.err = _console(sys.stdout), _console(sys.stderr)

    @classmethod
    def start(cls, machine: bool) -> Terminal:
        """Make the terminal of a command that begins."""
        terminal = cls(machine=machine)
        _RUNNING.set(terminal)
        return terminal

    @classmethod
    def current(cls) -> Terminal:
        """Return the terminal of the command that runs."""
        return _RUNNING.get()

    def say(self, text: str = "") -> None:
        """Print a line for people."""
        if not self.machine:
            self.out.print(printable(text, keep="\n"), soft_wrap=True)

    def note(self, text: str, *, keep: bool = True) -> None:
        """Print something that should be known, such as a warning; keep it for pages and JSON."""
        if keep:
            self.notes.append(text)
        self.err.print(f"Note: {printable(text)}", soft_wrap=True)

    def progress_line(self, text: str) -> None:
        """Print a line about what is going on."""
        self.err.print(printable(text), soft_wrap=True)

    def table(
        self,
        title: str,
        header: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        note: bool = False,
    ) -> None:
        """Print a table for people, as a result or a note: words to the left, numbers right."""
        if self.machine:
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for number, name in enumerate(header):
            numbers = all(str(row[number])[:1] in "+-0123456789" for row in rows)
            table.add_column(
                Text(printable(name)), justify="right" if numbers else "left", overflow="fold"
            )
        for row in rows:
            table.add_row(*(Text(printable(str(entry))) for entry in row))
        console = self.err if note else self.out
        with console.capture() as capture:
            console.print(table)
        lines = (line.rstrip() for line in capture.get().splitlines())
        shown = [printable(title), *(line for line in lines if line)]
        print("\n".join(shown), file=console.file, end="\n\n")

    def emit(self, result: dict[str, Any]) -> None:
        """Print the result for machines."""
        if self.machine:
            text = json.dumps(to_json({**result, "notes": self.notes}), indent=1, allow_nan=False)
            print(text, file=sys.stdout)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Remember an interrupt from the keyboard, which a fit ends well after."""

        def interrupt(number: int, frame: Any) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        if threading.current_thread() is not threading.main_thread():  # signals are not ours
            yield
            return
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def progress(self, what: str) -> Iterator[Tick]:
        """Show how far something has got: a bar on a terminal, lines in a log."""
        if self.err.is_terminal:
            from rich.progress import (
                BarColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            columns = (
                *(TextColumn("{task.description}"), BarColumn()),
                *(TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn()),
                *(TextColumn("left"), TimeRemainingColumn()),
                TextColumn("{task.fields[words]}", markup=False),
            )
            with Progress(*columns, console=self.err, transient=True) as bar:
                task = bar.add_task(what, total=None, words="")  # it moves until a share is known

                def show(share: float, words: str = "") -> None:
                    bar.update(task, total=1.0, completed=share, words=words)

                yield show
        else:
            shown: set[tuple[int, str]] = set()

            def tick(share: float, words: str = "") -> None:
                if (now := (math.floor(share * 10), words)) not in shown:
                    shown.clear()
                    shown.add(now)  # a line for every tenth of the way, or where the words change
                    self.progress_line(f"{what}: {share:.0%}{words and ', ' + words}")

            yield tick


#: The terminal of the command that runs; the options of a command cannot carry it.
_RUNNING: ContextVar[Terminal] = ContextVar("terminal")


def command_line() -> str:
    """Return the command line that runs, to be run again."""
    return shlex.join(["equipoise", *sys.argv[1:]])


def _console(file: Any) -> Console:
    from rich.console import Console

    width = None if file.isatty() else _LOG_WIDTH
    return Console(file=file, markup=False, highlight=False, emoji=False, width=width)


def printable(text: str, keep: str = "") -> str:
    r"""Return text without codes that a terminal would obey.

    >>> printable("\x1b[31mred\x1b[0m")
    '\\x1b[31mred\\x1b[0m'
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def to_json(value: Any) -> Any:
    """Return a value as JSON can hold it; what is not a finite number becomes null.

    >>> import numpy as np
    >>> to_json({"a": np.array([1.0, np.nan]), ("F", 1): np.int64(2)})
    {'a': [1.0, None], 'F & 1': 2}
    """
    import numpy as np

    from equipoise.constraints.groups import group_name

    if is_dataclass(value):
        value = {part.name: getattr(value, part.name) for part in fields(value)}
    if isinstance(value, dict):
        return {group_name(key): to_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [to_json(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
