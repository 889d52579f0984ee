"""Conflicts: why constraints cannot be met, which of them, and by how much they miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from equipoise.cells.table import Array, CellTable
from equipoise.game.feasibility import least_slack, settle, uniform
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.pool import Oracle, Pool, Response

#: A learner that is not exact is asked no more often than this about one part of a conflict.
_MOST_FITS = 20


@dataclass(frozen=True, eq=False)
class Conflict:
    """Why a set of constraints cannot be met.

    Attributes
    ----------
    rows : tuple of int
        Constraints that cannot be met together, although any proper part of them can be.
    least_slack : float
        The least amount by which all bounds must be loosened, by the same amount each.
    total_slack : float
        The least sum of loosenings, when each bound may be loosened by its own amount.
    slacks : array of shape (K,)
        One such choice of loosenings.
    possible : bool
        True: decisions that meet them exist, but this learner does not find them. False: no
        decisions whatsoever meet them, not even with every label known.
    """

    rows: tuple[int, ...]
    least_slack: float
    total_slack: float
    slacks: Array = field(repr=False)
    possible: bool


class AnyRule:
    """An oracle over all rules whatsoever, those that know every label included."""

    exact = True

    def __init__(self, cells: CellTable) -> None:
        self.cells = cells

    def best_response(self, costs: Array) -> Response:
        """Select exactly those whose selection has a negative cost."""
        return Response(None, self.cells.least_cost_shares(costs))


def explain(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, cells: CellTable, *, nu: float
) -> Conflict:
    """Explain why constraints that were found infeasible are so."""
    K = lagrangian.n_constraints
    whole = settle(least_slack(lagrangian, oracle, pool, uniform(K), nu=nu / 10))
    rows = irreducible(lagrangian, oracle, pool, np.flatnonzero(whole.lam > TOLERANCE).tolist())
    total = settle(least_slack(lagrangian, oracle, pool, np.eye(K), nu=nu / 10))
    return Conflict(
        rows=rows,
        least_slack=whole.upper,
        total_slack=total.upper,
        slacks=total.loosening,
        possible=can_be_met(lagrangian, AnyRule(cells), Pool()),
    )


def irreducible(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, rows: Sequence[int]
) -> tuple[int, ...]:
    """Return a part of contradictory rows that is contradictory while no part of it is.

    Leaves out one row after the other for good whenever the rest is contradictory still.
    """
    kept = list(rows)
    for row in rows:
        rest = [k for k in kept if k != row]
        if rest and not can_be_met(lagrangian.only(rest), oracle, pool):
            kept = rest
    return tuple(kept)


def can_be_met(lagrangian: Lagrangian, oracle: Oracle, pool: Pool) -> bool:
    """Whether some mixture meets all constraints, as far as this oracle can tell."""
    game = least_slack(lagrangian, oracle, pool, uniform(lagrangian.n_constraints), nu=0.0)
    for slack in game if oracle.exact else islice(game, _MOST_FITS):
        if slack.lower > TOLERANCE:
            return False
        if slack.upper <= TOLERANCE:
            return True
    return slack.upper <= TOLERANCE


def least_violation(lagrangian: Lagrangian, cells: CellTable, *, nu: float = 1e-6) -> float:
    """Return the least uniform slack that any decisions need, those that know every label included.

    >>> from equipoise import Lagrangian, SelectionRate
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> wish = SelectionRate(at_least=0.5) & SelectionRate(at_most=0.3)
    >>> round(least_violation(Lagrangian.from_moments(wish.moments(cells), cells), cells), 6)
    0.1
    """
    directions = uniform(lagrangian.n_constraints)
    return settle(least_slack(lagrangian, AnyRule(cells), Pool(), directions, nu=nu)).lower
