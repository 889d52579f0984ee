"""Decisions of several classifiers on the same rows, without doing anything twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells import Array
from equipoise.plugin import PluginClassifier
from equipoise.thresholds import binary_predictions


def decisions(classifiers: Sequence[Any], X: Any) -> Iterator[NDArray[np.bool_]]:
    """Yield whom each classifier selects, one after the other.

    Plug-in classifiers share their probabilities, which are computed once for all of them.

    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> [h.tolist() for h in decisions([yes, no], [[0], [1]])]
    [[True, True], [False, False]]
    """
    known: dict[int, Array] = {}
    for classifier in classifiers:
        if isinstance(classifier, PluginClassifier):
            shared = classifier.probabilities
            if id(shared) not in known:
                known[id(shared)] = shared(X)
            yield classifier.select(known[id(shared)])
        else:
            yield binary_predictions(classifier, X)
