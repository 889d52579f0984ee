"""Slopes: how the values of constraints grow with the shares of cells, M U of equation (1).

M has a few entries a row and U a few a cell, but their product has a row's worth of cells for each
inequality: of G groups that are compared with everybody, some G squared numbers. So where there are
many, the factors are kept as they are, and memory grows with cells and inequalities, not with
their product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, sparray

from equipoise.cells.table import Array

#: Products of so many numbers are multiplied out: 2 MiB. A round number, not tuned.
_AT_ONCE = 1 << 18


class Slopes:
    """A product of two sparse matrices that is not multiplied out.

    It stands for an array on the right of ``@``, and its rows can be picked; ``np.asarray`` makes
    an array of it.

    Examples
    --------
    >>> M, U = csr_array([[1.0, -1.0]]), csr_array([[0.5, 0.0], [0.0, 2.0]])
    >>> slopes = Slopes(M, U)
    >>> (np.array([3.0]) @ slopes).tolist(), (np.array([1.0, 1.0]) @ slopes.T).tolist()
    ([1.5, -6.0], [-1.5])
    >>> np.asarray(slopes[[0]]).tolist()
    [[0.5, -2.0]]
    """

    __array_ufunc__ = None  # leaves ``array @ slopes`` to __rmatmul__

    def __init__(self, first: sparray, second: sparray) -> None:
        # As arrays, which model files can hold.
        self.factors = [
            (matrix.data, matrix.indices, matrix.indptr, matrix.shape)
            for matrix in (csr_array(first), csr_array(second))
        ]
        self.matrices: list[sparray] | None = None

    def _matrices(self) -> list[sparray]:
        """Return both factors, and both transposed."""
        if self.matrices is None:
            first, second = (
                csr_array(tuple(parts), shape=tuple(shape)) for *parts, shape in self.factors
            )
            self.matrices = [first, second, first.T, second.T]
        return self.matrices

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the product."""
        (*_, first), (*_, second) = self.factors
        return first[0], second[1]

    @property
    def T(self) -> _Transposed:
        """The product transposed."""
        return _Transposed(self)

    def __rmatmul__(self, left: Array) -> Array:
        *_, first, second = self._matrices()
        return (second @ (first @ left.T)).T

    def __matmul__(self, right: Array) -> Array:
        first, second, *_ = self._matrices()
        return first @ (second @ right)

    def __getitem__(self, rows: slice | Sequence[int] | NDArray[np.intp]) -> Slopes:
        first, second, *_ = self._matrices()
        return Slopes(first[rows], second)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        first, second, *_ = self._matrices()
        return (first @ second).toarray().astype(dtype or float, copy=False)


class _Transposed:
    """Slopes transposed, on the right of ``@``: no factor is."""

    __array_ufunc__ = None

    def __init__(self, slopes: Slopes) -> None:
        self.slopes = slopes

    def __rmatmul__(self, left: Array) -> Array:
        return (self.slopes @ left.T).T


def slopes_of(M: csr_array, U: csr_array) -> Array | Slopes:
    """Return M U as an array, or as it is where that would be large.

    >>> slopes_of(csr_array([[1.0, -1.0]]), csr_array([[0.5, 0.0], [0.0, 2.0]])).tolist()
    [[0.5, -2.0]]
    """
    if M.shape[0] * U.shape[1] <= _AT_ONCE:
        return M.toarray() @ U.toarray()
    return Slopes(M, U)


def row_blocks(slopes: Array | Slopes) -> Iterator[tuple[slice, Array]]:
    """Yield the rows of slopes as arrays, as many at a time as are not too large.

    >>> [(rows.start, block.tolist()) for rows, block in row_blocks(np.array([[1.0], [2.0]]))]
    [(0, [[1.0], [2.0]])]
    """
    n_rows, width = slopes.shape
    step = max(_AT_ONCE // max(width, 1), 1)
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        yield rows, np.asarray(slopes[rows])
