"""CSV files as tables: which options read them, and what is done to their texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from equipoise.cli.tables.columns import Kind, is_temporal, read_as
from equipoise.cli.tables.dialect import Dialect, find_decimal, without_thousands

_BLOCK_BYTES = 1 << 22
#: Text that a spreadsheet would run as a formula is written with an apostrophe before it, and read
#: without: rows that were held out are read again.
_STARTS = ("=", "+", "-", "@", "\t", "\r")
_DAY_FIRST = r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$"
#: A whole number as it is printed.
_WHOLE = "^(0|-?[1-9][0-9]*)$"
_QUOTED = "^'([=+\\-@\t\r])"


def csv_options(
    dialect: Dialect, missing: Sequence[str] = (), types: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the options with which pyarrow reads a CSV file."""
    convert = pa.csv.ConvertOptions(
        strings_can_be_null=True,
        decimal_point=dialect.decimal,
        # Days first, with points: other orders cannot be told apart.
        timestamp_parsers=[pa.csv.ISO8601, "%d.%m.%Y"],
    )
    convert.null_values = [*convert.null_values, *missing]
    if types is not None:
        convert.include_columns, convert.column_types = list(types), dict(types)
    return {
        "read_options": pa.csv.ReadOptions(block_size=_BLOCK_BYTES, encoding=dialect.encoding),
        "parse_options": pa.csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
        "convert_options": convert,
    }


def csv_types(seen: Any, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return the types to read columns as, by the names that the file has for them.

    They are the same for every block, whatever is in it.
    """
    types, written = {}, {plain_name(name.strip()): name for name in seen.names}
    for name, kind in kinds.items():
        found = seen.field(written[name]).type
        keep = kind == "category" or pa.types.is_string(found)
        as_found = found if pa.types.is_boolean(found) or is_temporal(found) else pa.float64()
        types[written[name]] = pa.string() if keep else as_found
    return types


def trimmed(table: Any, options: Mapping[str, Any], as_codes: Sequence[str] = ()) -> Any:
    """Return a CSV table without spaces around names and texts: some write them after commas.

    Texts of columns ``as_codes`` become numbers, truth values and dates only where nothing of how
    they are written is lost.
    """
    convert = options["convert_options"]
    nothing = pa.array(convert.null_values)
    for at, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            name = table.column_names[at]
            text = pc.utf8_trim_whitespace(column)
            if not text.equals(column):
                text = pc.if_else(pc.is_in(text, nothing), pa.scalar(None, pa.string()), text)
                table = table.set_column(at, name, _as_read(text))
            if plain_name(name.strip()) in as_codes:
                table = table.set_column(at, name, _as_codes(text, convert.decimal_point))
    return plain_table(table.rename_columns([name.strip() for name in table.column_names]))


def plain_numbers(table: Any, dialect: Dialect, names: Sequence[str] | None = None) -> Any:
    """Return the table with marks of thousands removed, of these columns or of all."""
    for name in table.column_names if names is None else names:
        at = table.column_names.index(name)
        column = table.column(at)
        if pa.types.is_string(column.type):
            plain = without_thousands(column, dialect.decimal or ".")
            if plain is not column:
                words = "" if _casts(column) else "without marks of thousands"
                table = table.set_column(at, read_as(name, words), plain)
    return table


def typed_texts(table: Any, codes: Collection[str] = ()) -> Any:
    """Return a table with texts as the numbers or dates that they are in a CSV file, but `codes`.

    >>> pay = ["2.091,57", "5"]
    >>> sheet = pa.table({"day": ["22.11.2016", None], "pay": pay, "code": ["01", "1"]})
    >>> typed_texts(sheet, ["code"]).schema.types
    [DataType(date32[day]), DataType(double), DataType(string)]
    """
    for at, name in enumerate(table.column_names):
        if pa.types.is_string(table.column(at).type) and name not in codes:
            table = table.set_column(at, name, _typed(table.column(at)))
    return table


def _typed(column: Any) -> Any:
    texts = column.unique().drop_null()
    if not len(texts):
        return column
    if pc.all(pc.match_substring_regex(texts, _DAY_FIRST)).as_py():
        days = pc.strptime(column, format="%d.%m.%Y", unit="s", error_is_null=True)
        return days.cast(pa.date32()) if days.null_count == column.null_count else column
    numbers = without_thousands(column, find_decimal([texts.to_pylist()], ";"))
    return _as_read(column) if numbers is column else numbers


def csv_schema(path: str | Path, missing: Sequence[str], dialect: Dialect) -> Any:
    """Return the columns of a CSV file and their types, as found in its first block."""
    with pa.input_stream(str(path), compression="detect") as stream:
        return pa.csv.open_csv(stream, **csv_options(dialect, missing)).schema


def _as_codes(column: Any, decimal: str) -> Any:
    """Return texts as numbers if that is reversible: each number prints as its text.

    >>> _as_codes(pa.chunked_array([["1", "20", None]]), ".").type
    DataType(int64)
    >>> [_as_codes(pa.chunked_array([texts]), ".").type for texts in (["01", "1"], ["1", "1.0"])]
    [DataType(string), DataType(string)]
    """
    texts = column.unique().drop_null()
    if pc.all(pc.match_substring_regex(texts, _WHOLE)).as_py():
        with suppress(pa.ArrowInvalid):  # too long for a whole number
            return column.cast(pa.int64())
        return column
    plain = pc.replace_substring(texts, decimal, ".")
    try:
        numbers = plain.cast(pa.float64())
    except pa.ArrowInvalid:
        return _as_read(column)
    written = [
        repr(number) == text or repr(number) == f"{text}.0"
        for number, text in zip(numbers.to_pylist(), plain.to_pylist(), strict=True)
    ]
    if not all(written) or len(numbers.unique()) < len(texts):
        return column
    return pc.replace_substring(column, decimal, ".").cast(pa.float64())


def _as_read(column: Any) -> Any:
    """Return texts without spaces as true and false or dates, if that is what they are."""
    if not _casts(column):
        for kind in (pa.bool_(), pa.date32()):
            with suppress(pa.ArrowInvalid):
                return column.cast(kind)
    return column


def _casts(column: Any) -> bool:
    """Return whether texts are numbers as they are."""
    with suppress(pa.ArrowInvalid):
        column.cast(pa.float64())
        return True
    return False


def as_text(value: Any) -> Any:
    """Return text that a spreadsheet would run with an apostrophe before it, as it shows text.

    >>> [as_text(value) for value in ("=1+1", "@x", "-5", "a=b", -5)]
    ["'=1+1", "'@x", '-5', 'a=b', -5]
    """
    if not isinstance(value, str) or not value.startswith(_STARTS):
        return value
    with suppress(ValueError):
        float(value)  # a number, such as an id
        return value
    return f"'{value}"


def plain_name(name: str) -> str:
    """Return the name of a column as it was before `as_text`.

    >>> plain_name("'-age"), plain_name("'age'")
    ('-age', "'age'")
    """
    return name[1:] if name.startswith(tuple(f"'{start}" for start in _STARTS)) else name


def plain_table(table: Any) -> Any:
    """Return a table with names and texts as they were before `as_text`.

    >>> plain_table(pa.table({"'+x": ["'=1", "'s", None]})).to_pydict()
    {'+x': ['=1', "'s", None]}
    """
    for at, column in enumerate(table.columns):
        if pa.types.is_string(column.type) and pc.any(pc.starts_with(column, "'")).as_py():
            plain = pc.replace_substring_regex(column, _QUOTED, "\\1", max_replacements=1)
            table = table.set_column(at, table.column_names[at], plain)
    return table.rename_columns(list(map(plain_name, table.column_names)))
