"""Slack: how little the bounds must be loosened, and bounds that have to be found first.

The least slack is a linear program of its own over the classifiers: minimise the sum of z >= 0
with ``gamma(Q) <= c + E z``. One column of ones in E is the least *uniform* slack, the identity
the least *total* slack, and the indicator of some rows makes their common bound least (minimax).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from equipoise.cells.table import Array
from equipoise.game.column_generation import column_generation
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.pool import Oracle, Play, Pool

#: The most rounds that a game for slack alone is played.
_MAX_ROUNDS = 500


class Slack(NamedTuple):
    """Where a game for slack stands: the mixture, the loosening of each row, and its proof.

    ``upper`` is the slack of this mixture, and no classifier can do with less than ``lower``.
    """

    weights: Array
    loosening: Array
    lam: Array
    lower: float
    upper: float


def uniform(n_constraints: int) -> Array:
    """Return the direction that loosens every row by the same amount."""
    return np.ones((n_constraints, 1))


def least_slack(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, directions: Array, *, nu: float
) -> Iterator[Slack]:
    """Grow the pool until its least slack is within ``nu`` of the least possible.

    Parameters
    ----------
    directions : array of shape (K, m)
        E: by how much a unit of each of m slacks loosens each row.
    """
    lams: list[Array] = []
    size = 0
    if not len(pool):
        pool.ask(oracle, np.zeros_like(lagrangian.error_slope))
    for _ in range(_MAX_ROUNDS):
        weights, slack, lam = _slack_lp(lagrangian.gamma(pool.s) - lagrangian.c, directions)
        lower, centre = 0.0, lam
        if lams:
            bounds = (np.array(lams) @ (lagrangian.gamma(pool.s) - lagrangian.c).T).min(axis=1)
            lower, centre = max(float(bounds.max()), 0.0), lams[int(bounds.argmax())]
        upper = float(slack.sum())
        yield Slack(weights, directions @ slack, lam, lower, upper)
        if upper <= TOLERANCE or upper - lower <= nu:
            return
        # Half-way between the best multipliers and the LP's; all the way when that found nothing.
        step = 0.5 if len(pool) > size else 1.0
        size = len(pool)
        lams.append(centre + step * (lam - centre))
        pool.ask(oracle, lams[-1] @ lagrangian.gamma_slope)


def _slack_lp(excess: Array, directions: Array) -> tuple[Array, Array, Array]:
    """Return weights, slacks and multipliers of the LP over classifiers with this excess (P, K)."""
    n, m = len(excess), directions.shape[1]
    solution = linprog(
        np.append(np.zeros(n), np.ones(m)),
        A_ub=np.column_stack([excess.T, -directions]),
        b_ub=np.zeros(len(directions)),
        A_eq=np.append(np.ones(n), np.zeros(m))[None, :],
        b_eq=[1.0],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.x is None:
        raise RuntimeError(f"the linear program for the least slack failed: {solution.message}")
    weights = np.where(solution.x[:n] > 1e-12, solution.x[:n], 0.0)
    lam = np.maximum(-solution.ineqlin.marginals, 0.0)
    return weights / weights.sum(), np.maximum(solution.x[n:], 0.0), lam


def play_hard(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, *, nu: float, relax: str = "uniform"
) -> Iterator[Play]:
    """Column generation, after the bounds that must be found first, and with the slack asked for.

    Elastic rows are given the least common bound that can be met; then the error is minimised. If
    the constraints cannot be met, they are loosened by the least uniform slack (``relax=
    "uniform"``, what column generation does) or by the least total slack ("total").
    """
    if relax not in ("uniform", "total"):
        raise ValueError(f"relax is {relax!r}; expected 'uniform' or 'total'.")
    start = 0
    told: dict[str, Any] = {}
    game = lagrangian
    if lagrangian.elastic is not None:
        game, told = yield from _lowest_level(lagrangian, oracle, pool, nu=nu)
        start = told.pop("iteration")
    last = None
    for play in column_generation(game, oracle, pool, nu=nu):
        loosening = game.c + play.least_slack - lagrangian.c
        last = replace(play, iteration=start + play.iteration, loosening=loosening, **told)
        yield last
    if last is not None and play.least_slack > 0 and relax == "total":
        yield from _total(game, oracle, pool, last, nu=nu)


def _total(
    game: Lagrangian, oracle: Oracle, pool: Pool, last: Play, *, nu: float
) -> Iterator[Play]:
    """Go on with the least total slack in place of the least uniform one."""
    slack = settle(least_slack(game, oracle, pool, np.eye(game.n_constraints), nu=nu / 10))
    found = last.loosening - last.least_slack + slack.loosening
    for play in column_generation(game.relaxed(slack.loosening), oracle, pool, nu=nu):
        yield replace(
            play,
            iteration=last.iteration + play.iteration,
            loosening=found,
            least_slack=last.least_slack,
            conflict=last.conflict,
            level=last.level,
        )


def _lowest_level(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, *, nu: float
) -> Generator[Play, None, tuple[Lagrangian, dict[str, Any]]]:
    """Find the least common bound of the elastic rows, the others being met (if they can be)."""
    elastic = np.asarray(lagrangian.elastic)
    pool.ask(oracle, lagrangian.error_slope)
    rigid = lagrangian.only(np.flatnonzero(~elastic))
    first = np.zeros(lagrangian.n_constraints)
    if rigid.n_constraints:
        slack = settle(least_slack(rigid, oracle, pool, uniform(len(rigid.c)), nu=nu / 10))
        first[~elastic] = slack.upper + TOLERANCE / 10
    game = replace(lagrangian.relaxed(first), elastic=None)
    direction = elastic.astype(float)[:, None]
    for iteration, slack in enumerate(least_slack(game, oracle, pool, direction, nu=nu / 2), 1):
        yield Play(
            iteration=iteration,
            n_calls=pool.n_calls,
            weights=slack.weights,
            lam=slack.lam,
            error=float(lagrangian.error(slack.weights @ pool.s)),
            violation=slack.upper,
            lower=slack.lower,
            upper=slack.upper,
            gap=slack.upper - slack.lower,
            stage="minimax",
            loosening=first + slack.loosening,
        )
    told: dict[str, Any] = {"iteration": iteration, "level": (slack.lower, slack.upper)}
    if first.max() > TOLERANCE:
        told |= {
            "least_slack": float(first.max()),
            "conflict": tuple(np.flatnonzero(first).tolist()),
        }
    return game.relaxed(slack.loosening), told


def settle(game: Iterator[Slack]) -> Slack:
    """Play a game for slack to its end."""
    *_, last = game
    return last
