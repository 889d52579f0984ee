"""Columns of a table: numbers and categories, whatever types a file has them in.

A column is a *number* (any numeric or boolean type, as float64, NaN where missing) or a *category*
(text, None where missing).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Kind = Literal["number", "category"]


def kind_of(column: Any, name: str) -> Kind | None:
    """Return what a column is; None if it has no values at all.

    >>> kind_of(pa.chunked_array([[1, None]]), "age"), kind_of(pa.chunked_array([["x"]]), "town")
    ('number', 'category')
    """
    return None if column.null_count == len(column) else kind_of_type(column.type, name)


def kind_of_type(type_: Any, name: str) -> Kind | None:
    """Return what a column of this type is; None if the type has no values.

    >>> kind_of_type(pa.bool_(), "member"), kind_of_type(pa.null(), "nothing")
    ('number', None)
    """
    types = pa.types
    kind = type_.value_type if types.is_dictionary(type_) else type_
    if types.is_null(kind):
        return None
    if any(is_(kind) for is_ in (types.is_integer, types.is_floating, types.is_decimal)):
        return "category" if types.is_dictionary(type_) else "number"
    if types.is_boolean(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or "string_view" in str(kind):
        return "category"
    raise ValueError(
        f"column {name!r} is of type {type_}; expected numbers or text. Leave it out with "
        "--exclude, or turn it into one of these first."
    )


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
        return column.cast(pa.float64(), safe=False).fill_null(float("nan"))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"column {name!r} held numbers when the model was made, but here it does not: {error}."
        ) from None


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
    if kind_of(column, name) == "number":
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
