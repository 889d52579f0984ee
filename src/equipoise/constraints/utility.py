"""Utility parity: a quantity of the user's own compared between groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.conditions import Utility, utility_table
from equipoise.constraints.parity import Parity
from equipoise.constraints.rates import SELECTION


@dataclass(repr=False)
class UtilityParity(Parity):
    """Other names: equal expected benefit, equality of outcome.

    Use it where what people get out of a decision is not the decision itself: a limit, a waiting
    time, a price, scaled to [0, 1].

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.
    utility : 2 x 2 table, callable or str
        A table ``g[label][prediction]``; a function of (sensitive values, label, prediction) with
        values in [0, 1]; or the name of a utility that differs from person to person, whose
        values under prediction 0 and 1 are passed as ``fit(..., utilities=...)``.
    labels : tuple of 0 and 1, or None, default=None
        Compare people with the same label only, for each of these labels.

    Examples
    --------
    >>> benefit = UtilityParity(0.05, utility=[[0, 1], [0.2, 1]])  # comfort for those with label 1
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> benefit.moments(cells).offset.tolist()  # what everybody gets when nobody is selected
    [0.1, 0.1, 0.1]
    """

    utility: Utility = field(default=SELECTION.utility, kw_only=True)
    labels: tuple[int, ...] | None = field(default=None, kw_only=True)

    name = "utility parity"
    asks = "A quantity of your own is (nearly) the same on average for every group."
    formula = "| E[g(X,A,Y,h(X)) | A=a] - E[g(X,A,Y,h(X))] | <= eps for every group a."
    misleads = "It compares means only: within a group some may get all of it."

    def utilities(self, cells: CellTable) -> Mapping[int | None, Array | str]:
        """Return the utility in each event, by the label that the event is given."""
        labels = (None,) if self.labels is None else tuple(self.labels)
        if not set(labels) <= {None, 0, 1}:
            raise ValueError(f"labels is {self.labels!r}; expected None, (0,), (1,) or (0, 1).")
        return dict.fromkeys(labels, utility_table(self.utility, cells))
