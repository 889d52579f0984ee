"""Codes: columns of values as small whole numbers, and sums and look-ups over them.

This is where the reduction meets the n rows, so it is written for speed: rows are handled in
blocks, and what a step needs on the side then stays in the processor's cache and costs no memory,
however many rows there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import count
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

#: Entries of a block: 120 kB of eight bytes each. From 128 kB on the C library may take an array
#: from the system and give it back each time, and all of its pages are then filled anew.
_BLOCK = 15_000
#: Ranges of so many numbers are short: they are counted, not sorted.
_SHORT = 1 << 16
#: Codes that fit a byte are read two at a time, as one number, which halves the work.
_BYTE, _PAIR = 1 << 8, np.dtype("<u2")
#: Values of eight bytes, two of which are copied as one complex number.
_WORDS = (np.dtype(np.float64), np.dtype(np.int64))
#: So few codes are counted by bits.
_FEW = 16
#: Above this many possible combinations they are numbered by sorting instead of counting.
_COUNTABLE = 1 << 20

#: Numbers of pairs of codes, in a sparse table where there are many pairs.
Counts: TypeAlias = NDArray[np.float64] | csr_array


def factorize(values: ArrayLike) -> tuple[NDArray[np.integer], NDArray]:
    """Codes 0, 1, ... and the sorted distinct values they stand for.

    >>> codes, values = factorize(["b", "a", "b"])
    >>> codes.tolist(), values.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    values = np.asarray(values)
    if values.dtype.kind in "OUS":
        return _factorize_objects(values)
    if values.dtype.kind in "biu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < _SHORT and high < 1 << 63:
            return _factorize_range(values, low, high - low + 1)
    distinct = np.unique(values)
    codes = np.empty(len(values), dtype=np.min_scalar_type(len(distinct)))
    for rows in blocks(len(values)):
        codes[rows] = np.searchsorted(distinct, values[rows])
    return codes, distinct


def _factorize_range(values: NDArray, low: int, size: int) -> tuple[NDArray, NDArray]:
    """Factorize whole numbers from a short range, which needs no sorting."""
    codes = values.astype(np.min_scalar_type(size))  # wraps around, and the subtraction back
    codes -= np.array(low).astype(codes.dtype)
    codes, present = _renumber(codes, size)
    return codes, (present + low).astype(values.dtype)


def _factorize_objects(values: NDArray) -> tuple[NDArray, NDArray]:
    # A dictionary is many times faster than sorting strings, and takes mixed types.
    numbers: dict[Hashable, int] = defaultdict(count().__next__)
    first_seen = np.empty(len(values), dtype=np.int64)
    for rows in blocks(len(values)):
        first_seen[rows] = list(map(numbers.__getitem__, values[rows].tolist()))
    try:
        ordered = sorted(numbers)  # type: ignore[type-var]
    except TypeError:
        ordered = sorted(numbers, key=lambda value: (type(value).__name__, str(value)))
    rank = np.empty(len(ordered), dtype=np.min_scalar_type(len(ordered)))
    rank[[numbers[value] for value in ordered]] = np.arange(len(ordered))
    distinct = np.empty(len(ordered), dtype=object)
    distinct[:] = ordered
    return look_up(first_seen, rank), distinct


class _Names(TypedDict):
    label: NDArray[np.int8]
    sensitive: dict[str, NDArray]
    control: dict[str, NDArray]


def number_cells(
    label: ArrayLike,
    sensitive: Mapping[str, ArrayLike],
    control: Mapping[str, ArrayLike],
    n_labels: int = 2,
) -> tuple[NDArray[np.integer], _Names]:
    """Return the number of each row's cell, and label and features of each cell that occurs."""
    columns = [factorize(values) for values in (*control.values(), *sensitive.values())]
    codes = (*(codes for codes, _ in columns), np.asarray(label, dtype=np.int8))
    sizes = (*(len(values) for _, values in columns), n_labels)
    code, combinations = number_combinations(codes, sizes)
    table = [values[at] for (_, values), at in zip(columns, combinations, strict=False)]
    return code, _Names(
        label=combinations[-1].astype(np.int8),
        sensitive=dict(zip(sensitive, table[len(control) :], strict=True)),
        control=dict(zip(control, table, strict=False)),
    )


def number_combinations(
    codes: tuple[NDArray, ...], sizes: tuple[int, ...]
) -> tuple[NDArray[np.integer], tuple[NDArray[np.intp], ...]]:
    """Number the combinations of codes that occur; also return which combination each is.

    >>> columns = np.array([1, 0, 1]), np.array([0, 1, 0])
    >>> code, (first, second) = number_combinations(columns, (2, 2))
    >>> code.tolist(), first.tolist(), second.tolist()
    ([1, 0, 1], [0, 1], [1, 0])
    """
    if np.prod(sizes, dtype=float) > _COUNTABLE:
        present, code = np.unique(np.ravel_multi_index(codes, sizes), return_inverse=True)
        return code.astype(np.int32), np.unravel_index(present, sizes)
    n_combinations = int(np.prod(sizes))
    combined = codes[0].astype(np.min_scalar_type(n_combinations))
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        combined *= size
        combined += column.astype(combined.dtype, copy=False)
    code, present = _renumber(combined, n_combinations)
    return code, np.unravel_index(present, sizes)


def _renumber(codes: NDArray, size: int) -> tuple[NDArray, NDArray[np.intp]]:
    """Number the codes that occur, out of ``size``; also return which these are."""
    seen = np.zeros(size, dtype=bool)
    for rows in blocks(len(codes)):
        seen |= np.bincount(codes[rows], minlength=size) > 0
        if seen.all():  # as a rule in the first block
            return codes, np.arange(size)
    present = np.flatnonzero(seen)
    rank = np.zeros(size, dtype=np.min_scalar_type(len(present)))
    rank[present] = np.arange(len(present))
    return look_up(codes, rank), present


def add_up(
    code: NDArray[np.integer], size: int, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """Add up the weights of the rows of each code; without weights, count the rows.

    >>> add_up(np.array([0, 2, 2]), 3, np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 0.0, 5.0]
    """
    if weights is not None and len(weights) and weights.strides == (0,):  # one number for all
        return add_up(code, size) * weights[0]
    if size > _SHORT:
        return np.bincount(code, weights=weights, minlength=size).astype(float)
    if weights is None and code.dtype == np.uint8:
        return _count_bytes((code[rows] for rows in _byte_blocks(len(code), size)), size)
    total = np.zeros(size)
    for rows in blocks(len(code), max(_BLOCK, size)):
        block = None if weights is None else weights[rows]
        total += np.bincount(code[rows], weights=block, minlength=size)
    return total


def add_up_decisions(
    code: NDArray[np.integer], shape: tuple[int, int], h: NDArray, weights: NDArray | None
) -> NDArray[np.float64]:
    """Add up the weights of the rows of each code and decision but the first: C times V - 1.

    ``h`` has the decision 0 to V - 1 of each row, or the probability of each, of shape (n, V). Of
    two decisions, both are the probability of decision 1.

    >>> add_up_decisions(np.array([0, 1, 1]), (2, 3), np.array([2, 0, 2]), None).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    size, V = shape
    if V == 2:
        h = h if weights is None else weights * h
        return (count_selected if h.dtype == bool else add_up)(code, size, h)
    if h.ndim == 2:
        own = 1.0 if weights is None else weights
        return np.column_stack([add_up(code, size, own * column) for column in h.T[1:]]).ravel()
    both = code.astype(np.intp) * V
    both += h
    return add_up(both, size * V, weights).reshape(shape)[:, 1:].ravel()


def count_selected(
    code: NDArray[np.integer], size: int, selected: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Count the selected rows of each code: `add_up` for weights True and False, but faster.

    >>> count_selected(np.array([0, 2, 2]), 3, np.array([False, True, True])).tolist()
    [0.0, 0.0, 2.0]
    """
    if 2 * size > _BYTE:
        total = np.zeros(size)
        for rows in blocks(len(code), max(_BLOCK, size)):
            # Numbers of rows: many times as fast as a mask.
            total += np.bincount(code[rows][np.flatnonzero(selected[rows])], minlength=size)
        return total
    # Those selected are counted under a second set of codes.
    return _count_bytes(_shifted(code, size, selected), 2 * size)[size:]


class CodeBits:
    """The rows of each code as bits: selected rows are counted sixty-four at a time.

    That takes an eighth of a byte for each row and code, and pays for a few codes.

    Examples
    --------
    >>> bits = CodeBits(np.array([0, 2, 2]), 3)
    >>> bits.count(np.array([False, True, True])).tolist()
    [0.0, 0.0, 2.0]
    """

    def __init__(self, code: NDArray[np.integer], size: int) -> None:
        self._code, self._size = code, size
        self._rows = np.array([_as_words(code == each) for each in range(size)])

    @staticmethod
    def suits(size: int) -> bool:
        """Whether so many codes are counted faster by bits; NumPy before 2.0 counts none."""
        return size <= _FEW and hasattr(np, "bitwise_count")

    def count(self, selected: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Count the selected rows of each code."""
        words, total = _as_words(selected), np.zeros(self._size)
        for some in blocks(len(words), _BLOCK // self._size):
            total += np.bitwise_count(self._rows[:, some] & words[some]).sum(axis=1, dtype=np.intp)
        return total

    def __reduce__(self) -> tuple[type[CodeBits], tuple[NDArray[np.integer], int]]:
        return CodeBits, (self._code, self._size)


def _as_words(chosen: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return bools as the bits of 64-bit words, the last of them filled with zeros."""
    words = np.zeros(-(-len(chosen) // 64), dtype=np.uint64)
    words.view(np.uint8)[: -(-len(chosen) // 8)] = np.packbits(chosen)
    return words


def count_pairs(
    first: NDArray[np.integer], second: NDArray[np.integer], shape: tuple[int, int]
) -> Counts:
    """Count the rows of each pair of codes.

    >>> count_pairs(np.array([0, 1, 1]), np.array([2, 0, 0]), (2, 3)).tolist()
    [[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """
    size = shape[0] * shape[1]
    if size > _COUNTABLE:
        return coo_array((np.ones(len(first)), (first, second)), shape=shape).tocsr()
    both = first.astype(np.min_scalar_type(size))
    both *= shape[1]
    both += second.astype(both.dtype, copy=False)
    return add_up(both, size).reshape(shape)


def _shifted(
    code: NDArray[np.integer], size: int, selected: NDArray[np.bool_]
) -> Iterator[NDArray[np.uint8]]:
    """Yield the codes, block by block, raised by ``size`` where selected."""
    for rows in _byte_blocks(len(code), 2 * size):
        block = np.multiply(selected[rows], size, dtype=np.uint8)
        block += code[rows].astype(np.uint8, copy=False)
        yield block


def _byte_blocks(n: int, size: int) -> Iterator[slice]:
    """Return blocks of bytes, which are to be counted: more of them where the table is larger."""
    return blocks(n, 2 * max(_BLOCK, size * _BYTE))


def _count_bytes(blocks: Iterable[NDArray[np.integer]], size: int) -> NDArray[np.float64]:
    """Count how often each number below ``size`` occurs in blocks of bytes."""
    pairs, single = np.zeros((size, _BYTE), dtype=np.int64), np.zeros(size)
    for block in blocks:
        even = len(block) // 2 * 2
        two = block[:even].view(_PAIR)
        pairs += np.bincount(two, minlength=pairs.size).reshape(pairs.shape)
        single[block[even:]] += 1
    return single + pairs.sum(axis=0)[:size] + pairs.sum(axis=1)


def look_up(code: NDArray[np.integer], table: NDArray) -> NDArray:
    """Return ``table[code]``, for codes known to be in range.

    >>> look_up(np.array([1, 0, 1]), np.array([0.5, 2.5])).tolist()
    [2.5, 0.5, 2.5]
    """
    column = np.empty(len(code), dtype=table.dtype)
    by_pairs = code.dtype == np.uint8 and table.dtype in _WORDS and len(code) > _BYTE * len(table)
    pairs = _table_of_pairs(table.view(np.float64)) if by_pairs else None
    for rows in blocks(len(code), 2 * _BLOCK):
        at, block, even = code[rows], column[rows], 0
        if pairs is not None:
            even = len(at) // 2 * 2
            two = at[:even].view(_PAIR).astype(np.intp)
            # The mode "raise" would make a copy.
            np.take(pairs, two, out=block[:even].view(pairs.dtype), mode="clip")
        np.take(table, at[even:].astype(np.intp, copy=False), out=block[even:], mode="clip")
    return column


def _table_of_pairs(table: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return the values of two codes, side by side, for every pair that is read as one number."""
    pairs = np.zeros((len(table), _BYTE, 2))
    pairs[:, : len(table), 0] = table
    pairs[:, :, 1] = table[:, None]
    return pairs.view(np.complex128).ravel()


def blocks(n: int, size: int = _BLOCK) -> Iterator[slice]:
    """Return slices that cover n rows, each short enough for the processor's cache."""
    return (slice(start, start + size) for start in range(0, n, size))
