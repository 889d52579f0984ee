"""Tables in files: CSV, Parquet and Arrow, whole or batch by batch, with pyarrow.

Files of all formats give the same values for the same data, see `equipoise.cli.tables.columns`.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc

from equipoise.atomic_files import new_file
from equipoise.cli.tables.columns import Kind, as_kinds

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
}
_BATCH_ROWS = 1 << 16
_BATCH_BYTES = 1 << 22


def format_of(path: str | Path) -> str:
    """Return the format of a file, by its ending: "csv", "parquet" or "arrow".

    >>> format_of("people.csv.gz"), format_of("people.PARQUET")
    ('csv', 'parquet')
    """
    path = Path(path)
    ending = Path(path.stem).suffix if path.suffix.lower() in (".gz", ".bz2", ".zst") else None
    ending = (ending or path.suffix).lower()
    if ending not in _FORMATS:
        raise ValueError(
            f"{path.name!r} ends in {ending!r}; expected a table whose name ends in "
            f"{', '.join(_FORMATS)}."
        )
    return _FORMATS[ending]


def read_table(path: str | Path, *, missing: Sequence[str] = ()) -> Any:
    """Return a whole file as a ``pyarrow.Table``, types as found.

    ``missing`` also stand for missing values in a CSV file, as nothing, NA, NaN and null do.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,town\\n30,Rome\\n?,Oslo\\n")
    ...     table = read_table(path, missing=["?"])
    >>> table.to_pydict()
    {'age': [30, None], 'town': ['Rome', 'Oslo']}
    """
    with _readable(path), ExitStack() as stack:
        if format_of(path) == "csv":
            stream = stack.enter_context(pa.input_stream(str(path), compression="detect"))
            table = pa.csv.read_csv(stream, **_csv_options(path, missing))
        elif format_of(path) == "parquet":
            table = _open_parquet(path).read()
        else:
            table = _open_arrow(stack.enter_context(pa.memory_map(str(path)))).read_all()
        _check_names(table.schema.names, path)
        return table


def column_names(path: str | Path) -> list[str]:
    """Return the names of the columns of a file, without reading its rows."""
    with _readable(path):
        names = _schema(path).names
        _check_names(names, path)
        return list(names)


def read_batches(
    path: str | Path,
    columns: Mapping[str, Kind],
    *,
    missing: Sequence[str] = (),
    progress: Callable[[float], object] = lambda share: None,
) -> Iterator[Any]:
    """Yield some columns of a file, batch by batch: files larger than memory can be read so.

    ``progress`` is told after every batch which share of the file has been read.
    """
    with _readable(path):
        for batch, share in _batches(Path(path), columns, missing):
            yield as_kinds(batch, columns)
            progress(share)


def _batches(
    path: Path, kinds: Mapping[str, Kind], missing: Sequence[str]
) -> Iterator[tuple[Any, float]]:
    names = list(kinds)
    if format_of(path) == "csv":
        size = max(path.stat().st_size, 1)
        types = _csv_types(path, missing, kinds)
        with path.open("rb") as file:
            compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())
            stream = pa.input_stream(file, compression=compression)
            for batch in pa.csv.open_csv(stream, **_csv_options(path, missing, types)):
                yield pa.Table.from_batches([batch]), min(file.tell() / size, 1.0)
    elif format_of(path) == "parquet":
        file = _open_parquet(path)
        done = 0
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=names):
            done += batch.num_rows
            yield pa.Table.from_batches([batch]), done / max(file.metadata.num_rows, 1)
    else:
        with pa.memory_map(str(path)) as source:
            reader = _open_arrow(source)
            total = getattr(reader, "num_record_batches", 0)
            for number in range(total):
                part = pa.Table.from_batches([reader.get_batch(number)]).select(names)
                for batch in part.to_batches(max_chunksize=_BATCH_ROWS):
                    yield pa.Table.from_batches([batch]), (number + 1) / total
            if not total:
                for batch in reader:
                    yield pa.Table.from_batches([batch]).select(names), 0.0


class TableWriter(ExitStack):
    """Writes a table batch by batch, in the format of the file's ending, whole or not at all.

    Without a file it is printed as CSV.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "decisions.csv")
    ...     with TableWriter(path) as writer:
    ...         writer.write({"id": ["a"], "decision": [1]})
    ...         writer.write({"id": ["b"], "decision": [0]})
    ...     read_table(path).to_pydict()
    {'id': ['a', 'b'], 'decision': [1, 0]}
    """

    def __init__(self, path: str | Path | None, *, overwrite: bool = False) -> None:
        super().__init__()
        self.path, self.overwrite = path, overwrite
        self.format = "csv" if path is None else format_of(path)
        self._writer: Any = None

    def __enter__(self) -> Self:
        self._target: Path | BinaryIO
        if self.path is None:
            self._target = sys.stdout.buffer
        else:
            self._target = self.enter_context(new_file(self.path, overwrite=self.overwrite))
        return self

    def write(self, columns: Mapping[str, Any]) -> None:
        """Add some rows; all batches have the same columns, of the same types."""
        batch = pa.table(dict(columns))
        if self._writer is None:
            self._writer = self.enter_context(self._open(batch.schema))
        self._writer.write_table(batch)

    def _open(self, schema: Any) -> Any:
        """Return the writer of the format."""
        if self.format == "csv":
            return _CsvWriter(self._target, schema.names, _delimiter(self.path or ""))
        if self.format == "parquet":
            from pyarrow.parquet import ParquetWriter

            return ParquetWriter(str(self._target), schema)
        return pa.ipc.new_file(str(self._target), schema)


class _CsvWriter:
    """Writes CSV with quotes where they are needed only, which pyarrow's own writer does not."""

    def __init__(self, target: Path | BinaryIO, names: list[str], delimiter: str) -> None:
        raw = target.open("wb") if isinstance(target, Path) else target
        self._file, self._owned = TextIOWrapper(raw, "utf-8", newline=""), raw is not target
        self._writer = csv.writer(self._file, delimiter=delimiter, lineterminator="\n")
        self._writer.writerow(map(_no_formula, names))

    def __enter__(self) -> Self:
        return self

    def write_table(self, table: Any) -> None:
        columns = [map(_no_formula, column.to_pylist()) for column in table.columns]
        self._writer.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        self._file.flush()
        if self._owned:
            self._file.close()
        else:
            self._file.detach()

    def __exit__(self, *error: object) -> None:
        self.close()


def _no_formula(value: Any) -> Any:
    """Return text that a spreadsheet would run with an apostrophe before it, as it shows text.

    >>> [_no_formula(value) for value in ("=1+1", "@x", "-5", "a=b", -5)]
    ["'=1+1", "'@x", '-5', 'a=b', -5]
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    with suppress(ValueError):
        float(value)  # a number, such as an id
        return value
    return f"'{value}"


def _delimiter(path: str | Path) -> str:
    return "\t" if ".tsv" in Path(path).suffixes else ","


def _csv_options(
    path: str | Path, missing: Sequence[str] = (), types: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    convert = pa.csv.ConvertOptions(strings_can_be_null=True)
    convert.null_values = [*convert.null_values, *missing]
    if types is not None:
        convert.include_columns, convert.column_types = list(types), dict(types)
    return {
        "read_options": pa.csv.ReadOptions(block_size=_BATCH_BYTES),
        "parse_options": pa.csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
        "convert_options": convert,
    }


def _csv_types(path: Path, missing: Sequence[str], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return the types to read columns as, the same for every block whatever is in it."""
    seen, types = _schema(path, missing), {}
    for name, kind in kinds.items():
        found = seen.field(name).type
        keep = kind == "category" or pa.types.is_string(found)
        as_found = found if pa.types.is_boolean(found) else pa.float64()
        types[name] = pa.string() if keep else as_found
    return types


def _schema(path: str | Path, missing: Sequence[str] = ()) -> Any:
    """Return the columns of a file and their types; in CSV files, those of the first block."""
    if format_of(path) == "parquet":
        return _open_parquet(path).schema_arrow
    if format_of(path) == "csv":
        with pa.input_stream(str(path), compression="detect") as stream:
            return pa.csv.open_csv(stream, **_csv_options(path, missing)).schema
    with pa.memory_map(str(path)) as source:
        return _open_arrow(source).schema


def _open_parquet(path: str | Path) -> Any:
    from pyarrow.parquet import ParquetFile  # slow to import

    return ParquetFile(path)


def _open_arrow(source: Any) -> Any:
    """Open a file of Arrow's, which is of one of two kinds."""
    with suppress(pa.ArrowInvalid):
        return pa.ipc.open_file(source)
    source.seek(0)
    return pa.ipc.open_stream(source)


def _check_names(names: list[str], path: str | Path) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"{Path(path).name} has more than one column {twice[0]!r}; expected different names."
        )


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Turn pyarrow's errors about a file into sentences."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a file.")
    format_ = format_of(path)
    try:
        yield
    except (pa.ArrowException, EOFError) as error:
        if isinstance(error, KeyError):
            raise
        text = " ".join(str(error).split())
        raise ValueError(f"{path.name} cannot be read as a {format_} file: {text}") from None
