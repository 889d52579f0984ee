"""Lazy answers: a fitted model on Dask collections, partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.engines.dask.collections import is_array, split


def lazily(
    function: Callable[..., Any],
    X: Any,
    *others: Any,
    names: tuple[str, ...] = (),
    columns: int | None = None,
    dtype: Any = float,
) -> Any:
    """Return ``function(number, X, *others)`` for every partition as one Dask array.

    Nothing is computed yet.

    Parameters
    ----------
    function : callable
        Gets the number of a partition, its rows of X, and those of the others.
    X : Dask array or data frame
    others : Dask collections or None
        Whose rows belong to those of X.
    names : tuple of str
        What users call the others.
    columns : int, optional
        Columns of the answer; by default it has one dimension.
    dtype : dtype
        Of the answer.
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


def lazy_predict(mixture: Any, X: Any, *, key: Any = None, random_state: Any = None) -> Any:
    """Return the decisions of a randomized classifier on a Dask collection, not computed yet."""
    if random_state is not None and not isinstance(random_state, (int, np.integer)):
        raise ValueError(
            f"random_state is {random_state!r}; on Dask collections expected an integer, from "
            "which every partition draws on its own."
        )

    def decide(number: int, X: Any, key: Any) -> Any:
        seed = None if random_state is None else np.random.default_rng([int(random_state), number])
        return mixture.predict(X, key=key, random_state=seed)

    return lazily(decide, X, key, names=("key",), dtype=mixture.classes_.dtype)


def lazy_pmf(mixture: Any, X: Any) -> Any:
    """Return the probabilities of either decision on a Dask collection, not computed yet."""
    return lazily(lambda number, X: mixture.predict_pmf(X), X, columns=2)


def computed_score(mixture: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the expected accuracy on Dask collections."""

    def score(X: Any, y: Any, weight: Any) -> tuple[float, float]:
        total = float(len(y) if weight is None else np.sum(weight))
        # A part without anybody, or without weight, counts for nothing.
        return (mixture.score(X, y, weight) * total if total > 0 else 0.0), total

    parts = computed(score, X, y, sample_weight, names=("y", "sample_weight"))
    return sum(right for right, _ in parts) / sum(total for _, total in parts)
