"""The path of a proof: candidates from the strictest to the loosest, chosen before the proof.

Every bound is tightened by tau standard errors of its own, so that small groups get more room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import numpy as np

from equipoise.cells.table import Array
from equipoise.game.column_generation import Queries, many_bounds, over_pool
from equipoise.game.feasibility import slack_rounds
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture, least_slack_mixture
from equipoise.game.rounds import Limits, Oracle, Pool, Reason, run
from equipoise.guarantees.tested_rows import TestedRows

#: Candidates, in standard errors by which bounds are tightened; the strictest comes before them.
_TAUS = np.concatenate(
    [
        [40, 20, 12, 8, 6, 5, 4.5, 4, 3.7, 3.4, 3.2],
        np.arange(3.0, 0.95, -0.1),
        np.arange(0.8, -2.1, -0.4),
    ]
)
#: Candidates that the learner is trained for; the others are mixtures of what was found.
_TRAINED = (3.0, 2.0, 1.0, 0.0, -1.2)
#: Nothing stricter than this is looked for.
_STRICTEST = 50.0
#: Rounds in which a learner is asked for something stricter.
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Path:
    """Candidates of a proof, strictest first.

    Attributes
    ----------
    game : Lagrangian
        With the bounds that are to be proven, over the people learned from.
    errors : array of shape (K,)
        Standard error of each row among so many people as the proof has.
    free : int
        Number of the answer to the error alone in the pool.
    mixtures : list of Mixture
        Over the pool.
    n_rounds : int
        Rounds of training.
    reason : Reason
        Why there were no more.
    """

    game: Lagrangian
    errors: Array
    free: int
    mixtures: list[Mixture]
    n_rounds: int = 0
    reason: Reason = Reason.FINISHED

    @classmethod
    def over(
        cls, game: Lagrangian, pool: Pool, free: int, rows: TestedRows, scale: float, nu: float
    ) -> Self:
        """Return the path over the classifiers of a pool, training nothing.

        Parameters
        ----------
        game : Lagrangian
            With the bounds that are to be proven.
        free : int
            Number of the answer to the error alone.
        rows : TestedRows
            Over the people learned from.
        scale : float
            The standard error of a row among the people of the proof, as a multiple of that among
            those learned from.
        """
        (first,) = over_pool([game], pool, None, unconstrained=free, nu=nu)
        errors = scale * rows.standard_errors(first.mixture.shares(pool.s))
        return cls(game, errors, free, []).again(pool, nu)

    def strictest(self, pool: Pool) -> float:
        """Return the most standard errors by which some mixture of the pool meets all bounds."""
        return strictest(self.game, pool.s, self.errors) - 1e-6

    def again(self, pool: Pool, nu: float, most: float = np.inf) -> Self:
        """Return the path over a pool that has grown, no stricter than ``most``."""
        most = min(most, self.strictest(pool))
        games = [self.game.relaxed(-tau * self.errors) for tau in path_taus(most)]
        rounds = over_pool(games, pool, None, unconstrained=self.free, nu=nu)
        return replace(self, mixtures=[found.mixture for found in rounds])

    @classmethod
    def train(
        cls,
        game: Lagrangian,
        oracle: Oracle,
        pool: Pool,
        rows: TestedRows,
        scale: float,
        *,
        nu: float,
        limits: Limits,
        queries: Queries,
    ) -> Self:
        """Return the path for which the learner is trained; see `over`."""
        (free,) = pool.ask(oracle, game.costs(np.zeros(game.n_constraints)))
        first = run(many_bounds([game], oracle, pool, nu=nu, queries=queries), limits, nu)
        errors = scale * rows.standard_errors(first.last[0].mixture.shares(pool.s))
        search_strictest(game, oracle, pool, errors)
        most = strictest(game, pool.s, errors)
        games = [game.relaxed(-tau * errors) for tau in (most - 1e-3, *_TRAINED) if tau < most]
        last = run(many_bounds(games, oracle, pool, nu=nu, queries=queries), limits, nu)
        found = cls(game, errors, free, [], first.n_rounds + last.n_rounds, last.reason)
        return found.again(pool, nu)


def strictest(game: Lagrangian, s: Array, errors: Array) -> float:
    """Return the most standard errors by which some mixture of ``s`` (P, C) meets all bounds."""
    excess = game.gamma(s) - game.c + _STRICTEST * errors
    return _STRICTEST - least_slack_mixture(excess, errors[:, None]).slack


def search_strictest(game: Lagrangian, oracle: Oracle, pool: Pool, errors: Array) -> None:
    """Ask the learner for classifiers that meet the bounds by as many errors as can be."""
    tight = game.relaxed(-_STRICTEST * errors)
    for _ in islice(slack_rounds(tight, oracle, pool, errors[:, None], nu=0.1), _ROUNDS):
        pass


def path_taus(most: float) -> list[float]:
    """Return by how many standard errors the bounds of each candidate are tightened, falling.

    >>> [round(tau, 1) for tau in path_taus(1.05)]
    [1.1, 1.0, 0.8, 0.4, 0.0, -0.4, -0.8, -1.2, -1.6, -2.0]
    """
    return [most, *(float(tau) for tau in _TAUS if tau < most)]
