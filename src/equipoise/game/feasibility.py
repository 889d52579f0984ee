"""Feasibility: whether bounds can be met, the least slack if not, and bounds to be found first.

The least slack is a game of its own over the classifiers: minimise the sum of z >= 0 with
``gamma(Q) <= c + E z``. One column of ones in E is the least *uniform* slack, the identity the
least *total* slack, and the indicator of some rows makes their common bound least (minimax).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.mixture import Mixture, least_slack_mixture
from equipoise.game.rounds import Oracle, Pool, Response, Round

#: The most rounds of a game for slack alone.
_MAX_ROUNDS = 500
#: A learner that is not exact is asked no more often than this about one part of a conflict.
_MOST_FITS = 20


class Slack(NamedTuple):
    """State of a game for slack: the mixture, the loosening of each row, and its proof.

    ``upper`` is the slack of this mixture, and no classifier can do with less than ``lower``.
    """

    mixture: Mixture
    loosening: Array
    lower: float
    upper: float


def uniform(n_constraints: int) -> Array:
    """Return the direction that loosens every row by the same amount."""
    return np.ones((n_constraints, 1))


def slack_rounds(
    lagrangian: Lagrangian,
    oracle: Oracle,
    pool: Pool,
    directions: Array,
    *,
    nu: float,
    asked: list[Array] | None = None,
) -> Iterator[Slack]:
    """Grow the pool until its least slack is within ``nu`` of the least possible.

    Parameters
    ----------
    directions : array of shape (K, m)
        E: by how much a unit of each of m slacks loosens each row.
    asked : list of arrays of shape (K,), optional
        Multipliers that were asked before; those asked now are added.
    """
    queries: list[Array] = [] if asked is None else asked
    size, constraints_alone = 0, lagrangian.feasibility()
    if not len(pool):
        pool.ask(oracle, np.zeros_like(lagrangian.error_slope))
    for _ in range(_MAX_ROUNDS):
        excess = lagrangian.gamma(pool.s) - lagrangian.c
        mixture = least_slack_mixture(excess, directions)
        lower, centre = 0.0, mixture.multipliers
        if queries:
            bounds = (np.array(queries) @ excess.T).min(axis=1)
            lower, centre = max(float(bounds.max()), 0.0), queries[int(bounds.argmax())]
        yield Slack(mixture, directions @ mixture.slacks, lower, mixture.slack)
        if mixture.slack <= TOLERANCE or mixture.slack - lower <= nu:
            return
        # Half-way between the best multipliers and the LP's; all the way when that found nothing.
        step = 0.5 if len(pool) > size else 1.0
        size = len(pool)
        queries.append(centre + step * (mixture.multipliers - centre))
        pool.ask(oracle, constraints_alone.costs(queries[-1]))


def least_slack(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, directions: Array, *, nu: float
) -> Slack:
    """Return the last state of `slack_rounds`."""
    *_, last = slack_rounds(lagrangian, oracle, pool, directions, nu=nu)
    return last


def least_worst_rate(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, *, nu: float, asked: list[Array]
) -> Generator[Round, None, tuple[Lagrangian, dict[str, Any]]]:
    """Find the least common bound of the elastic rows, the others being met if possible.

    Returns the game with that bound, and the fields that it adds to every later Round. The
    multipliers asked are added to ``asked``.
    """
    elastic = np.asarray(lagrangian.elastic)
    pool.ask(oracle, lagrangian.error_slope)
    rigid = lagrangian.only(np.flatnonzero(~elastic))
    first, proven = np.zeros(lagrangian.n_constraints), 0.0
    if rigid.n_constraints:
        slack = least_slack(rigid, oracle, pool, uniform(len(rigid.c)), nu=nu / 10)
        first[~elastic], proven = slack.upper + TOLERANCE / 10, slack.lower
    game = replace(lagrangian.relaxed(first), elastic=None)
    direction = elastic.astype(float)[:, None]
    rounds = slack_rounds(game, oracle, pool, direction, nu=nu / 2, asked=asked)
    for iteration, slack in enumerate(rounds, 1):
        loosened = lagrangian.relaxed(first + slack.loosening)
        yield Round.of_mixture(
            loosened,
            pool,
            slack.mixture,
            iteration,
            stage="minimax",
            loosening=first + slack.loosening,
            worst_rate=(slack.lower, slack.upper),
        )
    extra: dict[str, Any] = {"iteration": iteration, "worst_rate": (slack.lower, slack.upper)}
    if first.max() > TOLERANCE:
        extra["least_slack"], extra["proven_slack"] = float(first.max()), proven
        extra["conflict"] = tuple(np.flatnonzero(first).tolist())
    return game.relaxed(slack.loosening), extra


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


class UnrestrictedOracle(Oracle):
    """An oracle over all possible decisions, even those that know every label."""

    exact, out_of_fold = True, False

    def __init__(self, cells: CellTable) -> None:
        self.cells = cells

    def best_response(self, costs: Array) -> Response:
        """Select exactly those whose selection has a negative cost."""
        return Response(None, self.cells.least_cost_shares(costs))


def explain(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, cells: CellTable, *, nu: float
) -> Conflict:
    """Return why constraints that were found infeasible are so."""
    K = lagrangian.n_constraints
    whole = least_slack(lagrangian, oracle, pool, uniform(K), nu=nu / 10)
    suspects = np.flatnonzero(whole.mixture.multipliers > TOLERANCE).tolist()
    rows = irreducible(lagrangian, oracle, pool, suspects)
    total = least_slack(lagrangian, oracle, pool, np.eye(K), nu=nu / 10)
    return Conflict(
        rows=rows,
        least_slack=whole.upper,
        total_slack=total.upper,
        slacks=total.loosening,
        possible=can_be_met(lagrangian, UnrestrictedOracle(cells), Pool()),
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
    game = slack_rounds(lagrangian, oracle, pool, uniform(lagrangian.n_constraints), nu=0.0)
    for slack in game if oracle.exact else islice(game, _MOST_FITS):
        if slack.lower > TOLERANCE:
            return False
        if slack.upper <= TOLERANCE:
            return True
    return slack.upper <= TOLERANCE
