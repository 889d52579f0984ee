"""Agreement: of classifiers with each other, and of each with what was recorded of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.codes import Counts, number_combinations
from equipoise.cells.table import Array
from equipoise.exceptions import DeploymentError
from equipoise.game.switches import pairs
from equipoise.oracles.decisions import TransformedClassifier, decisions, learner_of

#: Patterns of decisions that become floating-point numbers at a time.
_BLOCK = 1 << 14
#: Decisions on a row are one number of so many bits, before the patterns that occur are numbered;
#: so few patterns are not.
_BITS, _FEW = 16, 128


class SortedRows(Protocol):
    """Rows sorted into cells, wherever they are: what is added up over them."""

    @property
    def n_decisions(self) -> int:
        """V, the number of decisions."""
        ...

    def sums(self, answers: Sequence[NDArray]) -> Array:
        """Return the weight that gets each decision of each answer in each cell, (P, C (V - 1))."""
        ...

    def count_rows(self, key: NDArray[np.integer], size: int) -> tuple[Array, Counts]:
        """Return the weight of the rows of each key, and how many are in each cell, (size, C).

        The number counts rows, whatever they weigh.
        """
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
        `equipoise.game.switches.pairs`; of two decisions: how many it selects and the reference
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
    P, V = len(classifiers), rows.n_decisions
    asked = list(classifiers)
    before = next((h for h, known in enumerate(asked) if known is reference), P)
    if before == P and reference is not None:
        asked.append(reference)
    answers, at_once = decisions(asked, X, V), max(int(_BITS / np.log2(V)), 1)
    shares = list[Array]()
    pattern: NDArray[np.integer] | None = None
    decided: NDArray[np.integer] = np.zeros((1, 0), dtype=np.intp)
    small = bool if V == 2 else np.uint8
    while some := [h.astype(small, copy=False) for h in islice(answers, at_once)]:
        shares.extend(rows.sums(some[: P - len(shares)]))
        code, new = _patterns(some, V)
        if pattern is not None:
            sizes = len(decided), len(new)
            code, (old, more) = number_combinations((pattern, code), sizes)
            new = np.hstack([decided[old], new[more]])
        pattern, decided = code, new
    assert pattern is not None
    (weight, counts), own = rows.count_rows(pattern, len(decided)), decided[:, :P]
    divided = float(weight[(own != own[:, :1]).any(axis=1)].sum())
    switches = None
    if reference is not None:
        switches = _moves(decided[:, before], own, counts, list(pairs(V)))
    return Agreement(np.array(shares), _disagreement(own, weight, V), divided, switches)


def _patterns(
    answers: Sequence[NDArray], n_decisions: int
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return the number of each row's pattern, and what all answers decide on each pattern.

    Rows that all decide alike are one pattern, so that what follows is about few of them.

    >>> number, decided = _patterns([np.array([0, 1, 1]), np.array([0, 0, 0])], 2)
    >>> decided[number].T.tolist()
    [[0, 1, 1], [0, 0, 0]]
    """
    V, P = n_decisions, len(answers)
    code: Any = 0
    for h in answers:
        code = code * V + h.astype(np.min_scalar_type(V**P), copy=False)
    present = np.arange(V**P)
    if len(present) > _FEW:
        code, (present,) = number_combinations((code,), (len(present),))
    shown = present[:, None] // V ** np.arange(P)[::-1] % V
    return code, shown.astype(np.min_scalar_type(V))  # of many, as many as rows


def _disagreement(decided: NDArray, weight: Array, n_decisions: int) -> Array:
    """Return the weight on which each two differ, from patterns (D, P) and their weights."""
    alike = np.zeros((decided.shape[1],) * 2)
    for start in range(0, len(decided), _BLOCK):
        some = slice(start, start + _BLOCK)
        for number in range(n_decisions):
            has = (decided[some] == number).astype(float)
            alike += (has.T * weight[some]) @ has
    differ = np.maximum(weight.sum() - alike, 0.0)
    np.fill_diagonal(differ, 0.0)
    return differ


def _moves(
    before: NDArray, decided: NDArray, counts: Counts, moves: Sequence[tuple[int, int]]
) -> Array:
    """Return how many rows of each cell make each move from one decision to another: (P, M, C).

    ``counts`` are the rows of each pattern in each cell (D, C).
    """
    each = [[(before == u) & (after == v) for u, v in moves] for after in decided.T]
    return np.array([[rows.astype(float) @ counts for rows in some] for some in each])


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
