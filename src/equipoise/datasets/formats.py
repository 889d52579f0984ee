"""File formats: Parquet, CSV and ARFF files, and OpenML's answers, as tables of typed columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.datasets.bunch import Column, Table
from equipoise.exceptions import needing

#: What a column of text holds: integer, number, category, date or time.
Kinds = Mapping[str, str]


def read_csv(content: bytes, kinds: Kinds, *, missing: Collection[str] = ("",)) -> Table:
    """Read a CSV file with a header; of columns with the same name, the first.

    >>> table = read_csv(b"id,sex,id\\n1,F,9\\n2, ,9\\n", {"id": "integer", "sex": "category"})
    >>> table["id"].values.tolist(), table["sex"].to_array().tolist()
    ([1, 2], ['F', ''])
    """
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    return _table([name.strip() for name in header], rows, kinds, missing)


def read_words(content: bytes, kinds: Kinds) -> Table:
    """Read a file of words between spaces, without a header; the kinds are in its order.

    >>> read_words(b"A11 6\\nA12 48\\n", {"status": "category", "months": "integer"})["months"]
    Column(values=array([ 6, 48]), categories=None)
    """
    rows = [line.split() for line in content.decode("ascii").splitlines() if line.strip()]
    return _table(list(kinds), rows, kinds, ())


def read_arff(content: bytes, kinds: Kinds) -> Table:
    """Read a dense ARFF file without quotes; names are in lower case.

    >>> arff = b"@relation r\\n@attribute Sex {1,2}\\n\\n@data\\n\\n2\\n% a comment\\n1\\n?\\n"
    >>> read_arff(arff, {"sex": "category"})["sex"].to_array().tolist()
    ['2', '1', '']
    """
    head, *rest = re.split(r"(?im)^@data\s*$", content.decode("utf-8"), maxsplit=1)
    if not rest:
        raise ValueError("there is no line '@data'; expected an ARFF file")
    names = [name.lower() for name in re.findall(r"(?im)^@attribute\s+(\S+)", head)]
    lines = (line for line in rest[0].splitlines() if line.strip() and not line.startswith("%"))
    return _table(names, [line.split(",") for line in lines], kinds, ("?",))


#: Readers of a publisher's bytes, by format.
READERS: dict[str, Callable[..., Table]] = {
    "csv": read_csv,
    "words": read_words,
    "arff": read_arff,
}


def _table(
    header: list[str], rows: list[list[str]], kinds: Kinds, missing: Collection[str]
) -> Table:
    if absent := [name for name in kinds if name not in header]:
        raise ValueError(f"the column {absent[0]!r} is absent; found {', '.join(header[:8])}, ...")
    if wrong := [at for at, row in enumerate(rows, 1) if len(row) != len(header)]:
        raise ValueError(
            f"row {wrong[0]:,} has {len(rows[wrong[0] - 1])} fields; expected {len(header)}: "
            "the file is cut off or of another kind"
        )
    fields = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    return {
        name: _column([text.strip() for text in fields[header.index(name)]], kind, missing)
        for name, kind in kinds.items()
    }


def _column(strings: list[str], kind: str, missing: Collection[str]) -> Column:
    if kind == "category":
        return Column.from_strings(strings, {"", *missing})
    unknown = [text in missing or not text for text in strings]
    gap, dtype = {"date": ("NaT", "datetime64[D]"), "time": ("NaT", "datetime64[s]")}.get(
        kind, ("nan", "float64")
    )
    known = [gap if gone else text for text, gone in zip(strings, unknown, strict=True)]
    values = np.array(known, dtype=dtype)
    return Column(values.astype(np.int64) if kind == "integer" and not any(unknown) else values)


def read_parquet(path: Path) -> Table:
    """Read a Parquet file; needs pyarrow."""
    what = f"{path.name} is a Parquet file, and reading it needs"
    with needing(what, "pyarrow, or pip install 'equipoise[datasets]'"):
        import pyarrow as pa
        from pyarrow import parquet
    try:
        table = parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"it cannot be read as Parquet: {error}") from error
    return {name: _from_arrow(table[name].combine_chunks(), pa) for name in table.column_names}


def _from_arrow(array: Any, pa: Any) -> Column:
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array = array.dictionary_encode()
    if pa.types.is_dictionary(array.type):
        codes = array.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        return _spread(Column.from_strings(array.dictionary.to_pylist(), missing=()), codes)
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype == object:  # booleans with nulls
        values = np.array([np.nan if value is None else value for value in values], dtype=float)
    if values.dtype.kind == "M":
        return Column(
            values.astype("datetime64[D]" if pa.types.is_date(array.type) else "datetime64[s]")
        )
    return Column(values)


def from_frame(frame: Any, kinds: Kinds) -> Table:
    """Read a pandas data frame, as `sklearn.datasets.fetch_openml` returns it.

    Codes may come as numbers or as categories; 2 and 2.0 are the category "2".
    """
    table = {}
    for name, kind in kinds.items():
        if name not in frame:
            found = ", ".join(map(str, frame.columns[:8]))
            raise ValueError(f"the column {name!r} is absent; found {found}, ...")
        codes, distinct = frame[name].factorize()  # missing is -1
        strings = [_text(value) for value in distinct.tolist()]
        known = _column(strings, kind, ("", "?"))
        table[name] = _spread(known, codes)
    return table


def _spread(known: Column, codes: NDArray[Any]) -> Column:
    """Return the column whose rows are rows of another one, or missing where the code is -1."""
    if known.categories is not None:
        return Column(np.append(known.values, -1)[codes], known.categories)
    if (codes >= 0).all():
        return Column(known.values[codes])
    return Column(np.append(known.values.astype(float), np.nan)[codes])


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return text[:-2] if text.endswith(".0") and text[:-2].isdecimal() else text
