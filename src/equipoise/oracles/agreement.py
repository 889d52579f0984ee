"""Agreement: of classifiers with each other, and of each with what was recorded of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.table import Array
from equipoise.exceptions import DeploymentError
from equipoise.game.switched import pairs
from equipoise.oracles.decisions import TransformedClassifier, decisions, learner_of
from equipoise.rows.tables import batches

#: Rows that become floating-point numbers at a time.
_BLOCK = 1 << 14


class SortedRows(Protocol):
    """Rows sorted into cells, wherever they are: what is added up over them."""

    @property
    def n_decisions(self) -> int:
        """V, the number of decisions."""
        ...

    def row_weights(self) -> Array:
        """Return the weight of each row."""
        ...

    def sum(self, h: NDArray) -> Array:
        """Return the weight that gets each decision in each cell, shape (C (V - 1),)."""
        ...

    def count_rows(self, selected: NDArray[np.bool_]) -> Array:
        """Return how many rows of each cell are selected, whatever they weigh."""
        ...


class Agreement(NamedTuple):
    """What classifiers decide about some rows, and on whom they differ.

    Attributes
    ----------
    shares : array of shape (P, C)
        What each classifier selects, cell by cell.
    disagreement : array of shape (P, P)
        The weight of the rows on which each two decide differently.
    divided : float
        The weight of the rows that not all of them decide alike.
    switches : array of shape (P, V (V - 1), C), or None
        How many rows each classifier moves from one decision of the reference to another, see
        `equipoise.game.switched.pairs`; of two decisions: how many it selects and the reference
        does not, and the reverse. None without a reference.
    """

    shares: Array
    disagreement: Array
    divided: float
    switches: Array | None


def agreement(
    classifiers: Sequence[Any], X: Any, rows: SortedRows, reference: Any = None
) -> Agreement:
    """Ask classifiers about rows, each once, and compare what they decide.

    Parameters
    ----------
    classifiers : sequence of P classifiers
    X : table of n rows
    rows : SortedRows
        The same rows in their cells.
    reference : classifier, optional
        Compare with this one also who is selected; it may be one of them.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from equipoise.cells import Cells
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> cells = Cells.from_columns([0, 1], {"sex": ["F", "F"]}, weight=[1.0, 3.0])
    >>> found = agreement([yes, no, yes], [[0], [1]], cells, reference=no)
    >>> found.disagreement.tolist(), found.divided
    ([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], 1.0)
    >>> found.switches[0].tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    P, V, weight = len(classifiers), rows.n_decisions, rows.row_weights()
    asked = list(classifiers)
    before = next((h for h, known in enumerate(asked) if known is reference), P)
    if before == P and reference is not None:
        asked.append(reference)
    both, divided = np.zeros((P, P)), 0.0
    packed: list[tuple[NDArray[np.uint8], int]] = []  # all decisions, of two eight to a byte
    for decided, own in _blocks(asked, X, weight, V):
        for number in (1,) if V == 2 else range(V):
            selected = (decided[:P] == number).astype(float)
            both += (selected * own) @ selected.T
        divided += float(own[(decided[:P] != decided[0]).any(axis=0)].sum())
        small = np.packbits(decided, axis=1) if V == 2 else decided.astype(np.uint8)
        packed.append((small, decided.shape[1]))
    if V == 2:
        each = np.diag(both)
        differ = np.maximum(each[:, None] + each[None, :] - 2.0 * both, 0.0)
    else:
        differ = np.maximum(weight.sum() - both, 0.0)
    np.fill_diagonal(differ, 0.0)

    def unpacked(h: int) -> NDArray:
        parts = ((some[h], size) for some, size in packed)
        if V > 2:
            return np.concatenate([some for some, _ in parts])
        return np.concatenate([np.unpackbits(some, count=size) for some, size in parts]).view(bool)

    shares, switches = [], []
    old = unpacked(before) if reference is not None else None
    for h in map(unpacked, range(P)):
        shares.append(rows.sum(h))
        if old is not None:
            switches.append(_moves(old, h, rows))
    return Agreement(np.array(shares), differ, divided, np.array(switches) if switches else None)


def _moves(before: NDArray, after: NDArray, rows: SortedRows) -> list[Array]:
    """Return how many rows of each cell move from one decision to another, in order of `pairs`."""
    if (V := rows.n_decisions) == 2:
        return [rows.count_rows(after & ~before), rows.count_rows(before & ~after)]
    moved = np.where(before == after, -1, before.astype(np.intp) * V + after)
    # Of many decisions, most two have nobody between them.
    known = [int(key) for key in np.unique(moved) if key >= 0]
    counts = {key: rows.count_rows(moved == key) for key in known}
    nobody = rows.count_rows(np.zeros(len(moved), dtype=bool))
    return [counts.get(u * V + v, nobody) for u, v in pairs(V)]


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


def check_numbers(recorded: Array, again: Array, model: Any) -> None:
    """Raise unless a regressor predicts, asked once more, what was recorded of it.

    >>> check_numbers(np.array([1e6]), np.array([1e6 + 1e-6]), "the same up to rounding")
    """
    difference = float(np.abs(again - recorded).max(initial=0.0))
    if not difference <= _REPEATED * max(1.0, float(np.abs(recorded).max(initial=0.0))):
        raise DeploymentError(
            f"{_kind(model)} does not predict as recorded: asked about the same rows again, what "
            f"it predicts, or loses, differs by up to {difference:.2g}. {_REMEDY}"
        )


def _kind(classifier: Any) -> str:
    """Return the class of the learner behind a classifier."""
    if isinstance(classifier, TransformedClassifier):
        classifier = classifier.classifier
    learner = learner_of(classifier)
    steps = getattr(learner, "steps", None)
    inner = f" with {type(steps[-1][1]).__name__}" if steps else ""
    return f"{type(learner).__name__}{inner}"
