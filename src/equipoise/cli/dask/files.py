"""Parquet files on a cluster: pieces of some row groups each, and summaries that workers make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.cli.tables.columns import (
    Kind,
    as_category,
    as_kinds,
    as_number,
    is_missing,
    kind_of_type,
)
from equipoise.engines.dask.retry import gather, retry
from equipoise.rows.hashing import hash_uniform

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
        """Return the kind of a column, the same in all files; None if it has no values in any."""
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
        """Return the kind of a feature; raise if pieces would read it differently."""
        types = pa.types
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


#: More different values than these are hardly categories, and too many to send around.
MOST_VALUES = 100_000
#: Tells the hash that draws the sample from the one that draws the rows to hold out.
_SAMPLE_SALT = 1 << 40


@dataclass(frozen=True)
class PieceReader:
    """Which rows and columns are read, which rows are held out, and which are sampled.

    Rows are drawn by their number among the rows of all files, and by nothing else.
    """

    named: tuple[str, ...]  #: The columns of label, groups and weights.
    weight: str | None  #: One of them.
    features: dict[str, Kind]
    held_out: float  #: Share of the rows that are held out.
    sampled: float  #: Share of the other rows in the sample; the encoder is fitted to it.
    seed: int
    may_lack: tuple[str, ...] = ()  #: Those that a row may lack; rows without others are left out.

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that every row must have."""
        return tuple(name for name in self.named if name not in self.may_lack)

    def read(self, piece: Piece, features: Iterable[str]) -> Any:
        """Return the columns of a piece that are named, and some features."""
        return piece.read(list(dict.fromkeys([*self.named, *features])))

    def part(self, piece: Piece, features: Iterable[str], *, held_out: bool) -> Any:
        """Return the rows of a piece that lack nothing and are held out, or are not."""
        table = self.read(piece, features)
        rows = self.whole(table) & (self.is_held_out(piece) == held_out)
        return table.filter(pa.array(rows))

    def whole(self, table: Any) -> NDArray[np.bool_]:
        """Return which rows lack nothing."""
        return ~np.any([is_missing(table.column(name)) for name in self.needed], axis=0)

    def is_held_out(self, piece: Piece) -> NDArray[np.bool_]:
        """Return which rows are held out."""
        return _drawn(piece, self.held_out, self.seed)


@dataclass
class Summary:
    """What is known of some pieces."""

    rows: int = 0
    whole: int = 0  #: Rows that lack nothing.
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """From the start of a piece to (rows to learn from, rows held out)."""
    lacking: Counter = field(default_factory=Counter)  #: Missing values by named column, all rows.
    missing: Counter = field(default_factory=Counter)  #: The same by feature, whole rows.
    values: dict[str, Counter] = field(default_factory=dict)
    """By label the weight, and by value of group columns the number of whole rows."""
    texts: dict[str, Counter] = field(default_factory=dict)
    """By feature, the rows with each text; empty where the sample holds all rows."""
    sample: list[Any] = field(default_factory=list)  #: Tables of the features of sampled rows.

    def add(self, other: Summary) -> None:
        """Add the summary of other pieces."""
        self.rows, self.whole = self.rows + other.rows, self.whole + other.whole
        self.sizes.update(other.sizes)
        self.lacking.update(other.lacking)
        self.missing.update(other.missing)
        self.sample += other.sample
        for mine, theirs in ((self.values, other.values), (self.texts, other.texts)):
            for name, counted in theirs.items():
                mine.setdefault(name, Counter()).update(counted)
                _check_number(name, len(mine[name]))


def summarize(client: Any, pieces: Sequence[Piece], reader: PieceReader) -> Summary:
    """Return the summary of all pieces, each made by a worker; lost workers are made up for."""
    function = partial(summarize_piece, reader=reader)
    parts = retry(
        client,
        "reading the data",
        lambda limit: gather(client, client.map(function, pieces, pure=False), limit),
    )
    total = Summary()
    for part in parts:
        total.add(part)
    return total


def summarize_piece(piece: Piece, reader: PieceReader) -> Summary:
    """Return the summary of one piece."""
    table, mask = reader.read(piece, reader.features), pa.array
    whole = reader.whole(table)
    learned = whole & ~reader.is_held_out(piece)
    found = Summary(piece.rows, int(whole.sum()))
    found.sizes[piece.start] = int(learned.sum()), found.whole - int(learned.sum())
    found.lacking.update({n: int(is_missing(table.column(n)).sum()) for n in reader.named})
    sampled = learned & _drawn(piece, reader.sampled, reader.seed + _SAMPLE_SALT)
    found.sample.append(as_kinds(table.filter(mask(sampled)), reader.features))
    table = table.filter(mask(whole))
    weight = None
    if reader.weight is not None:
        weight = as_number(table.column(reader.weight), reader.weight).to_numpy()
    for name in reader.named:
        if name != reader.weight:
            by = weight if name == reader.named[0] else None
            found.values[name] = _counted(table.column(name), name, by)
    for name, kind in reader.features.items():
        column = table.column(name)
        found.missing[name] = int(is_missing(column).sum())
        if kind == "number":
            if np.isinf(as_number(column, name).to_numpy()).any():
                raise ValueError(f"column {name!r} has infinite values; expected finite numbers.")
        elif reader.sampled < 1:
            found.texts[name] = _counted(as_category(column, name), name, None)
    return found


def _drawn(piece: Piece, share: float, salt: int) -> NDArray[np.bool_]:
    """Return a share of the rows of a piece, by their numbers among all rows."""
    if share in (0.0, 1.0):
        return np.full(piece.rows, bool(share))
    number = np.arange(piece.start, piece.start + piece.rows, dtype=np.int64)
    return hash_uniform(number, salt) < share


def coded(column: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the values of a column as numbers of distinct ones, and these as Python has them."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found = whole.dictionary_encode(null_encoding="encode")
    return found.indices.to_numpy().astype(np.intp), found.dictionary.to_pylist()


def _counted(column: Any, name: str, weight: Array | None) -> Counter:
    code, values = coded(column)
    _check_number(name, len(values))
    return Counter(
        dict(zip(values, np.bincount(code, weight, minlength=len(values)).tolist(), strict=True))
    )


def _check_number(name: str, found: int) -> None:
    if found > MOST_VALUES:
        raise ValueError(
            f"column {name!r} has more than {MOST_VALUES:,} different values; expected categories. "
            "Leave it out with --exclude, or turn it into numbers."
        )
