"""Batches: tables of rows that follow each other, of a table that may be too large for memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeGuard, runtime_checkable

from numpy.typing import NDArray


@runtime_checkable
class Batched(Protocol):
    """Rows that are a description, such as `equipoise.ParquetRows`, and are read in batches."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def batches(self) -> Iterator[NDArray]:
        """Yield tables of rows, from the first to the last row."""
        ...


def is_batched(X: Any) -> TypeGuard[Batched]:
    """Whether the rows of X are read in batches, and not in memory.

    >>> is_batched([[0.0], [1.0]])
    False
    """
    return isinstance(X, Batched)


def batches(X: Any) -> Iterator[Any]:
    """Yield tables in memory that hold the rows of X one after the other: X itself if it is one.

    >>> list(batches([[0.0], [1.0]]))
    [[[0.0], [1.0]]]
    """
    if is_batched(X):
        yield from X.batches()
    else:
        yield X
