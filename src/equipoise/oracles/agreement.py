"""Agreement: of classifiers with each other, and of each with what was recorded of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.table import Array
from equipoise.exceptions import DeploymentError
from equipoise.game.switched import pairs
from equipoise.oracles.decisions import TransformedClassifier, decisions, learner_of
from equipoise.rows.tables import batches

#: Rows that become floating-point numbers at a time.
_BLOCK = 1 << 14


class Agreement(NamedTuple):
    """What classifiers decide about some rows, and how often each two differ.

    Attributes
    ----------
    shares : array of shape (P, C)
        What each classifier selects, cell by cell.
    disagreement : array of shape (P, P)
        The weight of the rows on which each two decide differently.
    """

    shares: Array
    disagreement: Array


def agreement(
    classifiers: Sequence[Any],
    X: Any,
    weight: Array,
    sums: Callable[[Iterable[NDArray]], Array],
    n_decisions: int = 2,
) -> Agreement:
    """Ask classifiers about rows, once, and compare what they decide.

    Parameters
    ----------
    classifiers : sequence of P classifiers
    X : table of n rows
    weight : array of shape (n,)
    sums : callable
        From the decisions of each classifier about all rows to sums over cells, of shape (P, C).
    n_decisions : int, default=2

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> weight = np.array([0.25, 0.75])
    >>> found = agreement([yes, no, yes], [[0], [1]], weight, lambda H: [weight @ h for h in H])
    >>> found.disagreement.tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    both = np.zeros((len(classifiers), len(classifiers)))
    packed: list[tuple[NDArray[np.uint8], int]] = []  # all decisions, of two eight to a byte
    for decided, own in _blocks(classifiers, X, weight, n_decisions):
        for number in (1,) if n_decisions == 2 else range(n_decisions):
            selected = (decided == number).astype(float)
            both += (selected * own) @ selected.T
        small = np.packbits(decided, axis=1) if n_decisions == 2 else decided.astype(np.uint8)
        packed.append((small, decided.shape[1]))
    if n_decisions == 2:
        each = np.diag(both)
        differ = np.maximum(each[:, None] + each[None, :] - 2.0 * both, 0.0)
    else:
        differ = np.maximum(weight.sum() - both, 0.0)
    np.fill_diagonal(differ, 0.0)

    def unpacked(some: NDArray[np.uint8], size: int) -> NDArray:
        return np.unpackbits(some, count=size).view(bool) if n_decisions == 2 else some

    shares = sums(
        np.concatenate([unpacked(some[h], size) for some, size in packed])
        for h in range(len(classifiers))
    )
    return Agreement(shares, differ)


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


def switches(
    classifiers: Sequence[Any],
    reference: Any,
    X: Any,
    count: Callable[[Iterable[NDArray[np.bool_]]], Array],
    n_decisions: int = 2,
) -> Array:
    """Return how many rows each classifier moves from one decision of the reference to another.

    ``count`` adds up the rows of each selection by cell; the shape is (P, V (V - 1), C), in the
    order of `equipoise.game.switched.pairs`. Of two decisions: how many a classifier selects and
    the reference does not, and the reverse.
    """
    decided = decisions([reference, *classifiers], X, n_decisions)
    before = next(decided)
    if n_decisions == 2:
        found = count(rows for after in decided for rows in (after & ~before, before & ~after))
        return found.reshape(len(classifiers), 2, -1)
    moves = list(pairs(n_decisions))
    moved: list[Array] = []
    for after in decided:
        # Of many decisions, most two have nobody between them.
        keys = np.where(after == before, -1, before.astype(np.int16) * n_decisions + after)
        known = [key for key in np.unique(keys).tolist() if key >= 0]
        none = count([np.zeros(len(before), dtype=bool)])[0]
        counts = dict(zip(known, count(keys == key for key in known), strict=True))
        moved.append(np.array([counts.get(a * n_decisions + b, none) for a, b in moves]))
    return np.array(moved)


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


#: Shares of the same decisions may be added up in another order.
_REPEATED = 1e-9
_REMEDY = (
    "A certificate would speak of another classifier than the one deployed, so there is no result. "
    "Causes: predictions that draw at random or depend on earlier calls (fix random_state, or make "
    "predict a function of its rows); a transformer or learner that writes into its input past "
    "NumPy's protection (set copy=True); a checkpoint that was damaged, or written with another "
    "version of the learner (delete the folder)."
)


def check_shares(recorded: ArrayLike, again: ArrayLike, classifiers: Sequence[Any]) -> None:
    """Raise unless classifiers select, asked once more, what was recorded of them.

    Parameters
    ----------
    recorded, again : array of shape (P, C)
        Selected shares of each cell.
    classifiers : sequence of P classifiers

    Examples
    --------
    >>> check_shares([[0.25, 0.5]], [[0.25, 0.5 + 1e-12]], ["the same up to rounding"])
    """
    recorded, again = np.asarray(recorded), np.asarray(again)
    difference = np.abs(again - recorded).sum(axis=1)
    if (difference <= _REPEATED).all():
        return
    worst = int(np.argmax(np.nan_to_num(difference, nan=np.inf)))
    raise DeploymentError(
        f"{_kind(classifiers[worst])} does not decide as recorded: by weight, "
        f"{recorded[worst].sum():.4%} of the rows were selected when it was measured, and "
        f"{again[worst].sum():.4%} when it was asked about the same rows again (differences of "
        f"all cells together: {difference[worst]:.2g}). {_REMEDY}"
    )


def check_probabilities(recorded: Array, again: Array, learner: Any) -> None:
    """Raise unless a learner's model gives the probabilities that were recorded of it."""
    if not (difference := float(np.abs(again - recorded).max(initial=0.0))) <= _REPEATED:
        raise DeploymentError(
            f"{_kind(learner)} does not give the probabilities recorded: asked about the same rows "
            f"again, they differ by up to {difference:.2g}. {_REMEDY}"
        )


def _kind(classifier: Any) -> str:
    """Return the class of the learner behind a classifier."""
    if isinstance(classifier, TransformedClassifier):
        classifier = classifier.classifier
    learner = learner_of(classifier)
    steps = getattr(learner, "steps", None)
    inner = f" with {type(steps[-1][1]).__name__}" if steps else ""
    return f"{type(learner).__name__}{inner}"
