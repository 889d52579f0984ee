"""Dice that always fall the same way for the same person: a uniform number from a row's values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples

from equipoise.cells.table import Array
from equipoise.rows.batches import batches
from equipoise.rows.validation import is_missing, to_array

Bits = NDArray[np.uint64]

_MISSING = int(np.array(np.nan).view(np.uint64))
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, the increment of splitmix64
_KEY_HELP = "Pass predict(X, key=...) with whatever identifies the person, such as a number."


def hash_uniform(rows: Any, salt: int = 0) -> Array:
    """Hash each row to a number in [0, 1) that looks uniform and depends on its values only.

    Equal values hash equally whether they come in an array, a sparse matrix or a data frame, as
    integers or floats, as strings or categories. Columns count by their position, not their name.

    >>> import scipy.sparse
    >>> X = np.array([[0, 1.5], [2, 0]])
    >>> bool((hash_uniform(X) == hash_uniform(scipy.sparse.csr_array(X))).all())
    True
    >>> bool((hash_uniform(X) == hash_uniform(X, salt=1)).any())
    False
    """
    parts = [_hashed(batch, salt) for batch in batches(rows)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _hashed(rows: Any, salt: int) -> Array:
    total = np.zeros(_num_samples(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        if issparse(rows):
            entries = rows.tocoo(copy=True)
            entries.sum_duplicates()
            np.add.at(total, entries.row, _place(_bits(entries.data), entries.col))
        else:
            for number, column in enumerate(_columns(rows)):
                total += _place(_bits(column), np.array(number))
        mixed = _mix(total + _mix_position(np.array(_value_bits(salt), dtype=np.uint64)))
    return np.ldexp((mixed >> np.uint64(11)).astype(float), -53)


def _columns(rows: Any) -> Iterable[NDArray]:
    native = nw.from_native(rows, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return (column.to_numpy() for column in native.iter_columns())
    if isinstance(native, nw.Series):
        return (native.to_numpy(),)
    array = to_array(rows, "what to hash")
    return (array,) if array.ndim == 1 else array.reshape(len(array), -1).T


def _bits(values: NDArray) -> Bits:
    """64 bits that stand for a value; zero stands for 0, as absent from a sparse matrix."""
    if values.dtype.kind in "biuf":
        return _number_bits(values)
    if values.dtype.kind in "mM":
        return _time_bits(values)
    entries = values.tolist()
    try:
        number = {value: at for at, value in enumerate(dict.fromkeys(entries))}
    except TypeError as error:
        raise TypeError(f"rows with such values cannot be hashed ({error}). {_KEY_HELP}") from None
    bits = np.fromiter(map(_value_bits, number), dtype=np.uint64, count=len(number))
    return bits[np.fromiter(map(number.__getitem__, entries), dtype=np.intp, count=len(entries))]


def _number_bits(values: NDArray) -> Bits:
    number = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    bits = number.view(np.uint64)
    if values.dtype.kind == "f":
        bits[np.isnan(number)] = _MISSING
    elif values.dtype.itemsize == 8:
        far = np.flatnonzero(np.abs(number) >= 2.0**53)
        if len(far):  # integers that no float equals stand for themselves
            limit = float(np.iinfo(values.dtype).max)
            near, whole = np.where(number[far] < limit, number[far], 0.0), values[far]
            inexact = near.astype(values.dtype) != whole
            bits[far[inexact]] = whole[inexact].astype(np.uint64)
    return bits


def _time_bits(values: NDArray) -> Bits:
    """Bits of dates and durations, whatever their unit."""
    seconds = values.astype(f"{values.dtype.kind}8[s]")
    rest = (values - seconds).astype("m8[ns]").astype(np.int64)
    bits = seconds.astype(np.int64).view(np.uint64) * _ODD + rest.view(np.uint64)
    bits[np.isnat(values)] = _MISSING
    return bits


def _value_bits(value: Any) -> int:
    """Bits of one value of any type, the same in every process."""
    if isinstance(value, (str, bytes)):
        return _digest(value)
    if is_missing(value):
        return _MISSING
    if isinstance(value, (int, np.integer)):
        return _integer_bits(int(value))
    if isinstance(value, (np.bool_, Real, Decimal)):
        return int(_number_bits(np.array([float(value)]))[0])
    if isinstance(value, (date, timedelta, np.datetime64, np.timedelta64)):
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        kind = "m" if isinstance(value, (timedelta, np.timedelta64)) else "M"
        return int(_time_bits(np.array([value], dtype=f"{kind}8"))[0])
    if type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__:
        raise TypeError(
            f"a {type(value).__name__} has no value that is the same in every process. {_KEY_HELP}"
        )
    return _digest(str(value))


def _integer_bits(value: int) -> int:
    if abs(value) < 2**1023 and int(float(value)) == value:
        return int(_number_bits(np.array([float(value)]))[0])
    return value % 2**64 if -(2**63) <= value < 2**64 else _digest(str(value))


def _digest(text: str | bytes) -> int:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _place(bits: Bits, column: NDArray) -> Bits:
    """Scramble the bits of a value with the number of its column; zero leaves no trace."""
    return np.where(bits == 0, np.uint64(0), _mix(bits + _mix_position(column)))


def _mix_position(number: NDArray) -> Bits:
    return _mix(number.astype(np.uint64) + _ODD)


def _mix(x: Bits) -> Bits:
    """Scramble 64 bits (the finaliser of splitmix64: Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
