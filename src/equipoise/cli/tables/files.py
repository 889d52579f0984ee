"""Tables in files: CSV, Parquet, Arrow and Excel, whole or batch by batch, with pyarrow.

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

from equipoise.atomic_files import check_kind, naming_target, new_file
from equipoise.cli.tables.columns import Kind, as_kinds
from equipoise.cli.tables.csv_tables import (
    as_text,
    csv_options,
    csv_schema,
    csv_types,
    plain_name,
    plain_numbers,
    trimmed,
    typed_texts,
)
from equipoise.cli.tables.dialect import Dialect
from equipoise.exceptions import needing

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    ".xlsx": "excel",
}
_BATCH_ROWS = 1 << 16


def format_of(path: str | Path) -> str:
    """Return the format of a file, by its ending: "csv", "parquet", "arrow" or "excel".

    >>> format_of("people.csv.gz"), format_of("people.PARQUET")
    ('csv', 'parquet')
    """
    path = Path(path)
    ending = Path(path.stem).suffix if path.suffix.lower() in (".gz", ".bz2", ".zst") else None
    ending = (ending or path.suffix).lower()
    if ending not in _FORMATS:
        raise ValueError(
            f"{_what(path)}; expected a table whose name ends in {', '.join(_FORMATS)}."
        )
    return _FORMATS[ending]


def _what(path: Path) -> str:
    """Return the kind of a file that is no table, as far as it can be recognised."""
    if path.suffix == ".equipoise":
        return f"{path.name} is a model file, and stands where a table should"
    return f"{path.name!r} ends in {path.suffix!r}"


def is_table(path: Path) -> bool:
    """Return whether a file that is there has the name of a table."""
    with suppress(ValueError):
        return path.is_file() and bool(format_of(path))
    return False


def read_table(
    path: str | Path,
    *,
    missing: Sequence[str] = (),
    dialect: Dialect | None = None,
    codes: Sequence[str] = (),
) -> Any:
    """Return a whole file as a ``pyarrow.Table``, types as found.

    ``missing`` also stand for missing values in a CSV file, as nothing, NA, NaN and null do. How a
    CSV file is written is found out, as far as ``dialect`` does not say it. Columns of ``codes``
    stay the text that they are unless all of it is numbers as a program prints them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,town\\n30,Rome\\n?,Oslo\\n")
    ...     table = read_table(path, missing=["?"])
    >>> table.to_pydict()
    {'age': [30, None], 'town': ['Rome', 'Oslo']}
    """
    with _readable(path, dialect), ExitStack() as stack:
        if format_of(path) == "csv":
            found = (dialect or Dialect()).found_in(Path(path))
            stream = stack.enter_context(pa.input_stream(str(path), compression="detect"))
            options = csv_options(found, missing)
            names = csv_schema(path, missing, found).names if codes else []
            texts = [name for name in names if plain_name(name.strip()) in codes]
            options["convert_options"].column_types = dict.fromkeys(texts, pa.string())
            table = trimmed(pa.csv.read_csv(stream, **options), options, as_codes=codes)
            others = [name for name in table.column_names if name not in codes]
            table = plain_numbers(table, found, others)
        elif format_of(path) == "parquet":
            table = _open_parquet(path).read()
        elif format_of(path) == "excel":
            table = typed_texts(_read_excel(path), codes)
        else:
            table = _open_arrow(stack.enter_context(pa.memory_map(str(path)))).read_all()
        _check_names(table.schema.names, path)
        return table


def column_names(path: str | Path, dialect: Dialect | None = None) -> list[str]:
    """Return the names of the columns of a file, without reading its rows."""
    with _readable(path, dialect):
        names = _schema(path, dialect=dialect).names
        names = list(map(plain_name, names)) if format_of(path) == "csv" else names
        _check_names(names, path)
        return list(names)


def read_batches(
    path: str | Path,
    columns: Mapping[str, Kind],
    *,
    missing: Sequence[str] = (),
    dialect: Dialect | None = None,
    progress: Callable[[float], object] = lambda share: None,
) -> Iterator[Any]:
    """Yield some columns of a file, batch by batch: files larger than memory can be read so.

    ``progress`` is told after every batch which share of the file has been read.
    """
    with _readable(path, dialect):
        for batch, share in _batches(Path(path), columns, missing, dialect):
            yield as_kinds(batch, columns)
            progress(share)


def _batches(
    path: Path, kinds: Mapping[str, Kind], missing: Sequence[str], dialect: Dialect | None
) -> Iterator[tuple[Any, float]]:
    names = list(kinds)
    if format_of(path) == "csv":
        size = max(path.stat().st_size, 1)
        found = (dialect or Dialect()).found_in(path)
        types = csv_types(csv_schema(path, missing, found), kinds)
        numbers = [name for name, kind in kinds.items() if kind == "number"]
        with path.open("rb") as file:
            compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())
            stream = pa.input_stream(file, compression=compression)
            options = csv_options(found, missing, types)
            for batch in pa.csv.open_csv(stream, **options):
                table = trimmed(pa.Table.from_batches([batch]), options)
                yield plain_numbers(table, found, numbers), min(file.tell() / size, 1.0)
    elif format_of(path) == "excel":
        texts = [name for name, kind in kinds.items() if kind == "category"]
        yield typed_texts(_read_excel(path).select(names), texts), 1.0
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
        if self.format == "excel":
            raise ValueError(f"{path} is to be written; expected CSV, Parquet or Arrow.")
        self._writer: Any = None

    def __enter__(self) -> Self:
        self._target: Path | BinaryIO
        if self.path is None:
            self.enter_context(naming_target("the standard output"))
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
            delimiter = "\t" if ".tsv" in Path(self.path or "").suffixes else ","
            return _CsvWriter(self._target, schema.names, delimiter)
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
        self._writer.writerow(map(as_text, names))

    def __enter__(self) -> Self:
        return self

    def write_table(self, table: Any) -> None:
        columns = [map(as_text, column.to_pylist()) for column in table.columns]
        self._writer.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        self._file.flush()
        if self._owned:
            self._file.close()
        else:
            self._file.detach()

    def __exit__(self, *error: object) -> None:
        self.close()


def _read_excel(path: str | Path) -> Any:
    """Return the first sheet of a workbook; a column of several types becomes text."""
    what = f"{Path(path).name} is an Excel file, and reading it needs"
    with needing(what, "'equipoise[excel]'", "Or save the sheet as CSV."):
        from openpyxl import load_workbook
    from zipfile import BadZipFile

    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError) as error:
        raise ValueError(
            f"{Path(path).name} cannot be read as an Excel file: {error}. Save it again as "
            ".xlsx, or as CSV."
        ) from None
    rows = [row for row in book.worksheets[0].values if any(cell is not None for cell in row)]
    book.close()
    names = [str(name) for name in rows[0]] if rows else []
    _check_names(names, path)
    return pa.table(
        {name: _excel_column([row[at] for row in rows[1:]]) for at, name in enumerate(names)}
    )


def _excel_column(cells: list[Any]) -> Any:
    with suppress(pa.ArrowException):
        return pa.chunked_array([pa.array(cells)])
    return pa.chunked_array([pa.array([None if cell is None else str(cell) for cell in cells])])


def _schema(path: str | Path, missing: Sequence[str] = (), dialect: Dialect | None = None) -> Any:
    """Return the columns of a file and their types; in CSV files, those of the first block."""
    if format_of(path) == "parquet":
        return _open_parquet(path).schema_arrow
    if format_of(path) == "excel":
        return _read_excel(path).schema
    if format_of(path) == "csv":
        seen = csv_schema(path, missing, (dialect or Dialect()).found_in(Path(path)))
        return pa.schema([field.with_name(field.name.strip()) for field in seen])
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
            f"{Path(path).name} has more than one column {twice[0]!r}; expected different names, "
            "in the first row."
        )


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the name of a file before what an error says about its values."""
    try:
        yield
    except ValueError as error:
        name = Path(path).name
        raise error if name in str(error) else ValueError(f"{name}: {error}") from None


@contextmanager
def _readable(path: str | Path, dialect: Dialect | None = None) -> Iterator[None]:
    """Turn pyarrow's errors about a file into sentences."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    check_kind(path)
    format_ = format_of(path)
    try:
        yield
    except (pa.ArrowException, EOFError, UnicodeError) as error:
        if isinstance(error, KeyError):
            raise
        if not path.stat().st_size:
            raise ValueError(f"{path.name} is empty; expected a table.") from None
        text = " ".join(str(error).split())
        hint = ""
        if format_ == "csv":
            found = (dialect or Dialect()).found_in(path)
            hint = f". It was read with {found}; say it with --separator, --decimal, --encoding."
        raise ValueError(f"{path.name} cannot be read as a {format_} file: {text}{hint}") from None
