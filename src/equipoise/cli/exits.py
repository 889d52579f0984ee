"""How a command ends: its exit code, and errors as sentences.

A command that has a verdict decides it before it prints anything, and whatever happens to what it
prints, the exit code says it.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from equipoise.cli import terminal
from equipoise.cli.spelling import in_options
from equipoise.cli.terminal import printable

DONE, EXCEEDED, NOT_DONE, UNFORESEEN, NOTHING_COMPARED, ALARM, NOT_PROVEN = range(7)
INTERRUPTED = 130
#: What each exit code means.
MEANINGS = {
    DONE: "done",
    EXCEEDED: "`certify` found a bound exceeded beyond its confidence interval",
    NOT_DONE: "not done: wrong options, data or files; a sentence on the standard error says what "
    "to do",
    UNFORESEEN: "not done: an unexpected error; `EQUIPOISE_TRACEBACK=1` shows where",
    NOTHING_COMPARED: "`certify` found nothing to compare: one group alone, or no bound that is "
    "known; `verify` found no rows to compare on",
    ALARM: "`monitor` has raised the alarm, on this day or before",
    NOT_PROVEN: "`fit --confidence` did not prove the bounds; there is a model file only with "
    "`--fallback`",
    INTERRUPTED: "interrupted from the keyboard",
}

#: Errors that say what was received, what was expected, and what to do.
_EXPLAINED = (ValueError, TypeError, OSError, ImportError, MemoryError, RuntimeError)


def decide(code: int) -> None:
    """Fix the exit code of the command, before its verdict is printed."""
    terminal.running().code = code


def decide_certify(exceeded: bool, compared: bool) -> None:
    """Fix the exit code of ``certify``."""
    if exceeded or not compared:
        decide(EXCEEDED if exceeded else NOTHING_COMPARED)


def explain(error: BaseException) -> int:
    """Print an error as a sentence, also as JSON if asked for; return the exit code.

    A verdict that was decided before the error stays the exit code, unless it is an interrupt.
    """
    decided = terminal.running().code
    if isinstance(error, BrokenPipeError):  # the reader of the output has seen enough
        return decided
    code, text = _told(error)
    if code != INTERRUPTED:
        code = decided or code
    if os.environ.get("EQUIPOISE_TRACEBACK") and code != INTERRUPTED:
        traceback.print_exception(error)
    print(text if code == INTERRUPTED else f"Error: {text}", file=sys.stderr)
    terminal.emit({"error": text, "code": code})
    return code


def _told(error: BaseException) -> tuple[int, str]:
    """Return the exit code of an error, and a sentence."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "Interrupted."
    if isinstance(error, _EXPLAINED) and str(error):
        return NOT_DONE, printable(_sentence(error), keep=chr(10))
    return UNFORESEEN, (
        f"{type(error).__name__}: {printable(str(error))}. This error was unexpected; set "
        "EQUIPOISE_TRACEBACK=1 to see where it happened."
    )


def _sentence(error: BaseException) -> str:
    text = str(error).strip()
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        # Files are written under another name first; users know the one that they gave.
        name = re.sub(r"\.([^/\\]+)\.\w{8}\.partial$", r"\1", str(error.filename))
        text = f"{name}: {error.strerror}."
    if isinstance(error, FileExistsError):
        text = text.replace("Name another file, or allow to overwrite.", "").strip()
        text = f"{text} Name another file, or overwrite it with --force."
    return in_options(text)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings of the library as notes, each once; those of others are not for users."""
    from sklearn.exceptions import ConvergenceWarning

    from equipoise.exceptions import (
        EmptyCellWarning,
        EquipoiseWarning,
        FewPeopleWarning,
        SmallGroupWarning,
    )

    def show(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
        if issubclass(category, (EquipoiseWarning, ConvergenceWarning)):
            text = in_options(str(message))
            # That nobody has a label tells the labels of the others, and how few people a group has
            # is for the owner alone: not for files.
            private = (EmptyCellWarning, SmallGroupWarning, FewPeopleWarning)
            terminal.note(text, keep=not issubclass(category, private))

    with warnings.catch_warnings():
        warnings.simplefilter("always", EquipoiseWarning)
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.showwarning = show
        yield
