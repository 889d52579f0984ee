"""How a command ends: exit codes, and errors as sentences.

====  ===========================================================================================
code  meaning
====  ===========================================================================================
0     done
1     ``certify`` found a bound exceeded beyond its confidence interval
2     not done: wrong options, data or files; a sentence on the standard error says what to do
3     not done: an unexpected error; EQUIPOISE_TRACEBACK=1 shows where
4     ``certify`` found nothing to compare: one group alone, or bounds that are not known
5     ``monitor`` has raised the alarm, on this day or before
6     ``fit --confidence`` did not prove the bounds; there is a model file only with ``--fallback``
130   interrupted from the keyboard
====  ===========================================================================================
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

#: Errors that say what was received, what was expected, and what to do.
_EXPLAINED = (ValueError, TypeError, OSError, ImportError, MemoryError, RuntimeError)


class Ended(Exception):
    """A command that has printed all it had to, and ends with this code."""

    def __init__(self, code: int) -> None:
        self.code = code


def end_certify(exceeded: bool, compared: bool) -> None:
    """End ``certify`` with its exit code, unless all is well."""
    if exceeded or not compared:
        raise Ended(EXCEEDED if exceeded else NOTHING_COMPARED)


def explain(error: BaseException) -> int:
    """Print an error as a sentence, also as JSON if asked for; return the exit code."""
    if isinstance(error, Ended):
        return error.code
    if isinstance(error, BrokenPipeError):  # the reader of the output has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (else Python complains when it ends)
        return DONE
    code, text = _told(error)
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

    from equipoise.exceptions import EmptyCellWarning, EquipoiseWarning, SmallGroupWarning

    def show(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
        if issubclass(category, (EquipoiseWarning, ConvergenceWarning)):
            text = in_options(str(message))
            # That nobody has a label tells the labels of the others, and how few people a group has
            # is suppressed: not for files.
            private = (EmptyCellWarning, SmallGroupWarning)
            terminal.note(text, keep=not issubclass(category, private))

    with warnings.catch_warnings():
        warnings.simplefilter("always", EquipoiseWarning)
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.showwarning = show
        yield
