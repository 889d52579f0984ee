"""Agreement: how many people classifiers decide about differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.oracles.decisions import decisions
from equipoise.rows.tables import batches

#: Rows that become floating-point numbers at a time.
_BLOCK = 1 << 14


def disagreement(classifiers: Sequence[Any], X: Any, weight: Array, n_decisions: int = 2) -> Array:
    """Return the weight of the rows on which each two classifiers decide differently: (P, P).

    Parameters
    ----------
    classifiers : sequence of P classifiers
    X : table of n rows
    weight : array of shape (n,)
    n_decisions : int, default=2

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> disagreement([yes, no, yes], [[0], [1]], np.array([0.25, 0.75])).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    both = np.zeros((len(classifiers), len(classifiers)))
    for decided, own in _blocks(classifiers, X, weight, n_decisions):
        for number in (1,) if n_decisions == 2 else range(n_decisions):
            selected = (decided == number).astype(float)
            both += (selected * own) @ selected.T
    if n_decisions == 2:
        each = np.diag(both)
        differ = np.maximum(each[:, None] + each[None, :] - 2.0 * both, 0.0)
    else:
        differ = np.maximum(weight.sum() - both, 0.0)
    np.fill_diagonal(differ, 0.0)
    return differ


def divided(
    classifiers: Sequence[Any],
    X: Any,
    weight: Array,
    mixtures: Sequence[NDArray[np.intp]],
    n_decisions: int = 2,
) -> Array:
    """Return for each mixture the weight of the rows that not all of its members decide alike.

    ``mixtures`` are numbers of classifiers; the members of a mixture of one agree with themselves.
    """
    found = np.zeros(len(mixtures))
    for decided, own in _blocks(classifiers, X, weight, n_decisions):
        for number, members in enumerate(mixtures):
            some = decided[members]
            found[number] += own[(some != some[0]).any(axis=0)].sum()
    return found


def _blocks(
    classifiers: Sequence[Any], X: Any, weight: Array, n_decisions: int
) -> Iterator[tuple[NDArray, Array]]:
    """Yield the decisions of all classifiers on some rows, of shape (P, b), and their weights."""
    start = 0
    for batch in batches(X):
        decided = np.array(list(decisions(classifiers, batch, n_decisions)))
        for first in range(0, decided.shape[1], _BLOCK):
            some = decided[:, first : first + _BLOCK]
            yield some, weight[start + first : start + first + some.shape[1]]
        start += decided.shape[1]
