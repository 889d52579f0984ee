"""The Lagrangian L(Q, lambda) = err(Q) + lambda . (M mu(Q) - c) on cells (section 3.2).

Pure functions of ``s``, the selected shares of a classifier: shape (C,) for one classifier,
(P, C) for several, where each has C (V - 1) entries if there are V decisions. A randomized Q
enters as the mean of its members' shares, because everything here is affine in ``s`` (appendix A).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.moments import Moments
from equipoise.constraints.rows import Row, Rows
from equipoise.constraints.slopes import Slopes, slopes_of
from equipoise.game.objectives import Loss, Objective, loss_table

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
        scale = float(np.abs(error_slope) @ np.where(error_slope, most - least, 0.0))
        scale = float(f"{scale:.9g}")  # rounding aside, one of the error
        scale = scale if 0 < scale < np.inf else 1.0
        return cls(
            error_offset=error_offset,
            error_slope=error_slope,
            gamma_offset=moments.M @ moments.offset,
            gamma_slope=slopes_of(moments.M, moments.U),
            c=moments.c,
            B=B,
            rows=moments.rows,
            elastic=moments.elastic,
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
