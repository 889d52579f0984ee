"""Objectives: what errors cost, tabulated over cells; g_err of the paper (section 2).

A loss is a table of what each decision costs in each cell, the name of a utility of single people,
or a function of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.moments import tabulate
from equipoise.constraints.rates import ERROR, shown

#: Of objective functions whose losses are all smaller, rounding would decide.
_LEAST_LARGEST = 1e-3
#: g_err(A, Y, h): (sensitive values of a cell, label, prediction) -> finite loss >= 0, in any unit.
Loss = Callable[[dict, Any, Any], float]


@runtime_checkable
class Objective(Protocol):
    """Anything that can tabulate a loss over cells."""

    def table(self, cells: CellTable) -> Array | str:
        """g_err in every cell (rows) for each decision (columns); or a utility's name."""
        ...


@dataclass(frozen=True)
class Costs:
    """Objective: the mean cost of wrong decisions; with both costs 1, the error rate.

    Parameters
    ----------
    false_positive, false_negative : float >= 0 or mapping, default=1
        What it costs to select somebody with label 0, and not to select somebody with label 1. A
        mapping gives each group its own cost; ``"else"`` stands for the groups not named.
    on : str or sequence of str, optional
        The sensitive features that make the groups; all of them by default.
    matrix : array-like of shape (V, V), optional
        Instead of these ``matrix[label][decision]``, for any number of labels, sorted.

    Examples
    --------
    >>> Costs(false_negative=5)  # turning down a good applicant is five times as bad
    Costs(false_positive=1.0, false_negative=5)
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 1], {"sex": ["F", "F", "M"]})
    >>> Costs(false_negative={"F": 5, "else": 2}, on="sex").table(cells).tolist()
    [[0.0, 1.0], [5.0, 0.0], [2.0, 0.0]]
    """

    false_positive: float | Mapping[Hashable, float] = 1.0
    false_negative: float | Mapping[Hashable, float] = 1.0
    on: str | Sequence[str] | None = field(default=None, kw_only=True)
    matrix: ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.matrix is not None:
            self._check_matrix(matrix := np.asarray(self.matrix, dtype=float))
            object.__setattr__(self, "matrix", tuple(map(tuple, matrix.tolist())))
        largest = 0.0
        for name in ("false_positive", "false_negative"):
            cost = getattr(self, name)
            for value in cost.values() if isinstance(cost, Mapping) else (cost,):
                if not np.isfinite(value) or value < 0:
                    raise ValueError(f"{name} cost is {value!r}; expected a finite number >= 0.")
                largest = max(largest, value)
        if largest == 0:
            raise ValueError("both costs are 0: every classifier would be optimal.")

    def _check_matrix(self, matrix: Array) -> None:
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 2
        if not square or not (np.isfinite(matrix) & (matrix >= 0)).all():
            raise ValueError(
                f"matrix of costs has shape {matrix.shape}; expected finite numbers >= 0, a row "
                "for each label and a column for each decision."
            )
        if not np.ptp(matrix, axis=1).any():
            raise ValueError("no decision costs more than another: every classifier is optimal.")
        if self.on is not None or (self.false_positive, self.false_negative) != (1.0, 1.0):
            raise ValueError("matrix= comes in place of false_positive, false_negative and on.")

    def __repr__(self) -> str:
        if self.matrix is not None:
            return f"Costs(matrix={self.matrix!r})"
        on = "" if self.on is None else f", on={self.on!r}"
        fp, fn = self.false_positive, self.false_negative
        return f"Costs(false_positive={fp!r}, false_negative={fn!r}{on})"

    def table(self, cells: CellTable) -> Array:
        """g_err in every cell (rows) for each decision (columns)."""
        if self.matrix is not None:
            return self._by_label(np.asarray(self.matrix, dtype=float), cells)
        if len(cells.decisions) > 2:
            if (self.false_positive, self.false_negative) == (1.0, 1.0):
                return ERROR.table(cells)
            raise ValueError(
                f"{self!r} is about two labels, but there are {len(cells.decisions)}: "
                f"{shown(cells.decisions)}. Give each pair its cost: Costs(matrix=...)."
            )
        negative = np.where(cells.label == 1, self._by_cell("false_negative", cells), 0.0)
        positive = np.where(cells.label == 0, self._by_cell("false_positive", cells), 0.0)
        return np.column_stack([negative, positive])

    def _by_label(self, matrix: Array, cells: CellTable) -> Array:
        if len(matrix) != len(cells.decisions):
            raise ValueError(
                f"matrix of costs has shape {matrix.shape} for {len(cells.decisions)} labels: "
                f"{shown(cells.decisions)}; expected a row and a column for each, in this order."
            )
        return matrix[cells.label]

    def _by_cell(self, name: str, cells: CellTable) -> Array | float:
        cost = getattr(self, name)
        if not isinstance(cost, Mapping):
            return float(cost)
        groups = cells.groups(self.on)
        if strange := [group for group in cost if group not in groups and group != "else"]:
            raise ValueError(
                f"{name} has a cost for {strange[0]!r}, which is no group here; there are "
                f"{', '.join(map(repr, groups))}."
            )
        by_cell = np.zeros(cells.n_cells)
        for group, members in groups.items():
            if group not in cost and "else" not in cost:
                raise ValueError(
                    f"{name} has no cost for the group {group!r}. Add it, or an entry 'else'."
                )
            by_cell[members] = cost[group] if group in cost else cost["else"]
        in_no_group = ~np.logical_or.reduce(list(groups.values()))
        if in_no_group.any() and "else" not in cost:
            raise ValueError(
                f"{name} has no cost for people whose group is unknown. Add an entry 'else'."
            )
        by_cell[in_no_group] = cost.get("else", 0.0)
        return by_cell


@dataclass(frozen=True)
class BalancedError:
    """Objective: the mean of several error rates, each of which counts the same.

    Parameters
    ----------
    over : {"label", "group", "both"}, default="label"
        Average the error rates of the labels, of two (FPR + FNR) / 2; of the groups, a small one
        counting as much as a large one; or of each label in each group. By group, errors on people
        whose group is unknown count nothing.
    on : str or sequence of str, optional
        The sensitive features that make the groups; all of them by default.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 0, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> objective = BalancedError().table(cells)  # the one label 1 weighs as much as the three 0
    >>> objective.round(2).tolist()
    [[0.0, 0.67], [0.0, 0.67], [2.0, 0.0]]
    """

    over: str = "label"
    on: str | Sequence[str] | None = None

    def table(self, cells: CellTable) -> Array:
        """g_err in every cell (rows) for each decision (columns)."""
        labels = [cells.label == label for label in range(len(cells.decisions))]
        groups = list(cells.groups(self.on).values())
        kinds = {"label": labels, "group": groups, "both": [g & v for g in groups for v in labels]}
        if self.over not in kinds:
            raise ValueError(f"over is {self.over!r}; expected 'label', 'group' or 'both'.")
        parts = [part for part in kinds[self.over] if cells.mass[part].sum() > 0]
        scale = sum(part / (len(parts) * cells.mass[part].sum()) for part in parts)
        return Costs().table(cells) * np.reshape(scale, (-1, 1))


@dataclass(frozen=True)
class PersonCosts:
    """Objective: the mean cost of decisions that cost each person something else.

    The paper's g_err(X, A, Y, h(X)), such as the loss on a loan of this size. The costs are two
    columns of ``utilities``, numbers in [0, 1] like all of these; divide by the largest cost.

    Parameters
    ----------
    column : str, default="cost"
        Name of the columns without their ending: with ``fit(..., utilities=frame)``,
        ``frame["cost_0"]`` is what it costs not to select a person, ``frame["cost_1"]`` what it
        costs to select them. Of more labels there is a column for each decision.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> from equipoise.cells.layered import layered
    >>> cells = Cells.from_columns([0, 1, 1], {"sex": ["F", "F", "M"]})
    >>> costs = np.array([[0.0, 0.3], [0.9, 0.0], [0.6, 0.0]])
    >>> cells = layered(cells, utilities={"cost": costs})
    >>> offset, slope = cells.total(PersonCosts("cost").table(cells))
    >>> print(round(offset, 2), round(offset + slope @ cells.sum([1, 1, 0]), 2))  # nobody; two
    0.5 0.3
    """

    column: str = "cost"

    def table(self, cells: CellTable) -> str:
        """Return the name of the utility that is minimised; `CellTable.total` looks it up."""
        return self.column


def loss_table(loss: Objective | Loss | None, cells: CellTable) -> Array | str:
    """Tabulate g_err(A, Y, prediction) over the cells, shape (C, V); or name a utility.

    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1], {"sex": ["F", "M"]})
    >>> loss_table(None, cells).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> loss_table(lambda a, y, h: (h != y) * (1.0 if a["sex"] == "F" else 0.5), cells).tolist()
    [[0.0, 1.0], [0.5, 0.0]]
    """
    if loss is None:
        return Costs().table(cells)
    if isinstance(loss, Objective):
        return loss.table(cells)
    if not callable(loss):
        raise TypeError(
            f"objective is {loss!r}; expected None (the error rate), Costs(...), "
            "BalancedError(...), PersonCosts(...), or a function (sensitive, label, prediction) -> "
            "finite loss >= 0."
        )
    table = tabulate(loss, cells)
    if not (np.isfinite(table) & (table >= 0)).all():
        raise ValueError(
            f"the objective returned values from {table.min()} to {table.max()}; expected finite "
            "losses >= 0."
        )
    if not np.ptp(table, axis=1).any():
        raise ValueError(
            "the objective gives all decisions about a person the same loss: every classifier is "
            "optimal."
        )
    if table.max() < _LEAST_LARGEST:
        raise ValueError(
            f"the largest loss of the objective is {table.max():.3g}; expected at least "
            f"{_LEAST_LARGEST:g}, so that differences are more than rounding. Use a smaller unit."
        )
    return table
