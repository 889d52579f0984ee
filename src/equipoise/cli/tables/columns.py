"""Columns of a table: numbers and categories, whatever types a file has them in.

A column is a *number* (numeric, boolean, a date or a time, as float64, NaN where missing) or a
*category* (text, None where missing).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Kind = Literal["number", "category"]
#: What a field's metadata says about how it was read.
_READ = b"read"
_MICROSECONDS = {"day": 86_400_000_000, "hour": 3_600_000_000}


def kind_of(column: Any, name: str) -> Kind | None:
    """Return the kind of a column; None if it has no values at all.

    >>> kind_of(pa.chunked_array([[1, None]]), "age"), kind_of(pa.chunked_array([["x"]]), "town")
    ('number', 'category')
    """
    return None if column.null_count == len(column) else kind_of_type(column.type, name)


def kind_of_type(type_: Any, name: str) -> Kind | None:
    """Return the kind of a column of this type; None if the type has no values.

    >>> kind_of_type(pa.bool_(), "member"), kind_of_type(pa.null(), "nothing")
    ('number', None)
    """
    types = pa.types
    kind = type_.value_type if types.is_dictionary(type_) else type_
    if types.is_null(kind):
        return None
    if any(is_(kind) for is_ in (types.is_integer, types.is_floating, types.is_decimal)):
        return "category" if types.is_dictionary(type_) else "number"
    if types.is_boolean(kind) or is_temporal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or "string_view" in str(kind):
        return "category"
    raise ValueError(
        f"column {name!r} is of type {type_}; expected numbers, text or dates. Leave it out with "
        "--exclude, or turn it into one of these first."
    )


def is_temporal(type_: Any) -> bool:
    """Return whether values of a type are dates or times of day."""
    types = pa.types
    return any(is_(type_) for is_ in (types.is_date, types.is_timestamp, types.is_time))


def words_for(field: Any) -> str:
    """Return how a column of a table was read, in words.

    >>> words_for(pa.field("born", pa.date32())), words_for(pa.field("age", pa.int64()))
    ('date, as days since 1970', 'number')
    """
    try:
        kind = kind_of_type(field.type, field.name)
    except ValueError:  # of no use as a feature, which is no harm where it is none
        return str(field.type)
    text = (field.metadata or {}).get(_READ, b"").decode()
    if pa.types.is_boolean(field.type):
        text = "true and false, as 1 and 0"
    if is_temporal(field.type):
        is_time = pa.types.is_time(field.type)
        return "time, as hours" if is_time else "date, as days since 1970"
    return f"{kind or 'no values'}{text and ', ' + text}"


def read_as(name: str, words: str) -> Any:
    """Return the field of a column of numbers that was read in a special way."""
    return pa.field(name, pa.float64(), metadata={_READ: words})


def as_kinds(table: Any, kinds: Mapping[str, Kind]) -> Any:
    """Return the columns that are named, as numbers and categories."""
    convert = {"number": as_number, "category": as_category}
    return pa.table({name: convert[kind](table.column(name), name) for name, kind in kinds.items()})


def as_number(column: Any, name: str) -> Any:
    """Return a column as float64, NaN where missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        if is_temporal(column.type):
            return _since(column)
        return column.cast(pa.float64(), safe=False).fill_null(float("nan"))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"column {name!r} held numbers when the model was made, but here it does not: {error}."
        ) from None


def _since(column: Any) -> Any:
    """Return dates as days since 1970, times as hours since midnight."""
    is_time = pa.types.is_time(column.type)
    ticks = column.cast(pa.time64("us") if is_time else pa.timestamp("us"), safe=False)
    numbers = ticks.cast(pa.int64()).cast(pa.float64())
    return pc.divide(numbers, _MICROSECONDS["hour" if is_time else "day"]).fill_null(float("nan"))


def as_category(column: Any, name: str) -> Any:
    """Return a column as text, None where missing; whole numbers are written as such."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        known = values[np.isfinite(values)]
        if (known == np.round(known)).all():
            column = pa.chunked_array([pa.array(values, from_pandas=True).cast(pa.int64())])
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {name!r} cannot be read as text: {error}.") from None


def plain_values(column: Any, name: str) -> NDArray:
    """Return a column without missing values as whole numbers, if it is that, or as text.

    >>> plain_values(pa.chunked_array([[1.0, 0.0]]), "y"), plain_values(pa.array(["a"]), "y")
    (array([1, 0]), array(['a'], dtype=object))
    """
    if pa.types.is_integer(column.type):
        values: NDArray = column.to_numpy()  # no floats, which would merge some
        return values if values.dtype == np.uint64 else values.astype(np.int64)
    if kind_of(column, name) == "number" and not is_temporal(column.type):
        numbers = as_number(column, name).to_numpy()
        if (numbers == np.round(numbers)).all():
            return numbers.astype(np.int64)
    return np.asarray(as_category(column, name).to_pylist(), dtype=object)


def is_missing(column: Any) -> NDArray[np.bool_]:
    """Return where a column has no value.

    >>> is_missing(pa.array([1.0, None, float("nan")])).tolist()
    [False, True, True]
    """
    return column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
