"""The Lagrangian L(Q, lambda) = err(Q) + lambda . (M mu(Q) - c) on cells (section 3.2).

Pure functions of ``s``, the selected shares of a classifier: shape (C,) for one classifier,
(P, C) for several, where each has C (V - 1) entries if there are V decisions. A randomized Q
enters as the mean of its members' shares, because everything here is affine in ``s`` (appendix A).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.moments import Moments, tabulate
from equipoise.constraints.rates import ERROR, shown
from equipoise.constraints.rows import Row, Rows
from equipoise.constraints.slopes import Slopes, slopes_of

#: g_err(A, Y, h): (sensitive values of a cell, label, prediction) -> loss in [0, 1].
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
            "loss in [0, 1]."
        )
    table = tabulate(loss, cells)
    if not np.all((table >= 0) & (table <= 1)):
        raise ValueError(
            f"the objective returned values from {table.min()} to {table.max()}; expected losses "
            "in [0, 1]. Divide by the largest loss."
        )
    return table


#: A constraint counts as met when it is exceeded by no more than this (what the LP can promise).
TOLERANCE = 1e-8
#: Default gap, as a multiple of n^(-1/2): a fifth of the largest standard error of an error rate.
NU_SCALE = 0.1


def is_met(excess: float | None, tolerance: float = TOLERANCE) -> bool:
    """Whether a constraint is met, given its value minus its bound; what is unknown is not.

    >>> is_met(-0.1), is_met(1e-9), is_met(1e-6), is_met(float("nan")), is_met(None)
    (True, True, False, False, False)
    """
    return excess is not None and bool(excess <= tolerance)


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The game between a classifier and the multipliers, for one set of cells and constraints.

    Attributes
    ----------
    error_offset, error_slope : float and array of the shape of s(h)
        err(h) = offset + slope . s(h).
    gamma_offset, gamma_slope : arrays of shape (K,) and (K, len(s))
        gamma(h) = M mu(h) = offset + slope s(h).
    c, rows : array of shape (K,), sequence of Row
        The bounds, c-hat of equation (4), and the K constraints in words.
    B : float
        Bound on the l1 norm of lambda; infinite for hard constraints.
    elastic : mask of shape (K,), or None
        Constraints without a bound of their own: their largest is made least before the error is.
    loosening : array of shape (K,) or float
        By how much ``c`` exceeds the bounds of ``rows``.
    scale, default_nu, tolerance : float
        By how much the objective can vary (1 for errors), the gap at which to stop unless another
        is asked for, and by how much a row may be exceeded for rounding.
    """

    error_offset: float
    error_slope: Array
    gamma_offset: Array
    gamma_slope: Array | Slopes
    c: Array
    B: float = np.inf
    rows: Sequence[Row] = field(default=(), repr=False)
    elastic: Mask | None = field(default=None, repr=False)
    loosening: Array | float = field(default=0.0, repr=False)
    scale: float = field(default=1.0, repr=False)
    default_nu: float = field(default=0.0, repr=False)
    tolerance: float = field(default=TOLERANCE, repr=False)

    @classmethod
    def from_moments(
        cls,
        moments: Moments,
        cells: CellTable,
        loss: Objective | Loss | None = None,
        B: float = np.inf,
    ) -> Lagrangian:
        """Bring the error and M mu(h) - c into the same table of cells."""
        error_offset, error_slope = cells.total(loss_table(loss, cells))
        least, most = cells.limits()
        scale = round(float(np.abs(error_slope) @ np.where(error_slope, most - least, 0.0)), 9)
        scale = scale if 0 < scale < np.inf else 1.0
        gamma = moments.M @ moments.offset, slopes_of(moments.M, moments.U)
        return cls(
            *(error_offset, error_slope, *gamma, moments.c, B, moments.rows, moments.elastic),
            scale=scale,
            default_nu=scale * NU_SCALE / np.sqrt(cells.n_effective),
        )

    @property
    def n_constraints(self) -> int:
        """K, the number of inequalities."""
        return len(self.c)

    def error(self, s: Array) -> Array:
        """err(h)."""
        return self.error_offset + s @ self.error_slope

    def gamma(self, s: Array) -> Array:
        """gamma(h) = M mu(h)."""
        return self.gamma_offset + s @ self.gamma_slope.T

    def violation(self, s: Array) -> Array:
        """By how much the worst constraint is exceeded, max over k of (gamma_k - c_k)+."""
        return (self.gamma(s) - self.c).max(axis=-1, initial=0.0)

    def value(self, s: Array, lam: Array) -> Array:
        """L(h, lambda), for several multipliers (T, K) and classifiers (P, C) a (T, P) table."""
        return self.error(s) + lam @ (self.gamma(s) - self.c).T

    def costs(self, lam: Array) -> Array:
        """C^v - C^0 in each cell: the cost of deciding v rather than 0 (section 3.2)."""
        return self.error_slope + lam @ self.gamma_slope

    def best_lambda(self, s: Array) -> Array:
        """Best_lambda(Q): all of B on the constraint of largest excess, or zero if all are met."""
        lam, excess = np.zeros(self.n_constraints), self.gamma(s) - self.c
        if excess.max(initial=0.0) > self.tolerance:
            lam[excess.argmax()] = self.B
        return lam

    def upper(self, s: Array) -> float:
        """max over lambda of L(Q, lambda), which is err(Q) + B max over k of (gamma_k - c_k)+."""
        return self.worth(s)[-1]

    def worth(self, s: Array) -> tuple[float, Array, float, float]:
        """Return error, gamma, violation and upper value of one classifier, or of one mixture."""
        error, gamma = float(self.error(s)), self.gamma(s)
        violation = float((gamma - self.c).max(initial=0.0))
        return error, gamma, violation, self.penalised(error, violation)

    def penalised(self, error: float, violation: float) -> float:
        """Return the error plus the price of the worst violation, B each; rounding is free."""
        return error + (self.B * violation if violation > self.tolerance else 0.0)

    def lower(self, s: Array, lams: Array) -> tuple[float, Array]:
        """Return the best of the dual bounds min over h of L(h, lambda), and its lambda.

        The best responses to ``lams`` (T, K) are among ``s`` (P, C), all classifiers known.
        """
        bounds = self.value(s, lams).min(axis=-1)
        best = int(bounds.argmax())
        return float(bounds[best]), lams[best]

    def feasibility(self) -> Lagrangian:
        """Return the game for the constraints alone: its value is the least violation possible."""
        return replace(self, error_offset=0.0, error_slope=np.zeros_like(self.error_slope), B=1.0)

    def relaxed(self, slack: Array | float) -> Lagrangian:
        """Return the same game with every bound loosened by ``slack``."""
        return replace(self, c=self.c + slack, loosening=self.loosening + slack)

    def as_given(self) -> Lagrangian:
        """Return the same game with the bounds of its rows, without what they were loosened by."""
        return self.relaxed(-np.asarray(self.loosening))

    def with_bound(self, eps: float) -> Lagrangian:
        """Return the game with another ``eps``, which each row must have: only c differs."""
        c = np.full(self.n_constraints, eps) + self.loosening
        return replace(self, rows=Rows(self.rows, float(eps)), c=c)

    def only(self, rows: Sequence[int] | NDArray[np.intp]) -> Lagrangian:
        """Return the game with these constraints alone."""
        at = np.asarray(rows, dtype=int)
        return replace(
            self,
            gamma_offset=self.gamma_offset[at],
            gamma_slope=self.gamma_slope[at],
            c=self.c[at],
            rows=tuple(self.rows[k] for k in at) if self.rows else (),
            elastic=None if self.elastic is None else self.elastic[at],
            loosening=np.broadcast_to(self.loosening, self.c.shape)[at],
        )
