"""The path of a proof: candidates from the strictest to the loosest, chosen before the proof.

Every bound is tightened by tau standard errors of its own, so that small groups get more room. A
classifier that decides the same about everybody has no standard error where rows compare decisions
alone: its rates are known without any people. So mixed in, it shortens the distance that the others
must keep, and with too few people for these alone it is what a proof costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self

import numpy as np

from equipoise.cells.table import Array
from equipoise.game.column_generation import many_bounds, over_pool
from equipoise.game.feasibility import slack_rounds
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import (
    Mixture,
    Program,
    cheapest_mixtures,
    least_slack_mixture,
    solve,
)
from equipoise.game.rounds import Limits, Oracle, Pool, Reason, run
from equipoise.guarantees.tested_rows import TestedRows

#: Candidates, in standard errors by which bounds are tightened; the strictest comes before them.
_TAUS = np.concatenate(
    [
        [40, 20, 12, 8, 7, 6, 5.5, 5, 4.7, 4.4, 4.2, 4, 3.8, 3.6, 3.4, 3.2],
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
#: The largest share of decisions that may be made regardless of who it is, for the sake of a proof.
MOST_CONSTANT = 0.75


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
    constants : dict
        Classifiers that decide the same about everybody and all of whose rows are known for sure
        (see `TestedRows.sure`): their decisions, by their numbers in the pool.
    mixtures : list of Mixture
        Over the pool. No more than three quarters of their decisions are constant, if possible.
    taus : list of float
        By how many standard errors they are below the bounds.
    n_rounds : int
        Rounds of training.
    reason : Reason
        Why there were no more.
    """

    game: Lagrangian
    errors: Array
    free: int
    constants: Mapping[int, int]
    mixtures: list[Mixture] = field(default_factory=list)
    taus: list[float] = field(default_factory=list)
    n_rounds: int = 0
    reason: Reason = Reason.FINISHED

    @classmethod
    def over(
        cls,
        game: Lagrangian,
        pool: Pool,
        free: int,
        rows: TestedRows,
        scale: float,
        *,
        nu: float,
        constants: Mapping[int, int],
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
        return cls(game, errors, free, constants).again(pool, nu)

    def plain_strictest(self, pool: Pool) -> Array:
        """Return the shares (C,) of the strictest mixture, with no credit for constants."""
        tight = self.game.relaxed(-(strictest(self.game, pool.s, self.errors) - 1e-6) * self.errors)
        (found,) = over_pool([tight], pool, None, unconstrained=self.free, nu=0.0)
        return found.mixture.shares(pool.s)

    def again(self, pool: Pool, nu: float) -> Self:
        """Return the path over a pool that has grown."""
        error = self.game.error(pool.s)
        taus = path_taus(self._most(pool))
        excesses = [self._excess(pool, tau) for tau in taus]
        mixtures = solve(
            [Program(error, excess, np.zeros_like(excess[0]), np.inf) for excess in excesses]
        )
        for t, (mixture, excess) in enumerate(zip(mixtures, excesses, strict=True)):
            dearer = float(error[self.free] - mixture.weights @ error[mixture.indices])
            if dearer <= nu and excess[self.free].max(initial=0.0) <= 0:
                # There is nothing to be gained by mixing others in.
                mixtures[t] = Mixture.of_weights(np.eye(len(pool))[self.free], mixture.multipliers)
        few = [t for t, m in enumerate(mixtures) if self.regardless(m) <= MOST_CONSTANT]
        few = few or [len(mixtures) - 1]
        return replace(self, mixtures=[mixtures[t] for t in few], taus=[taus[t] for t in few])

    def reach(self, mixture: Mixture) -> tuple[float, float]:
        """Return the least and the largest chance to be selected that the constants leave."""
        labels = [self.constants.get(int(h)) for h in mixture.indices]
        low, rest = (
            float(mixture.weights[[label == sure for label in labels]].sum()) for sure in (1, 0)
        )
        return low, 1.0 - rest

    def regardless(self, mixture: Mixture) -> float:
        """Return the share of decisions drawn regardless of who it is; one constant draws none."""
        low, high = self.reach(mixture)
        return 0.0 if low >= 1.0 or high <= 0.0 else 1.0 - (high - low)

    def _most(self, pool: Pool) -> float:
        """Return the most standard errors by which some mixture of the pool meets all bounds."""
        if self.constants:
            far = self._excess(pool, _TAUS[0])
            if cheapest_mixtures(np.zeros((1, len(pool))), far):
                return float(_TAUS[0])
        return strictest(self.game, pool.s, self.errors) - 1e-6

    def _excess(self, pool: Pool, tau: float) -> Array:
        """Return by how much each classifier exceeds bounds tightened by ``tau`` errors: (P, K)."""
        constant = np.isin(np.arange(len(pool)), list(self.constants))
        distance = np.where(constant[:, None] & (tau > 0), 0.0, tau * self.errors)
        return self.game.gamma(pool.s) - self.game.c + distance

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
        constants: Mapping[int, int],
    ) -> Self:
        """Return the path for which the learner is trained; see `over`."""
        (free,) = pool.ask(oracle, game.costs(np.zeros(game.n_constraints)))
        first = run(many_bounds([game], oracle, pool, nu=nu, queries=queries), limits, nu)
        errors = scale * rows.standard_errors(first.last[0].mixture.shares(pool.s))
        search_strictest(game, oracle, pool, errors)
        most = strictest(game, pool.s, errors)
        games = [game.relaxed(-tau * errors) for tau in (most - 1e-3, *_TRAINED) if tau < most]
        last = run(many_bounds(games, oracle, pool, nu=nu, queries=queries), limits, nu)
        found = cls(game, errors, free, constants).again(pool, nu)
        return replace(found, n_rounds=first.n_rounds + last.n_rounds, reason=last.reason)


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
