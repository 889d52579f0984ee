"""Decisions of several classifiers on the same rows, without doing anything twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.rows import Array
from equipoise.oracles.plugin import PluginClassifier
from equipoise.oracles.thresholds import binary_predictions
from equipoise.oracles.transformed import TransformedClassifier
from equipoise.rows.parquet import ParquetRows


def decisions(classifiers: Sequence[Any], X: Any) -> Iterator[NDArray[np.bool_]]:
    """Yield whom each classifier selects, one after the other.

    Plug-in classifiers share their probabilities, which are computed once for all of them, and
    classifiers behind the same transformer its output. Rows on disk are read once, in batches.

    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> [h.tolist() for h in decisions([yes, no], [[0], [1]])]
    [[True, True], [False, False]]
    """
    if isinstance(X, ParquetRows):
        yield from _from_batches(classifiers, X)
        return
    known: dict[int, Array] = {}
    transformed: dict[int, Any] = {}
    for classifier in classifiers:
        rows = X
        if isinstance(classifier, TransformedClassifier):
            transformer, classifier = classifier.transformer, classifier.classifier
            if id(transformer) not in transformed:
                transformed[id(transformer)] = transformer.transform(X)
            rows = transformed[id(transformer)]
        if isinstance(classifier, PluginClassifier):
            shared = classifier.probabilities
            if id(shared) not in known:
                known[id(shared)] = shared(rows)
            yield classifier.select(known[id(shared)])
        else:
            yield binary_predictions(classifier, rows)


def _from_batches(classifiers: Sequence[Any], rows: ParquetRows) -> NDArray[np.bool_]:
    found = np.empty((len(classifiers), len(rows)), dtype=bool)
    start = 0
    for batch in rows.batches():
        for decided, some in zip(found, decisions(classifiers, batch), strict=True):
            decided[start : start + len(batch)] = some
        start += len(batch)
    return found
