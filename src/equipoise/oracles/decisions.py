"""Decisions of classifiers: their predictions, checked, and of several on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from equipoise.cells.table import Array
from equipoise.oracles.plugin import PluginClassifier
from equipoise.oracles.read_only import Guard
from equipoise.oracles.thresholds import ThresholdedClassifier
from equipoise.oracles.transformed import TransformedClassifier
from equipoise.rows.batches import Batched, is_batched


def decisions(classifiers: Sequence[Any], X: Any) -> Iterator[NDArray[np.bool_]]:
    """Yield whom each classifier selects, one after the other.

    Plug-in classifiers share their probabilities, which are computed once for all of them, and
    classifiers behind the same fitted transformers the output of these. Rows on disk are read once,
    in batches.

    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> [h.tolist() for h in decisions([yes, no], [[0], [1]])]
    [[True, True], [False, False]]
    """
    if is_batched(X):
        yield from _from_batches(classifiers, X)
        return
    known: dict[int, Array] = {}
    transformed: dict[tuple[int, ...], Any] = {}
    parts = [_split(classifier) for classifier in classifiers]
    left = Counter(_key(transformers) for transformers, _ in parts)
    for transformers, classifier in parts:
        key = _key(transformers)
        if (rows := transformed.pop(key, None)) is None:
            rows = reduce(lambda rows, step: Guard()(step.transform, rows), transformers, X)
        left[key] -= 1
        if left[key]:  # others come after the same transformers
            transformed[key] = rows
        if isinstance(classifier, PluginClassifier):
            shared = classifier.probabilities
            if id(shared) not in known:
                known[id(shared)] = shared(rows)
            yield classifier.select(known[id(shared)])
        else:
            yield binary_predictions(classifier, rows)


def _key(transformers: list[Any]) -> tuple[int, ...]:
    return tuple(map(id, transformers))


def _split(classifier: Any) -> tuple[list[Any], Any]:
    """Return the transformers that rows go through, and the classifier of what comes out."""
    if isinstance(classifier, TransformedClassifier):
        transformers, last = _split(classifier.classifier)
        return [classifier.transformer, *transformers], last
    if isinstance(classifier, ThresholdedClassifier):
        transformers, last = _split(classifier.classifier)
        return transformers, ThresholdedClassifier(last, classifier.threshold)
    if type(classifier) is Pipeline:
        *transformers, last = (step for _, step in classifier.steps)
        return [step for step in transformers if step not in (None, "passthrough")], last
    return [], classifier


def _from_batches(classifiers: Sequence[Any], rows: Batched) -> NDArray[np.bool_]:
    found = np.empty((len(classifiers), len(rows)), dtype=bool)
    start = 0
    for batch in rows.batches():
        for decided, some in zip(found, decisions(classifiers, batch), strict=True):
            decided[start : start + len(batch)] = some
        start += len(batch)
    return found


def binary_predictions(classifier: Any, X: Any) -> NDArray[np.bool_]:
    """Return whom a classifier trained on labels 0 and 1 selects, its predictions checked."""
    h = np.asarray(Guard()(classifier.predict, X))
    if h.ndim == 2 and h.shape[1] == 1:
        h = h[:, 0]
    if h.ndim != 1 or not _is_binary(h):
        seen = np.unique(h)
        shown = ", ".join(map(str, seen[:4])) + (", ..." if len(seen) > 4 else "")
        raise ValueError(
            f"{type(classifier).__name__}.predict returned an array of shape {h.shape} with values "
            f"{shown}; expected one 0 or 1 per row. equipoise needs a classifier, not a "
            "regressor or a model of scores."
        )
    return h.astype(bool, copy=False)


def _is_binary(h: NDArray) -> bool:
    if h.dtype.kind in "iu":  # many times as fast as comparing, and without a copy
        return bool(np.bitwise_or.reduce(h) in (0, 1))
    return h.dtype == bool or bool(((h == 0) | (h == 1)).all())
