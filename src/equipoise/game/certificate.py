"""The certificate: what a fit has proven, in numbers and in words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from equipoise.cells.table import Array
from equipoise.constraints.groups import called
from equipoise.constraints.moments import Row
from equipoise.game.conflicts import Conflict
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.pool import Play

#: A classifier whose selection rates differ by no more than this between cells is called constant.
_NEARLY = 0.01


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
        When positive, the constraints cannot be met with this oracle: every bound would have to
        be loosened by this much, the least that suffices; ``bound`` holds the loosened bounds.
    total_slack : float
        The least sum of loosenings, when each bound may be loosened by its own amount; ``slacks``
        is one such choice, of shape (K,).
    conflict : tuple of Row
        When they cannot be met, constraints that contradict each other while no part of them does.
    possible : bool
        When they cannot be met: whether any decisions at all could, those that know every label
        included. If so, it is the learner that does not find them.
    level : pair of float, or None
        With `MinimaxGroupError`: the largest group error, and a lower value for it, lower first.
    constant : float or None
        The share selected, when it is (nearly) the same for everybody, whatever group and label.
    free_error : float
        The least error found without regard to the constraints: what they cost is ``error`` minus
        this.
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
    total_slack: float = 0.0
    slacks: Array | float = field(default=0.0, repr=False)
    conflict: tuple[Row, ...] = field(default=(), repr=False)
    possible: bool = True
    level: tuple[float, float] | None = None
    constant: float | None = None
    free_error: float = 0.0
    n_calls: int = 0

    @classmethod
    def from_play(
        cls,
        play: Play,
        lagrangian: Lagrangian,
        s: Array,
        *,
        nu: float,
        exact: bool,
        conflict: Conflict | None = None,
        mass: Array | None = None,
    ) -> Certificate:
        """State what a Play has proven.

        Parameters
        ----------
        s : array of shape (P, C)
            The shares of the pool.
        conflict : Conflict, optional
            Why the constraints cannot be met, if they cannot.
        mass : array of shape (C,), optional
            Share of each cell; tells whether the classifier is constant.
        """
        mean = play.weights @ s[: len(play.weights)]
        rows = play.conflict if conflict is None else conflict.rows
        return cls(
            error=play.error,
            violation=play.violation,
            lower=play.lower,
            upper=play.upper,
            gap=play.gap,
            nu=nu,
            B=lagrangian.B,
            exact=exact,
            gamma=lagrangian.gamma(mean),
            bound=lagrangian.c + (play.loosening if np.any(play.loosening) else play.least_slack),
            multipliers=play.lam,
            rows=lagrangian.rows,
            least_slack=play.least_slack,
            total_slack=0.0 if conflict is None else conflict.total_slack,
            slacks=0.0 if conflict is None else conflict.slacks,
            conflict=tuple(lagrangian.rows[k] for k in rows),
            possible=conflict is None or conflict.possible,
            level=play.level,
            constant=None if mass is None else _constant_rate(mean, mass),
            free_error=float(lagrangian.error(s).min()),
            n_calls=play.n_calls,
        )

    @property
    def feasible(self) -> bool:
        """Whether the constraints, as they were given, are met."""
        return self.least_slack == 0 and self.violation <= TOLERANCE

    @property
    def binding(self) -> tuple[Row, ...]:
        """The constraints that are used up to their bounds."""
        at_bound = self.gamma >= self.bound - 1e-7
        return tuple(row for row, tight in zip(self.rows, at_bound, strict=True) if tight)

    @property
    def limiting_group(self) -> Hashable:
        """The group whose constraints cost most, None when none costs anything."""
        prices: dict[Hashable, float] = {}
        for row, price in zip(self.rows, self.multipliers, strict=True):
            for group in (row.group, row.against):
                if group not in (None, "overall", "everybody"):
                    prices[group] = prices.get(group, 0.0) + float(price)
        best = max(prices, key=prices.__getitem__, default=None)
        return best if best is not None and prices[best] > TOLERANCE else None

    def is_optimal(self, tolerance: float | None = None) -> bool:
        """Whether the gap is proven to be no more than ``tolerance`` (by default ``nu``)."""
        return self.gap <= (self.nu if tolerance is None else tolerance)

    def shadow_prices(self, loosening: float = 0.01) -> list[tuple[str, float]]:
        """Return what loosening each bound by this much would save in error, dearest first.

        It is the multiplier times the loosening, but no more than dropping all constraints would
        save: exact for small loosenings, and never too little, because the next bit of loosening
        saves no more than the one before. Constraints that cost nothing are left out.
        """
        order = np.argsort(-self.multipliers, kind="stable")
        most = max(self.error - self.free_error, 0.0)
        return [
            (str(self.rows[k]), min(float(self.multipliers[k] * loosening), most))
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
        if self.level is not None:
            lines.append(
                f"worst group {self.level[1]:.4f}  (as low as it can be: at least "
                f"{self.level[0]:.4f}, {scope})"
            )
        lines += [text for text in (self._in_conflict(), self._is_trivial()) if text]
        return "\n".join(lines + self._prices())

    def _in_conflict(self) -> str:
        if not self.least_slack > 0:
            return ""
        reason = (
            "Other decisions could meet them, so a more flexible learner may."
            if self.possible
            else "No decisions whatsoever can meet them, not even with every label known."
        )
        return (
            f"infeasible: the bounds were loosened. Every bound by {self.least_slack:.4f} is the "
            f"least that this learner can meet, or {self.total_slack:.4f} in all, spread over the "
            f"bounds that need it. In conflict: {'; '.join(map(str, self.conflict))}. {reason}"
        )

    def _is_trivial(self) -> str:
        if self.constant is None or not (self.multipliers > TOLERANCE).any():
            return ""
        return (
            "trivial: the constraints leave only a constant classifier. It selects everybody with "
            f"the same probability, {self.constant:.3f}, whatever their group and label."
        )

    def _prices(self) -> list[str]:
        prices = self.shadow_prices()
        if not prices:
            return []
        group = self.limiting_group
        limits = "" if group is None else f"; {called(group)} limits the result"
        lines = [
            f"price       {self.error - self.free_error:.4f}  (error {self.free_error:.4f} without "
            "the constraints)",
            f"binding     {len(self.binding)} of {len(self.rows)} constraints{limits}",
        ]
        bounds = {str(row): bound for row, bound in zip(self.rows, self.bound, strict=True)}
        for text, price in prices:
            start = f", from {bounds[text]:.4g}," if bounds[text] >= 0 else ""  # a floor is < 0
            lines.append(
                f'loosening "{text}" by 0.01{start} saves about {price:.4f} of error, at most'
            )
        return lines


def _constant_rate(s: Array, mass: Array) -> float | None:
    rates = s[: len(mass)][mass > 0] / mass[mass > 0]
    return float(s[: len(mass)].sum()) if np.ptp(rates) <= _NEARLY else None
