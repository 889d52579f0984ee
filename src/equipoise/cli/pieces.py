"""Parquet files in pieces: what the workers of a cluster read, one piece at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.cli.tables.columns import Kind, import_pyarrow, kind_of_type
from equipoise.cli.tables.people import check_columns

_ENDINGS = (".parquet", ".pq")
#: Bytes of a piece, before compression: enough to be worth a task, few enough for a worker.
_LEAST, _MOST = 1 << 20, 1 << 26


class Piece(NamedTuple):
    """Consecutive row groups of one file; ``start`` is the number of the first row among all."""

    path: str
    groups: tuple[int, ...]
    start: int
    rows: int


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Parquet files that make one table; only their footers have been read.

    Attributes
    ----------
    name : str
        What the user called them.
    names : list of str
        The columns of the first file.
    types : mapping from column to a mapping from type to the first file that has it so
    lacking : mapping from column to the first file that lacks it
    groups : list of (path, number, rows, bytes)
        All row groups, in the order of their files.
    """

    name: str
    names: list[str]
    types: Mapping[str, Mapping[Any, str]]
    lacking: Mapping[str, str]
    groups: Sequence[tuple[str, int, int, int]]

    @property
    def rows(self) -> int:
        """The number of rows in all files."""
        return sum(rows for _, _, rows, _ in self.groups)

    def kind(self, name: str) -> Kind | None:
        """Return what a column is, the same in all files; None if it has no values in any."""
        if name in self.lacking:
            raise ValueError(
                f"{self.lacking[name]} has no column {name!r}, which other files have."
            )
        kinds: dict[Kind, str] = {}
        for type_, path in self.types[name].items():
            if (kind := kind_of_type(type_, name)) is not None:
                kinds.setdefault(kind, path)
        if len(kinds) > 1:
            shown = " and ".join(f"a {kind} in {path}" for kind, path in kinds.items())
            raise ValueError(f"column {name!r} is {shown}; expected the same in all files.")
        return next(iter(kinds), None)

    def check(self, wanted: Sequence[str]) -> None:
        """Refuse names of columns that are not there."""
        check_columns(self.names, wanted, self.name)

    def cut(self, workers: int) -> list[Piece]:
        """Cut the files into pieces, several for each worker if there are row groups enough."""
        whole = sum(size for _, _, _, size in self.groups)
        most = min(max(whole // (4 * workers), _LEAST), _MOST)
        pieces: list[Piece] = []
        start = filled = 0
        for path, number, rows, size in self.groups:
            last = pieces[-1] if pieces else None
            if last is not None and last.path == path and filled + size <= most:
                pieces[-1] = last._replace(groups=(*last.groups, number), rows=last.rows + rows)
                filled += size
            else:
                pieces.append(Piece(path, (number,), start, rows))
                filled = size
            start += rows
        return pieces


def open_files(data: Path) -> ParquetFiles:
    """Read the footers of the files that are meant: one file, a folder, or a pattern."""
    pq = import_pyarrow().parquet
    names: list[str] = []
    types: dict[str, dict[Any, str]] = {}
    lacking: dict[str, str] = {}
    groups = []
    for path in find_files(data):
        footer, schema = _footer(pq, path)
        names = names or list(schema.names)
        for name in schema.names:
            types.setdefault(name, {}).setdefault(schema.field(name).type, path.name)
        for name in set(names) ^ set(schema.names):
            lacking.setdefault(name, path.name)
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            groups.append((str(path.resolve()), number, group.num_rows, group.total_byte_size))
    files = ParquetFiles(str(data), names, types, lacking, groups)
    if not files.rows:
        raise ValueError(f"{data} has no rows.")
    return files


def find_files(data: Path) -> list[Path]:
    """Return the Parquet files that are meant by a name, a folder or a pattern, sorted."""
    if data.is_dir():
        inside = (path for ending in _ENDINGS for path in data.rglob(f"*{ending}"))
        # Names with _ or . are other programs' notes: _metadata, ._part.parquet.
        found = [path for path in inside if not path.name.startswith(("_", "."))]
        if not found:
            raise FileNotFoundError(f"folder {data} has no file that ends in {_ENDINGS[0]}.")
    elif has_magic(str(data)):
        found = [Path(path) for path in glob(str(data), recursive=True)]
        if not found:
            raise FileNotFoundError(f"no file is called like {data}.")
    else:
        if not data.exists():
            raise FileNotFoundError(f"there is no file {data}.")
        found = [data]
    for path in found:
        if path.suffix.lower() not in _ENDINGS:
            raise ValueError(
                f"{path.name} is not a Parquet file by its name; with --dask expected files that "
                f"end in {' or '.join(_ENDINGS)}."
            )
    return sorted(found)


def _footer(pq: Any, path: Path) -> tuple[Any, Any]:
    pa = import_pyarrow()
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, EOFError) as error:
        text = " ".join(str(error).split())
        raise ValueError(f"{path.name} cannot be read as a parquet file: {text}") from None
    with file:
        return file.metadata, file.schema_arrow


def read_piece(piece: Piece, names: Sequence[str]) -> Any:
    """Return some columns of a piece, as a ``pyarrow.Table``."""
    pa = import_pyarrow()
    try:
        with pa.parquet.ParquetFile(piece.path) as file:
            return file.read_row_groups(list(piece.groups), columns=list(names))
    except FileNotFoundError:
        # A ValueError, since an OSError would be taken for a worker in trouble and tried again.
        raise ValueError(
            f"a worker has no file {piece.path}; expected files that all workers can read under "
            "the same name."
        ) from None
    except pa.ArrowException as error:
        text = " ".join(str(error).split())
        raise ValueError(f"{piece.path} cannot be read: {text}") from None
