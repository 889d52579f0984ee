"""The Lagrangian L(Q, lambda) = err(Q) + lambda . (M mu(Q) - c) on cells (section 3.2).

Pure functions of ``s``, the selected shares of a classifier: shape (C,) for one classifier,
(P, C) for several. A randomized classifier Q enters as the mean of its members' shares, because
everything here is affine in ``s`` (appendix A).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from equipoise.cells import Array, Cells
from equipoise.constraints import Moments, Row

#: A constraint counts as met when it is exceeded by no more than this (what the LP can promise).
TOLERANCE = 1e-8

#: g_err: (sensitive values of a cell, label, prediction) -> loss in [0, 1].
Loss = Callable[[dict, int, int], float]


@dataclass(frozen=True)
class Costs:
    """Objective: the mean cost of wrong decisions; with both costs 1, the error rate.

    Parameters
    ----------
    false_positive, false_negative : float >= 0, default=1
        What it costs to select somebody with label 0, and not to select somebody with label 1.

    Examples
    --------
    >>> Costs(false_negative=5)  # turning down a good applicant is five times as bad
    Costs(false_positive=1.0, false_negative=5)
    """

    false_positive: float = 1.0
    false_negative: float = 1.0

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            value = getattr(self, name)
            if not np.isfinite(value) or value < 0:
                raise ValueError(f"{name} cost is {value!r}; expected a finite number >= 0.")
        if self.false_positive == self.false_negative == 0:
            raise ValueError("both costs are 0: every classifier would be optimal.")

    def table(self, cells: Cells) -> Array:
        """g_err in every cell (rows) for prediction 0 and 1 (columns)."""
        costs = np.array([[0.0, self.false_positive], [self.false_negative, 0.0]])
        return costs[cells.label]


def loss_table(loss: Costs | Loss | None, cells: Cells) -> Array:
    """Tabulate g_err(A, Y, prediction) over the cells, shape (C, 2).

    >>> cells = Cells.from_columns([0, 1], {"sex": ["F", "M"]})
    >>> loss_table(None, cells).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> loss_table(lambda a, y, h: (h != y) * (1.0 if a["sex"] == "F" else 0.5), cells).tolist()
    [[0.0, 1.0], [0.5, 0.0]]
    """
    if loss is None or isinstance(loss, Costs):
        return (loss or Costs()).table(cells)
    if not callable(loss):
        raise TypeError(
            f"objective is {loss!r}; expected None (the error rate), Costs(...), or a function "
            "(sensitive, label, prediction) -> loss in [0, 1]."
        )
    table = np.array(
        [
            [
                loss({k: v[cell] for k, v in cells.sensitive.items()}, int(cells.label[cell]), h)
                for h in (0, 1)
            ]
            for cell in range(cells.n_cells)
        ],
        dtype=float,
    )
    if not np.all((table >= 0) & (table <= 1)):
        raise ValueError(
            f"the objective returned values from {table.min()} to {table.max()}; expected losses "
            "in [0, 1]. Divide by the largest loss."
        )
    return table


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The game between a classifier and the multipliers, for one set of cells and constraints.

    Attributes
    ----------
    error_offset, error_slope : float and array of shape (C,)
        err(h) = offset + slope . s(h).
    gamma_offset, gamma_slope : arrays of shape (K,) and (K, C)
        gamma(h) = M mu(h) = offset + slope s(h).
    c : array of shape (K,)
        The bounds, c-hat of equation (4).
    B : float
        Bound on the l1 norm of lambda; infinite for hard constraints.
    rows : tuple of Row
        The K constraints, in words.
    """

    error_offset: float
    error_slope: Array
    gamma_offset: Array
    gamma_slope: Array
    c: Array
    B: float = np.inf
    rows: tuple[Row, ...] = field(default=(), repr=False)

    @classmethod
    def from_moments(
        cls, moments: Moments, cells: Cells, loss: Costs | Loss | None = None, B: float = np.inf
    ) -> Lagrangian:
        """Bring the error and M mu(h) - c into the same table of cells."""
        g = loss_table(loss, cells)
        return cls(
            error_offset=float(cells.mass @ g[:, 0]),
            error_slope=g[:, 1] - g[:, 0],
            gamma_offset=moments.M @ moments.offset,
            gamma_slope=moments.M @ moments.U,
            c=moments.c,
            B=B,
            rows=moments.rows,
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
        excess = self.gamma(s) - self.c
        return np.maximum(excess.max(axis=-1, initial=0.0), 0.0)

    def value(self, s: Array, lam: Array) -> Array:
        """L(h, lambda), for several multipliers (T, K) and classifiers (P, C) a (T, P) table."""
        return self.error(s) + lam @ (self.gamma(s) - self.c).T

    def costs(self, lam: Array) -> Array:
        """C^1 - C^0 in each cell: the cost of predicting 1 rather than 0 (section 3.2)."""
        return self.error_slope + lam @ self.gamma_slope

    def best_lambda(self, s: Array) -> Array:
        """Best_lambda(Q): all of B on the most violated constraint, or zero if all are met."""
        lam = np.zeros(self.n_constraints)
        excess = self.gamma(s) - self.c
        if self.n_constraints and excess.max() > 0:
            lam[excess.argmax()] = self.B
        return lam

    def upper(self, s: Array) -> float:
        """max over lambda of L(Q, lambda), which is err(Q) + B max over k of (gamma_k - c_k)+."""
        violation = float(self.violation(s))
        return float(self.error(s)) + (self.B * violation if violation > TOLERANCE else 0.0)

    def lower(self, s: Array, lams: Array) -> tuple[float, Array]:
        """Return the best of the dual bounds min over h of L(h, lambda), and its lambda.

        ``s`` (P, C) are all classifiers known and ``lams`` (T, K) the multipliers whose best
        response is among them.
        """
        bounds = self.value(s, lams).min(axis=-1)
        best = int(bounds.argmax())
        return float(bounds[best]), lams[best]

    def feasibility(self) -> Lagrangian:
        """Return the game for the constraints alone: its value is the least violation possible."""
        return replace(self, error_offset=0.0, error_slope=np.zeros_like(self.error_slope), B=1.0)

    def relaxed(self, slack: Array | float) -> Lagrangian:
        """Return the same game with every bound loosened by ``slack``."""
        return replace(self, c=self.c + slack)
