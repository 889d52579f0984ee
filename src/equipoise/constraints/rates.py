"""Rates: what is averaged, over whom, and what it is called; one table for the whole package."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array, CellTable, Mask

_SELECTED = ((0.0, 1.0), (0.0, 1.0))
_NOT_SELECTED = ((1.0, 0.0), (1.0, 0.0))
_WRONG = ((0.0, 1.0), (1.0, 0.0))
_RIGHT = ((1.0, 0.0), (0.0, 1.0))
_FAVOURABLE = ((0.0, 0.0), (1.0, 1.0))
#: Label given -> whose rate it is.
_AMONG = {
    None: "all",
    0: "those whose label is the other one",
    1: "those whose label is the favourable one",
}


class Rate(NamedTuple):
    """The mean of a utility g(label, prediction) among the people with a given label.

    1 is the favourable label and decision. Of more than two, one is taken for it, and 0 is any
    other; error and accuracy need none.

    Attributes
    ----------
    name : str
        The short name, as in ``rate("tpr")``.
    column : str
        The long name: of the function in `equipoise.metrics`, and of the column of a table.
    utility : 2 x 2 table
        ``utility[label][prediction]``.
    given : 0, 1 or None
        The label of those who count; None: everybody does.
    words : str
        What tables of groups call it.
    counted : str
        Who is counted; see `meaning`.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> FNR.event(cells).tolist(), FNR.table(cells)[1].tolist()
    ([False, True, False, True], [1.0, 0.0])
    """

    name: str
    column: str
    utility: tuple[tuple[float, float], tuple[float, float]]
    given: int | None
    words: str
    counted: str

    @property
    def meaning(self) -> str:
        """Who is counted among whom, for readers of a table."""
        return f"{self.counted}, among {_AMONG[self.given]}"

    def table(self, cells: CellTable, positive: int | None = None) -> Array:
        """Return the utility in every cell for each decision, shape (C, V).

        ``positive`` is the number of the favourable decision; of two it is the second.
        """
        decision = np.arange(len(cells.decisions))
        if positive is None and len(cells.decisions) > 2 and self.utility in (_WRONG, _RIGHT):
            is_right = cells.label[:, None] == decision
            return (is_right if self.utility == _RIGHT else ~is_right).astype(float)
        return one_against_rest(self.utility, cells, self._number(cells, positive))

    def event(self, cells: CellTable, positive: int | None = None) -> Mask:
        """Return the cells of those who count, shape (C,)."""
        if self.given is None:
            return np.ones(len(cells.mass), dtype=bool)
        return (cells.label == self._number(cells, positive)) == bool(self.given)

    def _number(self, cells: CellTable, positive: int | None) -> int:
        if positive is None and len(cells.decisions) > 2:
            raise ValueError(
                f"{self.column} is about one decision against the others, but there are "
                f"{len(cells.decisions)}: {shown(cells.decisions)}. Name the one that is meant."
            )
        return 1 if positive is None else positive


def one_against_rest(utility: ArrayLike, cells: CellTable, positive: int) -> Array:
    """Return a 2 x 2 utility in every cell for each decision, where one of these is the 1: (C, V).

    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 2], {"sex": ["F", "M"]}, decisions=("a", "b", "c"))
    >>> one_against_rest([[0, 1], [0.2, 1]], cells, 2).tolist()
    [[0.0, 0.0, 1.0], [0.2, 0.2, 1.0]]
    """
    label, decision = cells.label == positive, np.arange(len(cells.decisions)) == positive
    return np.asarray(utility, dtype=float)[label.astype(int)[:, None], decision.astype(int)]


def number_of(decision: Hashable, cells: CellTable, called: str) -> int:
    """Return the number of a decision, given by its name; an error if there is none.

    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 2], {"sex": ["F", "M"]}, decisions=("a", "b", "c"))
    >>> number_of("b", cells, "positive")
    1
    """
    if cells.decisions == (0, 1) and decision not in ((1,) if called == "positive" else (0, 1)):
        raise ValueError(
            f"{called} is {decision!r}, but there are two labels, of which the favourable one is "
            "called 1 here. Name it to the estimator, FairClassifier(..., positive=label), and "
            "leave it out of the constraint."
        )
    if decision not in cells.decisions:
        raise ValueError(
            f"{called} is {decision!r}, which is no decision here; there are "
            f"{shown(cells.decisions)}."
        )
    return cells.decisions.index(decision)


def of_decision(column: str, decision: Hashable, end: str = "") -> str:
    """Return what the rate of one of several decisions is called in tables, or an end of it.

    >>> of_decision("selection_rate", "refer")
    'selection_rate[refer]'
    """
    return f"{column}[{decision}]{end}"


def rate_and_decision(column: str) -> tuple[str, str | None]:
    """Return the rate and the decision of a column; None where it is about no single one.

    >>> rate_and_decision("selection_rate[refer]"), rate_and_decision("error_rate")
    (('selection_rate', 'refer'), ('error_rate', None))
    """
    rate, bracket, decision = column.partition("[")
    return (rate, decision.removesuffix("]")) if bracket else (rate, None)


def shown(decisions: tuple[Hashable, ...], most: int = 6) -> str:
    """Return decisions as they are printed in a sentence."""
    return ", ".join(map(repr, decisions[:most])) + (", ..." if len(decisions) > most else "")


SELECTION = Rate(
    "selection",
    "selection_rate",
    _SELECTED,
    None,
    "selected",
    "people who get the favourable decision",
)
REJECTION = Rate(
    "rejection",
    "rejection_rate",
    _NOT_SELECTED,
    None,
    "turned down",
    "people who get the other decision",
)
ERROR = Rate(
    "error", "error_rate", _WRONG, None, "wrong", "decided otherwise than their label says"
)
ACCURACY = Rate("accuracy", "accuracy_score", _RIGHT, None, "right", "decided as their label says")
TPR = Rate("tpr", "true_positive_rate", _SELECTED, 1, "true positives", "selected")
FPR = Rate("fpr", "false_positive_rate", _SELECTED, 0, "false positives", "selected")
FNR = Rate("fnr", "false_negative_rate", _NOT_SELECTED, 1, "false negatives", "turned down")
TNR = Rate("tnr", "true_negative_rate", _NOT_SELECTED, 0, "true negatives", "turned down")
#: A rate of the labels: no decision changes it, so that it cannot be constrained.
BASE = Rate(
    "base",
    "base_rate",
    _FAVOURABLE,
    None,
    "label is favourable",
    "people whose label is the favourable one",
)

#: The rates of decisions by their short names.
RATES = {rate.name: rate for rate in (SELECTION, REJECTION, ERROR, ACCURACY, TPR, FPR, FNR, TNR)}
#: The rates that tables of groups show, in order.
GROUP_RATES = (BASE, SELECTION, TPR, FPR, ERROR)
