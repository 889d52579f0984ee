"""``verify``: whether a model file is undamaged, and its model decides as it did when saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.exits import NOTHING_COMPARED, decide


def verify(
    *,
    file: Annotated[Path, typer.Argument(help="A model file, or a frontier file.")],
    trust: opt.Trust = None,
    machine: opt.Json = False,
) -> None:
    """Check that a model file is undamaged and decides here as where it was saved.

    The exit code is 0 if it does, 2 if not, and 4 where there was nothing to compare.
    """
    from equipoise.files import read_manifest
    from equipoise.files import verify as compare
    from equipoise.files.manifest import changed_versions

    compared = compare(file, trusted=trust or ())
    manifest = read_manifest(file)
    written = manifest["versions"]
    changed = changed_versions(written)
    if compared:
        terminal.say(
            f"{file.name} is undamaged. Its model answers {compared} made-up rows as it did when "
            "it was saved."
        )
    else:
        decide(NOTHING_COMPARED)
        terminal.say(f"{file.name} is undamaged. NOTHING WAS COMPARED: {_reason(manifest)}.")
    if changed:
        then = ", ".join(f"{name} {written.get(name, 'was not installed')}" for name in changed)
        terminal.say(f"Other versions than here wrote it: {then}.")
    terminal.emit({"file": str(file), "rows_compared": compared, "written_with": written})


def _reason(manifest: dict[str, Any]) -> str:
    """Return why a file has no rows to compare on, or why they could not be used."""
    made_up = manifest.get("canaries")
    if made_up is None:
        return "it was saved by a version of equipoise that kept no rows to compare on"
    if made_up.startswith("none: "):
        return f"it holds no rows to compare on, since {made_up.removeprefix('none: ')}"
    return "the library of the tables that its model takes is not installed"
