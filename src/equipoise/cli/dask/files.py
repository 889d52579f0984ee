"""Parquet files on a cluster, cut into pieces of some row groups each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from equipoise.cli.tables.columns import Kind, import_pyarrow, kind_of_type

_ENDINGS = (".parquet", ".pq")
#: Bytes of a piece, before compression: enough to be worth a task, few enough for a worker.
_LEAST, _MOST = 1 << 20, 1 << 26


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive row groups of one file: what a worker reads at a time."""

    fragment: Any  #: pyarrow.dataset.ParquetFileFragment
    start: int  #: The number of its first row among the rows of all files.
    rows: int

    def read(self, names: Sequence[str]) -> Any:
        """Return some columns, as a ``pyarrow.Table``."""
        pa = import_pyarrow()
        try:
            return self.fragment.to_table(columns=list(names))
        except FileNotFoundError:
            # A ValueError, since an OSError would be taken for a worker in trouble and retried.
            raise ValueError(
                f"a worker has no file {self.fragment.path}; expected files that all workers can "
                "read under the same name."
            ) from None
        except pa.ArrowException as error:
            text = " ".join(str(error).split())
            raise ValueError(f"{self.fragment.path} cannot be read: {text}") from None


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Parquet files that make one table; only their footers have been read."""

    name: str  #: What the user called them.
    fragments: Sequence[Any]  #: One pyarrow.dataset.ParquetFileFragment for each file.
    names: list[str]  #: The columns of the first file.
    types: Mapping[str, Mapping[Any, str]]  #: By column and type, the first file that has it so.
    lacking: Mapping[str, str]  #: By column, the first file that lacks it.

    @property
    def rows(self) -> int:
        """The number of rows in all files."""
        return sum(group.num_rows for file in self.fragments for group in file.row_groups)

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

    def feature_kind(self, name: str) -> Kind | None:
        """Return what a feature is; refuse what would be read differently from piece to piece."""
        types = import_pyarrow().types
        for found in self.types[name]:
            if types.is_dictionary(found) and types.is_floating(found.value_type):
                raise ValueError(
                    f"column {name!r} is of type {found}; with --dask expected numbers or text. "
                    "Leave it out with --exclude, or write it as one of these."
                )
        return self.kind(name)

    def cut(self, workers: int) -> list[Piece]:
        """Cut the files into pieces, several for each worker if there are row groups enough."""
        groups = [(file, group) for file in self.fragments for group in file.row_groups]
        whole = sum(group.total_byte_size for _, group in groups)
        most = min(max(whole // (4 * workers), _LEAST), _MOST)
        together: list[tuple[Any, list[Any]]] = []
        for file, group in groups:
            last_file, last = together[-1] if together else (None, [])
            filled = sum(other.total_byte_size for other in last)
            if file is last_file and filled + group.total_byte_size <= most:
                last.append(group)
            else:
                together.append((file, [group]))
        pieces, start = [], 0
        for file, some in together:
            rows = sum(group.num_rows for group in some)
            numbers = [group.id for group in some]
            pieces.append(Piece(file.subset(row_group_ids=numbers), start, rows))
            start += rows
        return pieces


def open_files(data: Path) -> ParquetFiles:
    """Read the footers of the files that are meant: one file, a folder, or a pattern."""
    pa = import_pyarrow()
    from pyarrow.dataset import ParquetFileFormat
    from pyarrow.fs import LocalFileSystem

    make, disk = ParquetFileFormat().make_fragment, LocalFileSystem()
    fragments: list[Any] = []
    types: dict[str, dict[Any, str]] = {}
    lacking: dict[str, str] = {}
    for path in find_files(data):
        fragments.append(make(str(path.resolve()), disk))
        try:
            schema = fragments[-1].physical_schema
        except (pa.ArrowException, EOFError) as error:
            text = " ".join(str(error).split())
            raise ValueError(f"{path.name} cannot be read as a parquet file: {text}") from None
        for name in set(fragments[0].physical_schema.names) ^ set(schema.names):
            lacking.setdefault(name, path.name)
        for name in schema.names:
            types.setdefault(name, {}).setdefault(schema.field(name).type, path.name)
    names = list(fragments[0].physical_schema.names)
    files = ParquetFiles(str(data), fragments, names, types, lacking)
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
