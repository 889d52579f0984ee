"""Rates: what is averaged, over whom, and what it is called; one table for the whole package."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask

_SELECTED = ((0.0, 1.0), (0.0, 1.0))
_NOT_SELECTED = ((1.0, 0.0), (1.0, 0.0))
_WRONG = ((0.0, 1.0), (1.0, 0.0))
_RIGHT = ((1.0, 0.0), (0.0, 1.0))
_FAVOURABLE = ((0.0, 0.0), (1.0, 1.0))


class Rate(NamedTuple):
    """The mean of a utility g(label, prediction) among the people with a given label.

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
    words, meaning : str
        What tables of groups call it, and who is counted among whom.

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
    meaning: str

    def table(self, cells: CellTable) -> Array:
        """Return the utility in every cell for prediction 0 and 1, shape (C, 2)."""
        return np.array(self.utility)[cells.label]

    def event(self, cells: CellTable) -> Mask:
        """Return the cells of those who count, shape (C,)."""
        everybody = np.ones(cells.n_cells, dtype=bool)
        return everybody if self.given is None else cells.label == self.given


SELECTION = Rate(
    "selection",
    "selection_rate",
    _SELECTED,
    None,
    "selected",
    "people who get the favourable decision, among all",
)
REJECTION = Rate(
    "rejection",
    "rejection_rate",
    _NOT_SELECTED,
    None,
    "turned down",
    "people who get the other decision, among all",
)
ERROR = Rate(
    "error",
    "error_rate",
    _WRONG,
    None,
    "wrong",
    "decided otherwise than their label says, among all",
)
ACCURACY = Rate(
    "accuracy", "accuracy_score", _RIGHT, None, "right", "decided as their label says, among all"
)
TPR = Rate(
    "tpr",
    "true_positive_rate",
    _SELECTED,
    1,
    "true positives",
    "selected, among those whose label is the favourable one",
)
FPR = Rate(
    "fpr",
    "false_positive_rate",
    _SELECTED,
    0,
    "false positives",
    "selected, among those whose label is the other one",
)
FNR = Rate(
    "fnr",
    "false_negative_rate",
    _NOT_SELECTED,
    1,
    "false negatives",
    "turned down, among those whose label is the favourable one",
)
TNR = Rate(
    "tnr",
    "true_negative_rate",
    _NOT_SELECTED,
    0,
    "true negatives",
    "turned down, among those whose label is the other one",
)
#: A rate of the labels: no decision changes it, so that it cannot be constrained.
BASE = Rate(
    "base",
    "base_rate",
    _FAVOURABLE,
    None,
    "label is favourable",
    "people whose label is the favourable one, among all",
)

#: The rates of decisions by their short names.
RATES = {rate.name: rate for rate in (SELECTION, REJECTION, ERROR, ACCURACY, TPR, FPR, FNR, TNR)}
#: The rates that tables of groups show, in order.
GROUP_RATES = (BASE, SELECTION, TPR, FPR, ERROR)
