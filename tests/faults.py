"""Input and output that fail at the n-th call: writes, reads, renames, flushes to the disk."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Functions of the system that files are made with, besides reading and writing.
CALLS = ("fsync", "replace", "rename", "link", "chmod", "open")


class Faults:
    """Counts the calls that concern a folder, and lets one of them fail.

    Parameters
    ----------
    folder : Path
        Other files are left alone.
    fails_at : int
        The number of the call that fails, from 1 on.
    """

    def __init__(self, folder: Path, fails_at: int) -> None:
        self.folder, self.fails_at = str(folder), fails_at
        self.calls: list[str] = []
        self.error: Exception | None = None

    @property
    def has_failed(self) -> bool:
        return len(self.calls) >= self.fails_at

    def count(self, call: str, name: Any) -> None:
        """Count a call about a file of this name; raise if it is the one to fail."""
        self.calls.append(call)
        if len(self.calls) == self.fails_at:
            kind = errno.ENOSPC if call == "write" else errno.EIO
            # Python names no file where a descriptor is read, written or flushed.
            named = [] if call in ("read", "write", "fsync") else [str(name)]
            raise OSError(kind, os.strerror(kind), *named)

    def concerns(self, name: Any) -> bool:
        return isinstance(name, (str, os.PathLike)) and os.fspath(name).startswith(self.folder)

    def open(
        self, file: Any, mode: str = "r", buffering: int = -1, *more: Any, **given: Any
    ) -> Any:
        """Open a file as `io.open` does, of which reading and writing may fail."""
        if not self.concerns(file):
            return _OPEN(file, mode, buffering, *more, **given)
        self.count("open", file)
        raw = _File(file, mode.replace("b", "").replace("t", ""), self)
        kinds = {"r": io.BufferedReader, "w": io.BufferedWriter, "a": io.BufferedWriter}
        kind = io.BufferedRandom if "+" in mode else kinds[mode[0]]
        # Small buffers, so that a file takes several writes.
        held: Any = kind(raw, 512)
        return held if "b" in mode else io.TextIOWrapper(held, *more, **given)


class _File(io.FileIO):
    def __init__(self, name: Any, mode: str, faults: Faults) -> None:
        super().__init__(name, mode)
        self._faults = faults

    def write(self, data: Any) -> int:
        self._faults.count("write", self.name)
        return super().write(data)

    def readinto(self, data: Any) -> int | None:
        self._faults.count("read", self.name)
        return super().readinto(data)

    def readall(self) -> bytes:
        self._faults.count("read", self.name)
        return super().readall()


_OPEN = io.open


def every_fault(folder: Path, monkeypatch: Any, act: Callable[[], object]) -> Iterator[Faults]:
    """Yield after each run of ``act`` in which another call fails, until none does."""
    for fails_at in range(1, 10_000):
        faults = Faults(folder, fails_at)
        with faulty(faults, monkeypatch):
            try:
                act()
            except Exception as error:
                faults.error = error
        yield faults
        if not faults.has_failed:
            return
    raise AssertionError("there is no end of calls")


@contextmanager
def faulty(faults: Faults, monkeypatch: Any) -> Iterator[None]:
    """Let the calls of a program be counted, and one fail."""
    with monkeypatch.context() as patch:
        patch.setattr(io, "open", faults.open)
        for name in CALLS:
            patch.setattr(os, name, _counted(faults, name))
        yield


def _counted(faults: Faults, name: str) -> Callable[..., Any]:
    before = getattr(os, name)

    def call(*given: Any, **more: Any) -> Any:
        target = given[0]
        if isinstance(target, int):  # a descriptor
            target = os.readlink(f"/proc/self/fd/{target}")
        if faults.concerns(target):
            faults.count(name, target)
        return before(*given, **more)

    return call
