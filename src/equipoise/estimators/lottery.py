"""The lottery of a fit: the least random of mixtures that are as good, and the share it draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from equipoise.cells.table import Array
from equipoise.estimators.base import Problem
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.least_random import (
    OF_GAP,
    Lottery,
    least_random,
    lottery,
    members_that_matter,
)
from equipoise.game.rounds import Round


def with_least_random(problem: Problem, found: Round) -> Round:
    """Return the last round of a solver with the least random mixture within ``nu`` of the best.

    The share decided by lot is that of the classifiers that are deployed, on the rows of the fit.
    """
    pool, game = problem.pool, problem.lagrangian.relaxed(found.loosening)
    free = unconstrained(problem)
    if len(found.mixture.indices) == 1:
        return replace(found, by_lot=Lottery(0.0, True))
    numbers = _considered(game, pool.s, found, problem.nu, free)
    with config_context(assume_finite=True):  # they have seen these rows before
        among = problem.engine.disagreement([pool.classifiers[h] for h in numbers])
    V = problem.cells.n_decisions
    chosen = _chosen(game, pool.s, numbers, among, found, problem.nu, free, V)
    return chosen if chosen.by_lot and chosen.by_lot.exact else measured(problem, chosen)


def least_random_of_pool(
    game: Lagrangian,
    s: Array,
    disagreement: Array,
    found: Round,
    *,
    nu: float,
    free: int,
    n_decisions: int,
) -> Round:
    """Return a round with the least random mixture within ``nu`` of the best, without any rows.

    Parameters
    ----------
    game : Lagrangian
        As it was stated.
    s, disagreement : array of shape (P, C) and (P, P)
        Of the whole pool.
    free : int
        The number of the unconstrained classifier.
    n_decisions : int
    """
    game = game.relaxed(found.loosening)
    numbers = _considered(game, s, found, nu, free)
    among = disagreement[np.ix_(numbers, numbers)]
    return _chosen(game, s, numbers, among, found, nu, free, n_decisions)


def _considered(game: Lagrangian, s: Array, found: Round, nu: float, free: int) -> NDArray[np.intp]:
    gap = max(nu, found.gap)
    return members_that_matter(game, s, found.mixture, found.multipliers, gap=gap, free=free)


def _chosen(
    game: Lagrangian,
    s: Array,
    numbers: NDArray[np.intp],
    among: Array,
    found: Round,
    nu: float,
    free: int,
    n_decisions: int,
) -> Round:
    """Return the round with the least random mixture of some classifiers, its own first."""
    own = replace(found.mixture, indices=np.arange(len(found.mixture.indices)))
    chosen = least_random(
        game,
        s[numbers],
        among,
        own,
        room=OF_GAP * nu - found.gap,
        free=int(np.flatnonzero(numbers == free)[0]),
    )
    mixture = replace(chosen, indices=numbers[chosen.indices])
    return found.mixing(game, s, mixture, by_lot=lottery(among, chosen.indices, n_decisions))


def measured(problem: Problem, found: Round) -> Round:
    """Return a round with the share decided by lot as counted row by row."""
    members = found.mixture.members(problem.pool.classifiers)
    share = 0.0
    if len(members) > 1:
        with config_context(assume_finite=True):
            (share,) = problem.engine.divided(members, [np.arange(len(members))]).tolist()
    return replace(found, by_lot=Lottery(share, True))


def unconstrained(problem: Problem) -> int:
    """Return the number of the answer to the error alone; the least error known if never asked."""
    costs = problem.lagrangian.costs(np.zeros(problem.lagrangian.n_constraints))
    if problem.pool.knows(costs):
        return problem.pool.ask(problem.oracle, costs)[0]
    return int(problem.lagrangian.error(problem.pool.s).argmin())
