"""What the command that runs prints: tables and sentences for people, or JSON for machines.

Results go to the standard output, progress and notes to the standard error. Names of columns and
groups come out of files; they are printed as text, never as markup or as codes of the terminal.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from types import FrameType

    from rich.console import Console

#: Width of tables in a log, where there is no terminal to ask.
_LOG_WIDTH = 160


class Tick(Protocol):
    """Says how far a command has got: a share from 0 to 1, None where none is known, and words."""

    def __call__(self, share: float | None, words: str = "", step: Hashable = None) -> None:
        """Show the share and the words; in a log, where the step is a new one."""


class Running:
    """The command that runs: what it prints to, and what it has said so far."""

    def __init__(self, *, machine: bool = False) -> None:
        self.machine = machine  #: Whether the standard output gets one JSON object instead.
        self.code = 0  #: The exit code, unless an error ends the command.
        self.notes: list[str] = []  #: Those that pages and JSON keep.
        self.said: set[str] = set()  #: All notes.
        self.interrupted = False  #: Whether Ctrl-C came during `interruptible`.
        self.out, self.err = _console(sys.stdout), _console(sys.stderr)


class Output:
    """A standard stream whose failure ends no command: after its first error it swallows all."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None  #: The first.

    def write(self, text: str) -> int:
        """Write text, as long as that works."""
        self._try(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write the buffered output, until a write fails."""
        self._try(self._stream.flush)

    def _try(self, action: Callable[..., object], *arguments: str) -> None:
        if self.error is not None:
            return
        try:
            action(*arguments)
        except OSError as error:
            self.error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def outputs() -> Iterator[Output]:
    """Let a command run to its end whatever becomes of its output; give the standard output."""
    streams = sys.stdout, sys.stderr
    with suppress(AttributeError):  # an encoding may lack a letter of a name
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    out, err = Output(sys.stdout), Output(sys.stderr)
    sys.stdout, sys.stderr = out, err  # type: ignore[assignment]
    try:
        yield out
    finally:
        sys.stdout, sys.stderr = streams
        err.flush()
        for output in (out, err):
            if output.error is not None:
                _discard(output)


def _discard(output: Output) -> None:
    """Redirect the descriptor to the null device, so that Python's last flush cannot fail."""
    with suppress(OSError):  # a stream without a descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, output.fileno())
        finally:
            os.close(nowhere)


#: The options of a command cannot carry it.
_RUNNING: ContextVar[Running] = ContextVar("running")
running = _RUNNING.get


def start(*, machine: bool) -> None:
    """Begin a command."""
    _RUNNING.set(Running(machine=machine))


def say(text: str = "") -> None:
    """Print a line for people."""
    if not running().machine:
        running().out.print(printable(text, keep="\n"), soft_wrap=True)


def note(text: str, *, keep: bool = True) -> None:
    """Print what should be known, such as a warning, once; keep it for pages and JSON."""
    if text in running().said:
        return
    running().said.add(text)
    if keep:
        running().notes.append(text)
    progress_line(f"Note: {text}")


def progress_line(text: str) -> None:
    """Print a line about what is going on."""
    running().err.print(printable(text), soft_wrap=True)


def table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], *, as_note: bool = False
) -> None:
    """Print a table for people, as a result or a note: words to the left, numbers right."""
    if running().machine:
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for number, name in enumerate(header):
        numbers = all(str(row[number])[:1] in "+-0123456789" for row in rows)
        side: Any = "right" if numbers else "left"
        table.add_column(Text(printable(name)), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(entry))) for entry in row))
    console = running().err if as_note else running().out
    with console.capture() as capture:
        console.print(table)
    lines = (line.rstrip() for line in capture.get().splitlines())
    shown = [printable(title), *(line for line in lines if line)]
    print("\n".join(shown), file=console.file, end="\n\n")


def emit(result: dict[str, Any]) -> None:
    """Print the result for machines."""
    if running().machine:
        found = to_json({**result, "notes": running().notes})
        print(json.dumps(found, indent=1, allow_nan=False), file=sys.stdout)


@contextmanager
def interruptible() -> Iterator[None]:
    """Remember an interrupt from the keyboard, which a fit ends well after."""
    from equipoise.game.rounds import is_searching

    def interrupt(number: int, frame: FrameType | None) -> None:
        running().interrupted = True
        if is_searching(frame):
            with suppress(RuntimeError):  # in the middle of another line
                progress_line(
                    "Interrupted: the best so far is measured and written, which may take minutes. "
                    "Ctrl-C again ends at once."
                )
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
def progress(what: str, of: str = "") -> Iterator[Tick]:
    """Show how far something has got: one line that changes on a terminal, a few lines in a log.

    ``of`` says what shares are of; without it they are drawn as a bar, and not printed.
    """
    if running().err.is_terminal:
        with _bar(what, of) as show:
            yield show
        return
    shown: Hashable = None

    def tick(share: float | None, words: str = "", step: Hashable = None) -> None:
        nonlocal shown
        before = shown
        # By default a line for every tenth of the way, and where the words change.
        shown = (math.floor((share or 0.0) * 10), words) if step is None else step
        if shown != before:
            percent = f"{share:.0%} of {of}" if of and share is not None else ""
            progress_line(f"{what}: {', '.join(filter(None, (percent, words)))}")

    yield tick


@contextmanager
def _bar(what: str, of: str) -> Iterator[Tick]:
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[ProgressColumn] = [TextColumn("{task.description}"), BarColumn()]
    if of:
        columns += [TextColumn(f"{{task.percentage:>3.0f}} % of {of}"), TimeElapsedColumn()]
        columns += [TextColumn("left"), TimeRemainingColumn()]
    else:
        columns.append(TimeElapsedColumn())
    columns.append(TextColumn("{task.fields[words]}", markup=False))
    with Progress(*columns, console=running().err, transient=True) as bar:
        task = bar.add_task(what, total=None, words="")  # it moves until a share is known

        def show(share: float | None, words: str = "", step: Hashable = None) -> None:
            total = None if share is None else 1.0
            bar.update(task, total=total, completed=share or 0.0, words=words)

        yield show


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
