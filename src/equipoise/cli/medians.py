"""Medians of numbers that are on the workers of a cluster, exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.rows import Array
from equipoise.cli.pieces import Piece
from equipoise.cli.survey import Moments, Wanted, added_up, known_numbers


def medians(
    client: Any, pieces: Sequence[Piece], wanted: Wanted, moments: Mapping[str, Moments]
) -> dict[str, float]:
    """Return the median of every number in the training rows, to the last digit.

    Numbers are counted by their leading 16 bits, then those that share the bits of the middle one
    by the next 16, and so on: four looks at the data, whatever they are.
    """
    known = {name: found.count for name, found in moments.items() if found.count}
    # The two in the middle, which are one where the count is odd: how many are before each of them
    # among the numbers that share its leading bits, and these bits.
    middle = {name: [((n - 1) // 2, 0), (n // 2, 0)] for name, n in known.items()}
    for shift in (48, 32, 16, 0):
        heads = {name: sorted({bits for _, bits in two}) for name, two in middle.items()}
        look = partial(count_bits, wanted=wanted, heads=heads, shift=shift)
        counts = added_up(client, pieces, look, _sum_of_counts)
        for name, two in middle.items():
            middle[name] = [_next_bits(counts[name, bits], before, bits) for before, bits in two]
    return {
        name: float(np.mean([from_key(bits) for _, bits in two])) for name, two in middle.items()
    }


def count_bits(
    piece: Piece, wanted: Wanted, heads: Mapping[str, Sequence[int]], shift: int
) -> dict[tuple[str, int], Counter]:
    """Count the 16 bits above ``shift`` of the numbers whose bits before are those of a head."""
    table = wanted.part(piece, list(heads), held_out=False)
    found = {}
    for name, wanted_bits in heads.items():
        keys = to_key(known_numbers(table.column(name), name))
        top = keys >> np.uint64(shift)
        for bits in wanted_bits:
            some = top[(top >> np.uint64(16)) == bits] & np.uint64(0xFFFF)
            values, counts = np.unique(some, return_counts=True)
            found[name, bits] = Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    return found


def _sum_of_counts(parts: Sequence[dict[tuple[str, int], Counter]]) -> dict:
    total: dict[tuple[str, int], Counter] = {}
    for part in parts:
        for key, counted in part.items():
            total.setdefault(key, Counter()).update(counted)
    return total


def _next_bits(counts: Counter, before: int, bits: int) -> tuple[int, int]:
    """Return how many are before the one that is looked for, and 16 more of its bits."""
    for value in sorted(counts):
        if before < counts[value]:
            return before, (bits << 16) | value
        before -= counts[value]
    raise AssertionError("the data changed while they were read")


def to_key(values: Array) -> NDArray[np.uint64]:
    """Return whole numbers in the order of these.

    >>> to_key(np.array([-2.0, -0.5, 0.0, 3.0])).argsort().tolist()
    [0, 1, 2, 3]
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def from_key(key: int) -> float:
    """Return the number of a key.

    >>> from_key(int(to_key(np.array([-2.5]))[0]))
    -2.5
    """
    sign = 1 << 63
    bits = key ^ sign if key & sign else ~key & (2**64 - 1)
    return float(np.array(bits, dtype=np.uint64).view(np.float64))
