"""The command line: ``equipoise --help``; an extra, ``pip install 'equipoise[cli]'``."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

#: What the extra installs, and the commands need.
_NEEDED = ("typer", "rich", "pyarrow", "skops")


def main() -> None:
    """Run the command line; what it lacks, it says in a sentence."""
    _open_closed_streams()
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        print(
            f"The command line needs {', '.join(missing)}, which is not installed. Install it: "
            "pip install 'equipoise[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
    from equipoise.cli.app import run

    raise SystemExit(run())


def _open_closed_streams() -> None:
    """Let standard streams that are closed lead nowhere; else files would get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (as long as Python runs)
