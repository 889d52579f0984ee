"""Dask collections, taken apart: rows that belong together, partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array, series or data frame.

    >>> is_collection(np.zeros(3))
    False
    """
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


#: What users call the collections of a fit.
NAMES = ("X", "y", "sensitive_features", "control_features", "sample_weight", "utilities")


def split(*collections: Any, names: tuple[str, ...] = NAMES) -> list[tuple[Any, ...]]:
    """Return the partitions of collections whose rows belong together, the first being X.

    Partitions that differ are aligned where sizes or divisions are known, which moves rows between
    partitions once. Where they are not known, partitions must agree in number; that they agree
    row by row is checked when they are read.
    """
    first = _whole_rows(collections[0])
    parts = [_delayed(first)]
    for name, other in zip(names[1:], collections[1:], strict=False):
        if other is None:
            parts.append([None] * len(parts[0]))
            continue
        if not is_collection(other):
            raise TypeError(
                f"X is a Dask collection, but {name} is of type {type(other).__name__}. Pass a "
                "Dask array, series or frame partitioned like X: a column of the same frame, or "
                f"dask.array.from_array({name}, chunks=X.chunks[0])."
            )
        parts.append(_delayed(_aligned(_whole_rows(other), first, name)))
    return list(zip(*parts, strict=True))


def example_of(X: Any) -> Any:
    """Return a table like X without any row: the names and the number of its columns."""
    if is_array(X):
        return np.empty((0, *map(int, X.shape[1:])), dtype=X.dtype)
    return X._meta


def is_array(X: Any) -> bool:
    """Whether a collection is a Dask array, and not a frame or series."""
    return hasattr(X, "chunks") and not hasattr(X, "divisions")


def _whole_rows(collection: Any) -> Any:
    """Put all columns of a row into one block."""
    if is_array(collection) and collection.ndim == 2 and collection.numblocks[1] > 1:
        return collection.rechunk({1: -1})
    return collection


def _delayed(collection: Any) -> list[Any]:
    # Optimised one by one, columns of the same files would be read into other partitions.
    whole = is_array(collection)
    return list(np.asarray(collection.to_delayed(optimize_graph=whole), dtype=object).reshape(-1))


def _aligned(other: Any, X: Any, name: str) -> Any:
    if is_array(other) and is_array(X):
        if np.isnan([*other.chunks[0], *X.chunks[0]]).any():
            return _same_number(other, X, name, "Call compute_chunk_sizes() on both.")
        if other.shape[0] != X.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} "
                f"rows but {name} has {other.shape[0]}. Pass one entry for each row of X."
            )
        return other if other.chunks[0] == X.chunks[0] else other.rechunk({0: X.chunks[0]})
    if not is_array(other) and not is_array(X) and other.known_divisions and X.known_divisions:
        if other.divisions == X.divisions:
            return other
        ends = X.divisions[0], X.divisions[-1]
        if (other.divisions[0], other.divisions[-1]) != ends:
            raise ValueError(
                f"{name} has an index from {other.divisions[0]!r} to {other.divisions[-1]!r}, X "
                f"one from {ends[0]!r} to {ends[1]!r}; expected one entry for each row of X."
            )
        return other.repartition(divisions=X.divisions)
    remedy = "Take both from one frame, or give both a sorted index with known divisions."
    if is_array(other) != is_array(X):
        remedy = "Pass both as frames (to_dask_dataframe), or both as arrays (to_dask_array)."
    return _same_number(other, X, name, remedy)


def _same_number(other: Any, X: Any, name: str, remedy: str) -> Any:
    here, there = (int(c.numblocks[0] if is_array(c) else c.npartitions) for c in (other, X))
    if here != there:
        raise ValueError(
            f"{name} has {here} partitions and X has {there}, of sizes that are not known, so that "
            f"rows cannot be matched. {remedy}"
        )
    return other


def between(*collections: Any, low: float, high: float, names: tuple[str, ...]) -> list[Any]:
    """Return the rows with a place in [low, high) of collections whose rows belong together.

    Places are drawn within each partition, with its number as the seed. They are not a hash of the
    row: people whose rows are equal would be in one part, and parts would not be alike.
    """
    from dask import delayed

    parts, called = split(*collections, names=names), delayed(_dealt, pure=True)
    dealt = [[called(part, low, high, i) for part in row] for i, row in enumerate(parts)]
    columns = zip(collections, zip(*dealt, strict=True), strict=True)
    return [_collection_like(given, list(column)) for given, column in columns]


def _dealt(part: Any, low: float, high: float, number: int) -> Any:
    n = part.shape[0]
    place = (np.random.default_rng(number).permutation(n) + 0.5) / max(n, 1)
    return part[(place >= low) & (place < high)]


def _collection_like(given: Any, parts: list[Any]) -> Any:
    """Return delayed partitions as a collection of the same kind, of sizes that are not known."""
    import dask.array as da
    import dask.dataframe as dd

    if not is_array(given):
        return dd.from_delayed(parts, meta=given._meta, verify_meta=False)
    shape = (np.nan, *given.shape[1:])
    blocks = [da.from_delayed(part, shape, dtype=given.dtype) for part in parts]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def lazily(
    function: Callable[..., Any],
    X: Any,
    *others: Any,
    names: tuple[str, ...] = (),
    columns: int | None = None,
    dtype: Any = float,
) -> Any:
    """Return ``function(number, X, *others)`` for every partition, as one lazy Dask array.

    ``others`` are collections or None, whose rows belong to those of X; users call them ``names``.
    The answer has ``columns``, or one dimension, and is of this ``dtype``.
    """
    import dask.array as da
    from dask import delayed

    parts = split(X, *others, names=("X", *names))
    sizes = X.chunks[0] if is_array(X) else (np.nan,) * len(parts)
    tail = () if columns is None else (columns,)

    def answer(number: int, X: Any, *others: Any) -> Any:
        if not X.shape[0]:  # many learners refuse to decide about nobody
            return np.empty((0, *tail), dtype=dtype)
        return function(number, X, *others)

    called = delayed(answer, pure=True)
    blocks = [
        da.from_delayed(called(number, *part), (size, *tail), dtype=dtype)
        for number, (part, size) in enumerate(zip(parts, sizes, strict=True))
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def computed(
    function: Callable[..., Any], X: Any, *others: Any, names: tuple[str, ...]
) -> list[Any]:
    """Return ``function(X, *others)`` for every partition, computed."""
    import dask

    called = dask.delayed(function, pure=True)
    parts = split(X, *others, names=("X", *names))
    return list(dask.compute(*(called(*part) for part in parts)))


def check_number_columns(example: Any) -> None:
    """Raise if features are not numbers, before any work."""
    dtypes = getattr(example, "dtypes", None)
    kinds = {"X": example.dtype} if dtypes is None else dict(dtypes)
    for name, dtype in kinds.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            raise ValueError(
                f"column {name!r} of X is of type {dtype}; expected numbers or booleans. Encode "
                "it with Dask first, for example with dask.dataframe.get_dummies."
            )
