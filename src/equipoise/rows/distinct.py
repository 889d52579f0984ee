"""Distinct rows: of an array, equal rows once, and in an order in which neighbours are alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.codes import blocks

#: So many numbers at a time are compared, which fits into the processor's cache.
_BLOCK = 1 << 18
#: From so many rows the number of values of a feature is guessed; rows are sorted by so many
#: features, those that have the fewest of at least so many values. Round numbers, not tuned.
_SAMPLE, _FEATURES, _VALUES = 2000, 4, 8


class DistinctRows(NamedTuple):
    """Where the distinct rows of an array are found, and which of them each row is.

    Attributes
    ----------
    first : array of m numbers of rows
    number : array of n numbers 0 to m - 1
        Row i equals row ``first[number[i]]``.
    """

    first: NDArray[np.intp]
    number: NDArray[np.intp]

    @classmethod
    def of(cls, X: NDArray) -> DistinctRows | None:
        """Find them in a table of numbers; None where rows that differ look the same.

        >>> rows = DistinctRows.of(np.array([[2.0, np.nan], [1.0, 0.0], [2.0, np.nan]]))
        >>> len(rows.first), bool(rows.number[0] == rows.number[2] != rows.number[1])
        (2, True)
        """
        n, d = X.shape
        direction, key = np.random.default_rng(0).standard_normal(d), np.empty(n)
        size = max(_BLOCK // max(d, 1), 1)
        for part in blocks(n, size):
            key[part] = np.nan_to_num(X[part].astype(float, copy=False), nan=0.5) @ direction
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        if len(first) < n:
            for part in blocks(n, size):  # other rows may be projected to the same number
                if not np.array_equal(X[first[number[part]]], X[part], equal_nan=True):
                    return None
        return cls(first, number)

    def sorted_by_few(self, X: NDArray) -> DistinctRows:
        """Return them sorted by a few features of several values, so that neighbours are alike.

        Trees send neighbours the same way, which processors foresee.
        """
        sample = X[:: max(len(X) // _SAMPLE, 1)]
        n_values = [len(np.unique(column)) for column in sample.T]
        several = [j for j in np.argsort(n_values, kind="stable") if n_values[j] >= _VALUES]
        if not several:
            return self
        order = np.lexsort([X[self.first, j] for j in several[:_FEATURES][::-1]])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return DistinctRows(self.first[order], rank[self.number])
