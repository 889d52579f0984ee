"""Many bounds, one after the other, where something in the pool meets them all from the start.

A constant predictor is the same for all groups, so that it meets every parity. Then no multipliers
need a limit and no bound is impossible, and the loosest bound, which is the easiest, comes first:
each bound starts from the pool and the mixture of its neighbour, and each program from the mixture
that was best before the last answer came (`equipoise.game.mixture.solve`).

With many inequalities, as of parity at many thresholds, this takes a fraction of the time of
`equipoise.game.column_generation.many_bounds`, which solves for all bounds in every round. Oracles
that are not exact are not tried further here, so their answers must be nearly exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from equipoise.cells.table import Array
from equipoise.game.known import TOWARDS_LP
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture, Program, cheapest_mixtures, solve
from equipoise.game.rounds import Oracle, Pool, Round


def one_after_another(
    games: Sequence[Lagrangian],
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    queries: list[Array] | None = None,
) -> Iterator[list[Round]]:
    """Find the saddle points of games that differ in c only; yield a Round for each, every round.

    The first member of ``pool`` must meet the bounds of all games. The multipliers queried are
    noted in ``queries``, if given.
    """
    known = _Known(games[0], oracle, pool, [] if queries is None else queries)
    known.ask(np.zeros(games[0].n_constraints))
    loosest = sorted(range(len(games)), key=lambda at: -float(games[at].c.sum()))
    bounds = [_Bound(game, known, nu) for game in games]
    iteration, nearest = 1, bounds[0].mixture
    yield [bound.round(iteration) for bound in bounds]
    # What is found for one bound widens the gaps of others: these are gone through again.
    while any(bound.is_open for bound in bounds):
        for bound in (bounds[at] for at in loosest):
            bound.solve(nearest)
            while bound.is_open:
                bound.query()
                bound.solve(nearest)
                iteration += 1
                yield [other.round(iteration, fresh=other is bound) for other in bounds]
            nearest = bound.mixture
        for bound in bounds:
            bound.solve(nearest)
    iteration += 1
    yield [bound.round(iteration, fresh=True) for bound in bounds]


class _Known:
    """Error and gamma of the pool, and for each query the least of ``err + lambda . gamma``."""

    def __init__(self, game: Lagrangian, oracle: Oracle, pool: Pool, queries: list[Array]) -> None:
        self.game, self.oracle, self.pool, self.queries = game, oracle, pool, queries
        self.s = pool.s
        self.error, self.gamma = game.error(self.s), game.gamma(self.s)
        self.lams, self.values = np.zeros((0, game.n_constraints)), np.zeros(0)
        self.free: int | None = None

    def ask(self, lam: Array) -> None:
        """Put multipliers to the oracle."""
        (number,) = self.pool.ask(self.oracle, self.game.costs(lam))
        self.free = number if self.free is None else self.free
        self.queries.append(lam)
        if len(self.pool) > len(self.error):
            s = self.pool.s[len(self.error) :]
            error, gamma = self.game.error(s), self.game.gamma(s)
            self.s = np.vstack([self.s, s])
            with_new = (error + self.lams @ gamma.T).min(axis=1)
            self.values = np.minimum(self.values, with_new)
            self.error = np.append(self.error, error)
            self.gamma = np.vstack([self.gamma, gamma])
        self.lams = np.vstack([self.lams, lam])
        self.values = np.append(self.values, (self.error + self.gamma @ lam).min())

    def lower(self, c: Array) -> tuple[float, Array]:
        """Return the best lower value for bounds ``c``, and the multipliers that prove it."""
        bounds = self.values - self.lams @ c
        best = int(bounds.argmax())
        return float(bounds[best]), self.lams[best]


class _Bound:
    """State of the game for one bound."""

    def __init__(self, game: Lagrangian, known: _Known, nu: float) -> None:
        self.game, self.known, self.nu = game, known, nu
        self.mixture = Mixture.of_weights(np.ones(1), np.zeros(game.n_constraints))
        self.upper = float(known.error[0])
        self._pool_size = self._solved = 0
        self._round: Round | None = None

    @property
    def is_open(self) -> bool:
        """Whether the gap is wider than asked for."""
        return self.upper - self.known.lower(self.game.c)[0] > self.nu

    def solve(self, nearest: Mixture) -> None:
        """Mix the pool, if it has grown; ``nearest`` is where to start for the first time."""
        known = self.known
        if self._solved == len(known.error):
            return
        self._solved = len(known.error)
        start = self.mixture.vertex or nearest.vertex
        excess = known.gamma - self.game.c
        (self.mixture,) = cheapest_mixtures(known.error[None, :], excess, start) or solve(
            [Program(known.error, known.gamma, self.game.c, np.inf)]
        )
        self.upper = float(self.mixture.weights @ known.error[self.mixture.indices])

    def query(self) -> None:
        """Ask between the best multipliers and the program's; at these if nothing new came."""
        _, centre = self.known.lower(self.game.c)
        step = TOWARDS_LP if len(self.known.error) > self._pool_size else 1.0
        self._pool_size = len(self.known.error)
        self.known.ask(centre + step * (self.mixture.multipliers - centre))

    def round(self, iteration: int, fresh: bool = True) -> Round:
        """Return where this bound stands; with ``fresh=False`` where it stood last."""
        if self._round is None or fresh:
            self._round = self._measured(iteration)
        return self._round

    def _measured(self, iteration: int) -> Round:
        known, game = self.known, self.game
        lower, lam = known.lower(game.c)
        mixture, free = self.mixture, known.free
        # Where the answer without constraints will do, there is nothing to be gained by mixing.
        if free is not None and game.upper(known.s[free]) - lower <= self.nu:
            mixture = Mixture.of_weights(np.eye(len(known.s))[free], mixture.multipliers)
        s = mixture.shares(known.s)
        error, gamma, violation, upper = game.worth(s)
        return Round(
            iteration,
            known.pool.n_calls,
            mixture,
            s,
            lam,
            error=error,
            gamma=gamma,
            violation=violation,
            lower=lower,
            upper=upper,
            gap=max(upper - lower, 0.0),
            queries=tuple(known.queries),
        )
