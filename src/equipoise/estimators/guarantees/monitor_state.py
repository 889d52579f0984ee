"""The state of a monitor as a file: JSON, small, no rows, checked when it is read."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from equipoise.atomic_files import new_file
from equipoise.exceptions import MonitorStateError

_FORMAT, _VERSION = "state of an equipoise monitor", 4


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Write a state atomically; a state of that name is replaced, no other file is."""
    if path.exists():
        _check_goes_on(path, read_state(path), state)
    checked = {"format": _FORMAT, "version": _VERSION, "check": _digest(state), **state}
    with new_file(path, overwrite=True) as partial:
        partial.write_text(json.dumps(checked, allow_nan=False, indent=1) + "\n", encoding="utf-8")


def read_state(path: Path) -> dict[str, Any]:
    """Return the state in a file; raise MonitorStateError if it is damaged or something else."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise MonitorStateError(
            f"{path} cannot be read as JSON ({error}): it is damaged, or no state of a monitor. "
            "Name the file that Monitor.save or equipoise monitor has written, or a copy of it."
        ) from None
    if not isinstance(state, dict) or state.pop("format", None) != _FORMAT:
        raise MonitorStateError(f"{path} is not the state of a monitor; name the file that is.")
    version = state.pop("version", None)
    if version != _VERSION:
        raise MonitorStateError(
            f"{path} is the state of a monitor in version {version!r}; expected {_VERSION}. Read "
            "it with the equipoise that has written it, or begin a new state in another file."
        )
    if state.pop("check", None) != _digest(state):
        raise MonitorStateError(
            f"{path} is damaged: its contents are not those that were written. Use a copy, or "
            "start a new monitor."
        )
    return state


def _check_goes_on(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise if a new state would lose what an old one has."""
    if old["model"] != new["model"]:
        raise MonitorStateError(f"{path} is the state of another model; name another file.")
    if old["days"] != new["days"][: len(old["days"])]:
        raise MonitorStateError(
            f"{path} has {len(old['days'])} days that this monitor does not go on from: they would "
            "be lost. Load that file first, or name another."
        )


def _digest(state: dict[str, Any]) -> str:
    text = json.dumps(state, sort_keys=True, allow_nan=False)
    return blake2b(text.encode(), digest_size=16).hexdigest()
