"""Rows of numbers as a linear learner reads them: equal rows once, common values left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from equipoise.cells.codes import blocks
from equipoise.cells.table import Array

#: Equal rows are merged where at most this share of the rows is left.
_MOST_DISTINCT = 0.8
#: Common values are left out where so many features are, and at most this share of values is left.
_LEAST_FEATURES, _MOST_LEFT = 50, 0.25
#: From so many rows, an odd number, the common values are guessed.
_SAMPLE = 255
#: So many numbers at a time are compared, which fits into the processor's cache.
_BLOCK = 1 << 18


class CompactRows:
    """Rows X in the form that takes least work to multiply: X = S + 1 m', equal rows once.

    Where most values of a feature are the same, as in the columns of a one-hot encoding, scaled or
    not, S holds what differs from the common values m and is sparse. Products are those of X, up to
    the order in which numbers are added.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Finite numbers. It is kept where nothing is gained by another form.

    Examples
    --------
    >>> rows = CompactRows(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]))
    >>> rows.n, rows.scores(np.array([1.0, 1.0])).tolist()
    (2, [1.0, 3.0])
    >>> rows.merge(np.array([1.0, 5.0, 3.0])).tolist()
    [3.0, 6.0]
    """

    def __init__(self, X: Any) -> None:
        self._number: NDArray[np.intp] | None = None  # of the distinct row that each row is
        self._common: Array | None = None
        if not issparse(X):
            X = self._without_common_values(self._distinct(X))
        self._rows = X
        self.n, self.d = X.shape

    def merge(self, weight: Array) -> Array:
        """Return the sums of (n,) or (n, K) numbers over equal rows."""
        if self._number is None:
            return weight
        columns = weight.reshape(len(weight), -1).T
        merged = np.column_stack([np.bincount(self._number, c, self.n) for c in columns])
        return merged.reshape(self.n, *weight.shape[1:])

    def scores(self, coef: Array) -> Array:
        """Return X coef for the distinct rows; ``coef`` has shape (d,) or (d, K)."""
        scores = self._rows @ coef
        if self._common is not None:
            scores += self._common @ coef
        return np.asarray(scores)

    def slopes(self, weight: Array) -> Array:
        """Return X' weight for the distinct rows; ``weight`` has shape (n,) or (n, K)."""
        slopes = self._rows.T @ weight
        if self._common is not None:
            slopes += np.multiply.outer(self._common, weight.sum(axis=0))
        return np.asarray(slopes)

    @staticmethod
    def _block(X: Array) -> int:
        return max(_BLOCK // max(X.shape[1], 1), 1)

    def _distinct(self, X: Array) -> Array:
        """Return the distinct rows if they are few, and keep which of them each row is."""
        direction = np.random.default_rng(0).standard_normal(X.shape[1])
        _, first, number = np.unique(X @ direction, return_index=True, return_inverse=True)
        if len(first) > _MOST_DISTINCT * len(X):
            return X
        distinct = X[first]
        for part in blocks(
            len(X), self._block(X)
        ):  # rows that differ may be projected to the same number
            if not np.array_equal(distinct[number[part]], X[part]):
                return X
        self._number = number
        return distinct

    def _without_common_values(self, X: Array) -> Any:
        """Return what differs from the common values, or X where these are too few."""
        n, d = X.shape
        sample = X[np.linspace(0, n - 1, _SAMPLE).astype(np.intp)]
        common = np.median(sample, axis=0)
        if d < _LEAST_FEATURES or np.mean(sample != common) > _MOST_LEFT:
            return X
        values, columns, counts = [], [], [np.zeros(1, dtype=np.int64)]
        for part in blocks(n, self._block(X)):
            differs = X[part] != common
            values.append((X[part] - common)[differs])
            columns.append(np.nonzero(differs)[1].astype(np.int32))
            counts.append(differs.sum(axis=1))
        starts = np.cumsum(np.concatenate(counts))
        self._common = common
        return csr_matrix(
            (np.concatenate(values), np.concatenate(columns), starts), shape=(n, d), copy=False
        )
