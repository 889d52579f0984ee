"""Predictive values: what a decision tells about the label.

Unlike the rates of `equipoise.constraints.rates` they are conditional on the decision, so that no
linear constraint can bound them.
"""

from __future__ import annotations

from typing import NamedTuple

from equipoise.cells.table import Array, CellTable


class Predictive(NamedTuple):
    """The share of people with a given label among those with a given decision.

    Attributes
    ----------
    column : str
        The name of the function in `equipoise.metrics`, and of the column of a table.
    decision, label : 0 or 1
        1 is the favourable one.
    words, meaning : str
        What tables of groups call it, and who is counted among whom.
    """

    column: str
    decision: int
    label: int
    words: str
    meaning: str

    def weights(self, mass: Array, selected: Array) -> Array:
        """Return the weight of those who get the decision, given that of all and of the selected.

        >>> import numpy as np
        >>> PRECISION.weights(np.array([3.0]), np.array([1.0])).tolist()
        [1.0]
        """
        return selected if self.decision else mass - selected

    def counted(self, cells: CellTable) -> Array:
        """Return 1 for the cells of the label, shape (C,)."""
        return (cells.label == self.label).astype(float)


PRECISION = Predictive(
    "precision", 1, 1, "precision", "people whose label is the favourable one, among those selected"
)
FALSE_DISCOVERY = Predictive(
    "false_discovery_rate",
    1,
    0,
    "false discoveries",
    "people whose label is the other one, among those selected",
)
FALSE_OMISSION = Predictive(
    "false_omission_rate",
    0,
    1,
    "false omissions",
    "people whose label is the favourable one, among those turned down",
)
#: All of them, in the order of tables.
PREDICTIVE = (PRECISION, FALSE_DISCOVERY, FALSE_OMISSION)
