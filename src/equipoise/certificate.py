"""The certificate: what a fit has proven, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equipoise.cells import Array
from equipoise.constraints import Row
from equipoise.lagrangian import TOLERANCE, Lagrangian
from equipoise.saddle_point import Play


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof of how close a randomized classifier Q is to the best one, on the data of the fit.

    Attributes
    ----------
    error : float
        err(Q), in the units of the objective.
    violation : float
        By how much the worst constraint exceeds its bound; zero when all are met.
    lower, upper : float
        Any classifier within the constraints errs at least ``lower``; Q is worth ``upper``, which
        is its error plus B times its violation.
    gap : float
        nu_t of Algorithm 1: how far Q may be from the best.
    nu, B : float
        The gap asked for, and the bound on the multipliers (infinite: hard constraints).
    exact : bool
        Whether the oracle finds true minimisers. Then ``lower`` holds over all of H; otherwise it
        holds *relative to the oracle*: over every classifier the learner was able to find.
    gamma, bound, multipliers : arrays of shape (K,)
        Each constraint's value M mu(Q), its bound c, and its multiplier lambda.
    rows : tuple of Row
        The constraints, in words.
    least_slack : float
        When positive, the constraints cannot be met with this oracle: every bound had to be
        loosened by this much, the least that suffices, and ``bound`` holds the loosened bounds.
    conflict : tuple of Row
        When they cannot be met, constraints that are already contradictory among themselves.
    n_calls : int
        Calls of the learner.
    """

    error: float
    violation: float
    lower: float
    upper: float
    gap: float
    nu: float
    B: float
    exact: bool
    gamma: Array = field(repr=False)
    bound: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)
    least_slack: float = 0.0
    conflict: tuple[Row, ...] = field(default=(), repr=False)
    n_calls: int = 0

    @classmethod
    def from_play(
        cls, play: Play, lagrangian: Lagrangian, s: Array, *, nu: float, exact: bool
    ) -> Certificate:
        """State what a Play has proven; ``s`` (P, C) are the shares of the pool."""
        return cls(
            error=play.error,
            violation=play.violation,
            lower=play.lower,
            upper=play.upper,
            gap=play.gap,
            nu=nu,
            B=lagrangian.B,
            exact=exact,
            gamma=lagrangian.gamma(play.weights @ s),
            bound=lagrangian.c + play.least_slack,
            multipliers=play.lam,
            rows=lagrangian.rows,
            least_slack=play.least_slack,
            conflict=tuple(lagrangian.rows[k] for k in play.conflict),
            n_calls=play.n_calls,
        )

    @property
    def feasible(self) -> bool:
        """Whether the constraints, as they were given, are met."""
        return self.least_slack == 0 and self.violation <= TOLERANCE

    def is_optimal(self, tolerance: float | None = None) -> bool:
        """Whether the gap is proven to be no more than ``tolerance`` (by default ``nu``)."""
        return self.gap <= (self.nu if tolerance is None else tolerance)

    def shadow_prices(self, loosening: float = 0.01) -> list[tuple[str, float]]:
        """Return what loosening each bound by this much would save in error, dearest first.

        To first order: the multiplier times the loosening. Constraints that cost nothing are left
        out.
        """
        order = np.argsort(-self.multipliers, kind="stable")
        return [
            (str(self.rows[k]), float(self.multipliers[k] * loosening))
            for k in order
            if self.multipliers[k] > TOLERANCE
        ]

    def __str__(self) -> str:
        scope = "over the whole class" if self.exact else "relative to the oracle"
        lines = [
            f"error       {self.error:.4f}",
            f"violation   {self.violation:.4f}  (largest excess over a bound)",
            f"lower value {self.lower:.4f}  ({scope})",
            f"upper value {self.upper:.4f}",
            f"gap         {self.gap:.6f}  ({'certified' if self.is_optimal() else 'NOT certified'}"
            f" at nu = {self.nu:.6f}, {self.n_calls} calls of the learner)",
        ]
        if self.least_slack > 0:
            lines.append(
                f"infeasible: every bound was loosened by {self.least_slack:.4f}, the least that "
                "this learner can meet. In conflict: " + "; ".join(map(str, self.conflict))
            )
        for text, price in self.shadow_prices():
            lines.append(f"loosening '{text}' by 0.01 saves about {price:.4f} of error")
        return "\n".join(lines)
