"""Lazy answers: a fitted model on Dask collections, partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.engines.dask.collections import is_array, split
from equipoise.oracles.decisions import decisions


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


def predict(mixture: Any, X: Any, *, key: Any = None, random_state: Any = None) -> Any:
    """Return the decisions of a randomized classifier on a Dask collection, not computed yet."""
    if random_state is not None and not isinstance(random_state, (int, np.integer)):
        raise ValueError(
            f"random_state is {random_state!r}; on Dask collections expected an integer, from "
            "which every partition draws on its own."
        )

    def drawn(number: int, X: Any, key: Any) -> Any:
        seed = None if random_state is None else np.random.default_rng([int(random_state), number])
        return mixture.predict(X, key=key, random_state=seed)

    return lazily(drawn, X, key, names=("key",), dtype=mixture.classes_.dtype)


def predict_pmf(mixture: Any, X: Any) -> Any:
    """Return the probabilities of either decision on a Dask collection, not computed yet."""
    return lazily(lambda number, X: mixture.predict_pmf(X), X, columns=2)


def decide(classifier: Any, X: Any, classes: NDArray) -> Any:
    """Return the decisions of one classifier on a Dask collection, not computed yet."""

    def decided(number: int, X: Any) -> Any:
        (selected,) = decisions([classifier], X)
        return classes[selected.astype(np.intp)]

    return lazily(decided, X, dtype=classes.dtype)


def score(mixture: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the expected accuracy on Dask collections."""

    def part(X: Any, y: Any, weight: Any) -> tuple[float, float]:
        total = float(len(y) if weight is None else np.sum(weight))
        # A part without anybody, or without weight, counts for nothing.
        return (mixture.score(X, y, weight) * total if total > 0 else 0.0), total

    parts = computed(part, X, y, sample_weight, names=("y", "sample_weight"))
    return sum(right for right, _ in parts) / sum(total for _, total in parts)
