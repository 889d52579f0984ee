"""Dice that always fall the same way for the same person: a uniform number from a row's values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from itertools import combinations
from numbers import Real
from struct import pack
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from equipoise.cells.codes import blocks
from equipoise.cells.table import Array, CellTable
from equipoise.rows.tables import Batched
from equipoise.rows.validation import is_missing, to_array

Bits = NDArray[np.uint64]
#: Takes a column of numbers or times, or one value of another kind; returns what is to be hashed.
Read = Callable[[Any], Any]
#: Takes bits of values and the number of their column, or one for each; returns bits to be added.
Place = Callable[[Bits, NDArray], Bits]

_MISSING = int(np.array(np.nan).view(np.uint64))
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, the increment of splitmix64
#: Of the finaliser of splitmix64.
_FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
#: By which the upper bits of a number, its sign and exponent and seven bits more, come down.
_FOLD = np.uint64(45)
#: Rows that are hashed at a time: 120 kB for each step, see `equipoise.cells.codes.blocks`.
_PART = 15_000
#: Up to so many rows a data frame of numbers is hashed as one array, without work for each column.
_FEW_ROWS = 1_000
_KEY_HELP = "Pass predict(X, key=...) with whatever identifies the person, such as a number."
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,307}")


def draw_uniform(X: Any, *, salt: int, key: Any = None, random_state: Any = None) -> Array:
    """Return a number in [0, 1) for each row of X, the same for the same person every time.

    Of a row, numbers count to single precision, so that float32 and float64 copies of a table draw
    alike. Of a key, whole numbers count to the last digit, and a text such as "17" as the number.

    Parameters
    ----------
    X : table of n rows
    salt : int
        Other salts give other numbers.
    key : array-like of shape (n,) or table of n rows, optional
        What to hash instead of the row.
    random_state : int, Generator or RandomState, optional
        Draw afresh from this source instead of hashing.

    Examples
    --------
    >>> X = np.array([[0.1, 5.0], [0.2, 6.0]])
    >>> bool((draw_uniform(X, salt=1) == draw_uniform(X.astype("float32"), salt=1)).all())
    True
    >>> bool((draw_uniform(X, salt=1, key=[17, 18]) == hash_uniform([17, 18], salt=1)).all())
    True
    """
    n = _num_samples(X)
    if random_state is not None:
        if key is not None:
            raise ValueError(
                "got both key and random_state; pass key for the same decision every time, or "
                "random_state for a fresh draw."
            )
        if isinstance(random_state, np.random.Generator):
            return random_state.random(n)
        return check_random_state(random_state).random_sample(n)
    if key is None:
        rows = _array_of_numbers(X) if n <= _FEW_ROWS else X
        return as_uniform(hash_bits(rows, salt, _single))
    uniform = as_uniform(hash_bits(key, salt, _identifier))
    if len(uniform) != n:
        raise ValueError(
            f"key has {len(uniform)} entries but X has {n} rows; expected one for each row."
        )
    return uniform


def salt_of(cells: CellTable, classes: NDArray) -> int:
    """Return the salt of a problem: of its labels, its groups and how many people are in each.

    Models of the same problem share it, whatever their learner, constraint and bound, and in
    whichever order and on whichever engine the people come.

    >>> cells, _ = CellTable.from_sums([0, 1], {"sex": ["F", "M"]}, {}, count=np.array([5.0, 2.0]))
    >>> salt_of(cells, np.array(["bad", "good"])) == salt_of(cells, np.array(["no", "yes"]))
    False
    """
    named = [*cells.sensitive.items(), *cells.control.items()]
    columns = [cells.label, cells.count, *(values for _, values in named)]
    people = sorted(
        map(str, zip(*(np.asarray(column).tolist() for column in columns), strict=True))
    )
    weights = sorted(f"{mass:.9g}" for mass in cells.mass)  # sums may differ by their order
    names = ([str(label) for label in classes.tolist()], [name for name, _ in named])
    return _digest(str((names, people, weights))) >> 32


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
    return as_uniform(hash_bits(rows, salt))


def hash_bits(rows: Any, salt: int = 0, read: Read = lambda values: values) -> Bits:
    """Hash each row to 64 bits; see `hash_uniform`."""
    hashes = _added_up(rows, read, _place)
    with np.errstate(over="ignore"):
        position = _mix_position(np.array(_value_bits(salt), dtype=np.uint64))
    for part in parts_of(hashes):
        part[:] = _mix(part + position)
    return hashes


def as_uniform(bits: Bits) -> Array:
    """Return hashes as numbers in [0, 1)."""
    return np.ldexp((bits >> np.uint64(11)).astype(float), -53)


def _added_up(rows: Any, read: Read, place: Place) -> Bits:
    """Return the sum of the bits of the values of each row, scrambled by ``place``."""
    if isinstance(rows, Batched):
        return np.concatenate([_added_up(batch, read, place) for batch in rows.batches()])
    total = np.zeros(_num_samples(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        if issparse(rows):
            entries = rows.tocoo(copy=True)
            entries.sum_duplicates()
            np.add.at(total, entries.row, place(_bits(entries.data, read), entries.col))
            return total
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind in "biuf":
            _add_numbers(rows, total, read, place)
            return total
        for number, column in enumerate(_columns(rows)):
            # Texts are met once each.
            split = parts_of if column.dtype.kind in "biuf" else lambda values: [values]
            for sums, values in zip(split(total), split(column), strict=True):
                sums += place(_bits(values, read), np.array(number))
    return total


def _add_numbers(rows: NDArray, total: Bits, read: Read, place: Place) -> None:
    """Add the placed bits of an array of numbers to ``total``, some rows at a time."""
    number = np.arange(rows.shape[1])[:, None]
    for part in blocks(len(rows), max(_PART // max(rows.shape[1], 1), 1)):
        values = np.ascontiguousarray(rows[part].T)
        bits = _bits(values.ravel(), read).reshape(values.shape)
        np.add.reduce(place(bits, number), axis=0, out=total[part])


def _array_of_numbers(rows: Any) -> Any:
    """Return a data frame of numbers as an array, and other tables unchanged."""
    if isinstance(rows, np.ndarray):
        return rows
    native = nw.from_native(rows, eager_only=True, pass_through=True)
    if not isinstance(native, nw.DataFrame):
        return rows
    array = native.to_numpy()
    return array if array.dtype.kind in "biuf" else rows


def parts_of(values: NDArray) -> list[NDArray]:
    """Return an array, of one row or several, in parts that stay in the cache: views."""
    return np.array_split(values, values.shape[-1] // _PART + 1, axis=-1)


def hash_people(X: Any, y: Any, *others: Any) -> Bits:
    """Return 64 bits for each row and its label: one of ``others``, or the first of all.

    Without others the labels are numbers, which differ a little from one time to the next: then
    there are two rows of bits, of people without their numbers and with them.
    """
    y = (y if type(y) is np.ndarray else to_array(y, "y")).reshape(-1)
    hashes = _added_up(X, lambda values: values, _place_lightly)
    if not others:
        return _mix(np.array([hashes, hashes ^ hash_bits(y)]))
    for some, labels in zip(parts_of(hashes), parts_of(y), strict=True):
        for at, other in enumerate(others, 1):
            some ^= np.multiply(labels == other, _position(at), dtype=np.uint64)
        some[:] = _mix(some)
    return hashes


def with_salt(hashes: Bits, salt: Any) -> Bits:
    """Return other hashes of the same rows: every salt permutes the numbers of 64 bits."""
    mixed = hashes ^ (np.atleast_1d(salt).astype(np.uint64) * ODD)
    mixed *= ODD
    mixed ^= mixed >> np.uint64(32)
    mixed *= ODD
    return mixed


def with_other_labels(hashes: Bits, n_labels: int) -> Iterator[Bits]:
    """Yield what `hash_people` returns for the same rows with other labels, of ``n_labels``.

    Mixing can be undone, so that neither rows nor labels are needed: for each two labels, rows
    that have one of them get the hash of the other. Hashes of the rest are those of nobody.

    >>> X, y = np.arange(3.0)[:, None], np.array([0, 1, 1])
    >>> (other,) = with_other_labels(hash_people(X, y, 1), 2)
    >>> (other == hash_people(X, 1 - y, 1)).tolist()
    [True, True, True]
    """
    plain = _unmix(hashes)
    marks = [np.uint64(0), *map(_position, range(1, n_labels))]
    for one, other in combinations(marks, 2):
        yield _mix(plain ^ one ^ other)


def _single(value: Any) -> Any:
    """Return numbers as single precision has them, and other values as they are."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float64).astype(np.float32) if value.dtype.kind in "biuf" else value
    if not isinstance(value, (np.bool_, Real, Decimal)):
        return value
    try:
        return float(np.float32(float(value)))
    except OverflowError:  # beyond the largest double
        return np.inf if str(value)[0] != "-" else -np.inf


def _identifier(value: Any) -> Any:
    """Return the identity of a person: whole numbers exactly, also those written as texts."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fmM":
            _refuse_missing((value != value).any())
        return _whole_or_single(value) if value.dtype.kind == "f" else value
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode("latin-1")
        return int(text) if _WHOLE.fullmatch(text) else value
    _refuse_missing(is_missing(value))
    return _whole_or_single(np.array([value]))[0] if isinstance(value, float) else value


def _refuse_missing(is_missing: bool) -> None:
    if is_missing:
        raise ValueError(
            "key has missing values (None, NaN or NaT): all such people would share one draw. Give "
            "each a key, or leave key out for a hash of the row."
        )


def _whole_or_single(values: NDArray) -> NDArray:
    whole, digits = values == np.rint(values), np.finfo(values.dtype).nmant + 1
    if (whole & (np.abs(values) > 2.0**digits)).any():
        raise ValueError(
            f"key has numbers of type {values.dtype} beyond 2^{digits}, of which the last digits "
            "may be lost: several people might have the same. Pass integers or strings."
        )
    return np.where(whole, values, _single(values))


def _columns(rows: Any) -> Iterable[NDArray]:
    native = nw.from_native(rows, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return (column.to_numpy() for column in native.iter_columns())
    if isinstance(native, nw.Series):
        return (native.to_numpy(),)
    array = rows if type(rows) is np.ndarray and rows.ndim else to_array(rows, "what to hash")
    width = int(np.prod(array.shape[1:]))  # -1 would not do where there are no rows
    return (array,) if array.ndim == 1 else array.reshape(len(array), width).T


def _bits(values: NDArray, read: Read) -> Bits:
    """64 bits that stand for a value; zero stands for 0, as absent from a sparse matrix."""
    if values.dtype.kind in "biuf":
        return _number_bits(read(values))
    if values.dtype.kind in "mM":
        return _time_bits(read(values))
    entries = values.tolist()
    try:
        number = {value: at for at, value in enumerate(dict.fromkeys(entries))}
    except TypeError as error:
        raise TypeError(f"rows with such values cannot be hashed ({error}). {_KEY_HELP}") from None
    bits = (_value_bits(read(value)) for value in number)
    each = np.fromiter(bits, dtype=np.uint64, count=len(number))
    return each[np.fromiter(map(number.__getitem__, entries), dtype=np.intp, count=len(entries))]


def _number_bits(values: NDArray) -> Bits:
    number = np.add(values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
    bits = number.view(np.uint64)
    if values.dtype.kind == "f":
        if (gone := np.isnan(number)).any():
            bits[gone] = _MISSING
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
    bits = seconds.astype(np.int64).view(np.uint64) * ODD + rest.view(np.uint64)
    bits[np.isnat(values)] = _MISSING
    return bits


def _value_bits(value: Any) -> int:
    """Bits of one value of any type, the same in every process."""
    if isinstance(value, (str, bytes)):
        return _digest(value)
    if isinstance(value, (int, np.integer)):
        return _integer_bits(int(value))
    if is_missing(value):
        return _MISSING
    if isinstance(value, (np.bool_, Real, Decimal)):
        return _float_bits(float(value))
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
    if abs(value) < 2**53 or (abs(value) < 2**1023 and int(float(value)) == value):
        return _float_bits(float(value))
    return value % 2**64 if -(2**63) <= value < 2**64 else _digest(str(value))


def _float_bits(value: float) -> int:
    return int.from_bytes(pack("<d", value + 0.0), "little")  # -0.0 becomes 0.0


def _digest(text: str | bytes) -> int:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _place(bits: Bits, column: NDArray) -> Bits:
    """Scramble the bits of a value with the number of its column; zero leaves no trace."""
    placed = _mix(bits + _mix_position(column))
    if (is_zero := bits == 0).any():
        placed *= (~is_zero).astype(np.uint64)  # faster than a mask
    return placed


def _place_lightly(bits: Bits, column: NDArray) -> Bits:
    """Scramble the bits of a value with the number of its column; zero leaves no trace.

    Half the work of `_place`: sums of these are to be mixed once more, which draws' are, too, but
    whose values are in many saved models and pages.
    """
    bits ^= bits >> _FOLD  # what small numbers tell is in the upper bits alone
    bits *= _mix_position(column) | np.uint64(1)
    return bits


def _mix_position(number: NDArray) -> Bits:
    return _mix(number.astype(np.uint64) + ODD)


def _position(number: int) -> np.uint64:
    """Return bits that stand for a small number, and look random."""
    return np.uint64(number * int(ODD) % 2**64)


def _mix(x: Bits) -> Bits:
    """Scramble 64 bits (the finaliser of splitmix64: Steele, Lea and Flood, 2014)."""
    x = x ^ (x >> np.uint64(30))  # in place from here on: fewer arrays in the cache
    x *= np.uint64(_FACTORS[0])
    x ^= x >> np.uint64(27)
    x *= np.uint64(_FACTORS[1])
    x ^= x >> np.uint64(31)
    return x


def _unmix(x: Bits) -> Bits:
    """Return the bits that `_mix` has scrambled.

    >>> x = np.arange(3, dtype=np.uint64)
    >>> _unmix(_mix(x)).tolist()
    [0, 1, 2]
    """
    for shift, factor in ((31, _FACTORS[1]), (27, _FACTORS[0]), (30, 1)):
        x = x ^ (x >> np.uint64(shift)) ^ (x >> np.uint64(2 * shift))
        x *= np.uint64(pow(factor, -1, 1 << 64))
    return x
