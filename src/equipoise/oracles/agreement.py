"""Agreement: how many people classifiers decide about differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.oracles.decisions import decisions
from equipoise.rows.tables import batches

#: Rows that become floating-point numbers at a time.
_BLOCK = 1 << 14


def disagreement(classifiers: Sequence[Any], X: Any, weight: Array) -> Array:
    """Return the weight of the rows on which each two classifiers decide differently: (P, P).

    Parameters
    ----------
    classifiers : sequence of P classifiers
    X : table of n rows
    weight : array of shape (n,)

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> disagreement([yes, no, yes], [[0], [1]], np.array([0.25, 0.75])).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    both = np.zeros((len(classifiers), len(classifiers)))
    for decided, own in _blocks(classifiers, X, weight):
        selected = decided.astype(float)
        both += (selected * own) @ selected.T
    each = np.diag(both)
    differ = np.maximum(each[:, None] + each[None, :] - 2.0 * both, 0.0)
    np.fill_diagonal(differ, 0.0)
    return differ


def divided(
    classifiers: Sequence[Any], X: Any, weight: Array, mixtures: Sequence[NDArray[np.intp]]
) -> Array:
    """Return for each mixture the weight of the rows that not all of its members decide alike.

    ``mixtures`` are numbers of classifiers; the members of a mixture of one agree with themselves.
    """
    found = np.zeros(len(mixtures))
    for decided, own in _blocks(classifiers, X, weight):
        for number, members in enumerate(mixtures):
            some = decided[members]
            found[number] += own[some.any(axis=0) & ~some.all(axis=0)].sum()
    return found


def switches(
    classifiers: Sequence[Any],
    reference: Any,
    X: Any,
    count: Callable[[NDArray[np.bool_]], Array],
) -> Array:
    """Return how many rows each classifier selects and the reference does not, or the reverse.

    ``count`` adds up selected rows by cell; the shape is (P, 2, C).
    """
    decided = decisions([reference, *classifiers], X)
    before = next(decided)
    return np.array([[count(after & ~before), count(before & ~after)] for after in decided])


def _blocks(
    classifiers: Sequence[Any], X: Any, weight: Array
) -> Iterator[tuple[NDArray[np.bool_], Array]]:
    """Yield the decisions of all classifiers on some rows, of shape (P, b), and their weights."""
    start = 0
    for batch in batches(X):
        decided = np.array(list(decisions(classifiers, batch)), dtype=bool)
        for first in range(0, decided.shape[1], _BLOCK):
            some = decided[:, first : first + _BLOCK]
            yield some, weight[start + first : start + first + some.shape[1]]
        start += decided.shape[1]
