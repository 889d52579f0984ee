"""Files that are there whole or not at all, and that replace nothing unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp


@contextmanager
def new_file(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a path to write to; once the block has ended well, that file takes the name ``path``.

    Parameters
    ----------
    path : str or Path
        Its folder must exist.
    overwrite : bool, default=False
        Whether a file that has this name is replaced. If not, one that appears while the block
        runs is left alone too.

    Raises
    ------
    FileExistsError
        If there is such a file and ``overwrite`` is False.
    FileNotFoundError
        If there is no such folder.

    Examples
    --------
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
    handle, name = mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o666 & ~_umask())  # mkstemp's file is its owner's only
        _flush(partial)
        _rename(partial, path, overwrite)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Refuse a name that is taken, so that nobody works for a result that cannot be written."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file.")
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already. Name another file, or allow to overwrite.")


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


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    current = os.umask(0o022)  # it can be read only by setting it
    os.umask(current)
    return current
