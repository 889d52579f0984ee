"""Files that are there whole or not at all, replace nothing unasked, and leave nothing behind.

A file is written as ``.NAME.xxxxxxxx.partial`` beside its target and then renamed. A process that
is killed leaves that partial file behind; the next write of the same target removes it. A partial
file is locked while its writer lives, so that two writers leave each other's alone. Temporary
folders are locked in the same way: the next one that is made removes those of killed processes.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp, mkstemp
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed: it needs no lock
    fcntl = None  # type: ignore[assignment]

#: The beginning of the name of every temporary folder, and the file in it that is locked.
_PREFIX = "equipoise-"
_LOCK = "in-use.lock"


@contextmanager
def new_file(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a path to write to; once the block has ended well, that file takes the name ``path``.

    A file that has this name is replaced if ``overwrite`` is True. If not, it is an error, and one
    that appears while the block runs is left alone too.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with new_file(f"{folder}/note.txt") as partial:
    ...         _ = partial.write_text("whole")
    ...     Path(folder, "note.txt").read_text()
    'whole'
    """
    path = Path(path)
    check_free(path, overwrite=overwrite)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}; make it, or name another.")
    remove_leftovers(path)
    partial, held = _locked_partial(path)
    try:
        with naming_target(path):
            yield partial
            partial.chmod(0o666 & ~_umask())  # mkstemp's file is its owner's only
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            if fcntl is None:
                held.close()  # Windows renames no open file
            _rename(partial, path, overwrite)
    finally:
        held.close()
        partial.unlink(missing_ok=True)


@contextmanager
def naming_target(name: str | Path) -> Iterator[None]:
    """Put the name of a file into an error of the disk, which says none: no room, or a defect."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise OSError(error.errno, os.strerror(error.errno), str(name)) from error
        raise


def remove_leftovers(path: str | Path) -> None:
    """Remove what killed writes of this target have left behind.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     left = Path(folder, ".note.txt.ab12cd_9.partial")
    ...     left.touch()
    ...     remove_leftovers(f"{folder}/note.txt")
    ...     left.exists()
    False
    """
    path = Path(path)
    for left in path.parent.glob(f".{glob.escape(path.name)}.????????.partial"):
        with suppress(OSError):  # removed meanwhile, another user's, or open on Windows
            if fcntl is None:
                left.unlink()
                continue
            with left.open("rb+") as held:
                if _lock(held, fcntl.LOCK_NB):
                    left.unlink()


def _locked_partial(path: Path) -> tuple[Path, IO[bytes]]:
    while True:
        handle, name = mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
        held = os.fdopen(handle, "rb+")
        _lock(held)
        if os.path.exists(name):  # else another writer took it for a leftover before the lock
            return Path(name), held
        held.close()


def _lock(file: IO[bytes], option: int = 0) -> bool:
    """Lock a file until it is closed; return whether that went well."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | option)
        except OSError:  # somebody else has it, or the file system has no locks
            return False
    return True


class TemporaryFolder:
    """A folder in the temporary folder of the system, removed with this object.

    A killed process leaves its folders behind; the next one that is made removes these. A folder
    is locked while its process lives.

    Parameters
    ----------
    purpose : str
        Goes into the name of the folder.

    Examples
    --------
    >>> with TemporaryFolder("bins") as folder:
    ...     _ = (folder / "rows").write_text("1")
    ...     folder.name.startswith("equipoise-bins-"), folder.exists()
    (True, True)
    >>> folder.exists()
    False
    """

    def __init__(self, purpose: str) -> None:
        remove_left_folders()
        self.path, held = _locked_folder(f"{_PREFIX}{purpose}-")
        self._finalizer = weakref.finalize(self, _remove_folder, self.path, held)
        self._held = held

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder now."""
        self._finalizer()

    def keep(self) -> None:
        """Keep the folder and its files after the end of this process."""
        self._finalizer.detach()
        self._held.close()
        (self.path / _LOCK).unlink(missing_ok=True)


def remove_left_folders() -> None:
    """Remove the temporary folders that killed processes of this user have left behind."""
    for folder in Path(gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # removed meanwhile, another user's, or in use on Windows
            if folder.is_symlink() or not _is_own(folder):
                continue
            if fcntl is None:
                (folder / _LOCK).unlink()
                rmtree(folder, ignore_errors=True)
                continue
            with (folder / _LOCK).open("rb+") as held:
                if _lock(held, fcntl.LOCK_NB):
                    rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _locked_folder(prefix: str) -> tuple[Path, IO[bytes]]:
    while True:
        folder = Path(mkdtemp(prefix=prefix))
        held = (folder / _LOCK).open("wb")
        _lock(held)
        if (folder / _LOCK).exists():  # else another process took it for a leftover before the lock
            return folder, held
        held.close()


def _remove_folder(folder: Path, held: IO[bytes]) -> None:
    if fcntl is None:
        held.close()  # Windows removes no open file
    rmtree(folder, ignore_errors=True)
    held.close()


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Refuse a name that is taken, so that nobody works for a result that cannot be written."""
    check_kind(path)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already. Name another file, or allow to overwrite.")


def check_kind(path: str | Path) -> None:
    """Refuse a name that is there and no file's: a folder, a pipe or a device."""
    if not os.path.exists(path):
        return
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file.")
    if not stat.S_ISREG(mode):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
        raise ValueError(f"{path} is {kind}; expected the name of a file.")


def _rename(partial: Path, path: Path, overwrite: bool) -> None:
    if overwrite:
        partial.replace(path)
        return
    try:
        path.hardlink_to(partial)  # unlike a rename, it fails if the name has been taken meanwhile
    except FileExistsError:
        check_free(path)
        raise
    except OSError:  # a file system without hard links
        check_free(path)
        partial.replace(path)


def _umask() -> int:
    current = os.umask(0o022)  # it can be read only by setting it
    os.umask(current)
    return current
