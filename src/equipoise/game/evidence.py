"""The evidence of a certificate: what its numbers follow from, and of whom they speak."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array
from equipoise.constraints.rows import Row
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture


class Status(Enum):
    """Whether the bounds are met, as they were given; the value is a phrase for users."""

    MET = "met"
    IMPOSSIBLE = "not met, and proven impossible"
    NOT_YET = "not met yet"


class Scope(Enum):
    """Whom the lower value is compared with; the value is a phrase for users."""

    WHOLE_CLASS = "over the whole class"
    ORACLE = "relative to the oracle"
    POOL = "over mixtures of the classifiers known"


class SeenGroups(NamedTuple):
    """What decisions that see the groups would err within the bounds.

    Attributes
    ----------
    names : tuple of str
        The sensitive and control features.
    error : float
        Of thresholds by group on the scores of the unconstrained model, an estimate.
    """

    names: tuple[str, ...]
    error: float


class Price(NamedTuple):
    """A constraint, and the most error that loosening it could save."""

    row: Row
    saves_at_most: float

    def shown(self) -> dict[str, Any]:
        """Return the price as its table shows it."""
        return {"loosened": self.row.sentence(), "saves_at_most": self.saves_at_most}


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a certificate follows from: a few numbers for each cell, and no rows.

    Attributes
    ----------
    lagrangian : Lagrangian
        The game, with its bounds as loosened.
    shares : array of shape (P, C)
        The selected shares of all classifiers in the pool.
    mixture : Mixture
        Q.
    queries, slack_queries : arrays of shape (T, K)
        The multipliers whose best responses are in the pool: those that prove the lower value,
        and those that prove how much the bounds must be loosened.
    """

    lagrangian: Lagrangian
    shares: Array
    mixture: Mixture
    queries: Array
    slack_queries: Array

    def lower(self) -> float:
        """Return the best dual bound that the queries prove."""
        if not len(self.queries):
            return -np.inf
        return self.lagrangian.lower(self.shares, self.queries)[0]

    def upper(self) -> float:
        """Return the value of Q."""
        return self.lagrangian.upper(self.mean_shares())

    def numbers(self) -> dict[str, float]:
        """Return the numbers of a certificate that follow from this, by name."""
        error, _, violation, upper = self.lagrangian.worth(self.mean_shares())
        return {
            "error": error,
            "violation": violation,
            "lower": self.lower(),
            "upper": upper,
            "free_error": float(self.lagrangian.error(self.shares).min()),
        }

    def mean_shares(self) -> Array:
        """Return s(Q)."""
        return self.mixture.shares(self.shares)

    def gaps(self) -> tuple[float, float]:
        """Return upper less lower value, and nu_t of Algorithm 1 at the multipliers of Q.

        Where these were not queried themselves, nu_t counts only as far as it is the larger.
        """
        lam, upper = self.mixture.multipliers, self.upper()
        values = self.lagrangian.value(np.vstack([self.mean_shares(), self.shares]), lam)
        gap, nu_t = max(upper - self.lower(), 0.0), max(values[0] - values.min(), upper - values[0])
        was_queried = any(np.array_equal(lam, query) for query in self.queries)
        return gap, float(nu_t if was_queried else max(gap, nu_t))
