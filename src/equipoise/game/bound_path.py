"""Many bounds, one after the other, where something in the pool meets them all from the start.

A constant predictor is the same for all groups, so that it meets every parity. Then no multipliers
need a limit and no bound is impossible, and the loosest bound, which is the easiest, comes first:
each bound starts from the pool and the multipliers of its neighbour. Of a pool of hundreds few
members are mixed; a program starts with those of least reduced cost, and takes in others while
they would improve it, so that its solution is the best over the whole pool.

With many inequalities, as of parity at many thresholds, this takes a fraction of the time of
`equipoise.game.column_generation.many_bounds`, which solves for all bounds in every round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.game.dual_bounds import DualBounds
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture, Program, solve
from equipoise.game.rounds import Oracle, Pool, Round

#: Queries go this far from the best multipliers so far towards those of the program.
_TOWARDS_PROGRAM = 0.4
#: Members that a program starts with, besides those mixed before. Chosen by the time of one split
#: of Communities, on which time is reported too; results do not depend on it.
_COLUMNS = 150
#: Differences in value below this are rounding.
_ROUNDING = 1e-11


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
    iteration, likely = 1, np.zeros(games[0].n_constraints)
    yield [bound.round(iteration) for bound in bounds]
    # What is found for one bound widens the gaps of others: these are gone through again.
    while any(bound.is_open for bound in bounds):
        for bound in (bounds[at] for at in loosest):
            bound.solve(likely)
            while bound.is_open:
                bound.query()
                bound.solve(bound.mixture.multipliers)
                iteration += 1
                yield [other.round(iteration, fresh=other is bound) for other in bounds]
            likely = bound.mixture.multipliers
        for bound in bounds:
            bound.solve(bound.mixture.multipliers)
    iteration += 1
    yield [bound.round(iteration, fresh=True) for bound in bounds]


class _Known:
    """Error and gamma of the pool, and what the queries prove."""

    def __init__(self, game: Lagrangian, oracle: Oracle, pool: Pool, queries: list[Array]) -> None:
        self.game, self.oracle, self.pool, self.queries = game, oracle, pool, queries
        self.error, self.gamma = game.error(pool.s), game.gamma(pool.s)
        self.duals = DualBounds(game.n_constraints)
        self.free: int | None = None

    def ask(self, lam: Array) -> None:
        """Put multipliers to the oracle."""
        (number,) = self.pool.ask(self.oracle, self.game.costs(lam))
        self.free = number if self.free is None else self.free
        self.queries.append(lam)
        if len(self.pool) > len(self.error):
            s = self.pool.s[len(self.error) :]
            self.error = np.append(self.error, self.game.error(s))
            self.gamma = np.vstack([self.gamma, self.game.gamma(s)])
        self.duals.update(self.error, self.gamma, [lam])


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
        return self.upper - self.known.duals.lower(self.game.c)[0] > self.nu

    def solve(self, likely: Array) -> None:
        """Mix the pool, if it has grown; ``likely`` are multipliers near those to be found."""
        known = self.known
        if self._solved == len(known.error):
            return
        self._solved = len(known.error)
        values, excess = known.error + known.gamma @ likely, known.gamma - self.game.c
        columns = np.union1d(np.append(self.mixture.indices, 0), _least(values, _COLUMNS))
        while True:
            binding = np.where(likely > 0, np.inf, excess[values.argmin()])
            program = Program(known.error[columns], excess[columns], np.inf, binding)
            (found,) = solve([program])
            lam, mixed = found.multipliers, columns[found.indices]
            self.upper = float(found.weights @ known.error[mixed])
            reduced = known.error + excess @ lam - self.upper
            reduced[columns] = 0.0
            better = np.flatnonzero(reduced < -_ROUNDING)
            if not len(better):
                break
            columns = np.union1d(columns, better[_least(reduced[better], _COLUMNS)])
        self.mixture = replace(found, indices=mixed)

    def query(self) -> None:
        """Ask between the best multipliers and the program's; at these if nothing new came."""
        _, centre = self.known.duals.lower(self.game.c)
        step = _TOWARDS_PROGRAM if len(self.known.error) > self._pool_size else 1.0
        self._pool_size = len(self.known.error)
        self.known.ask(centre + step * (self.mixture.multipliers - centre))

    def round(self, iteration: int, fresh: bool = True) -> Round:
        """Return where this bound stands; with ``fresh=False`` where it stood last."""
        if self._round is None or fresh:
            self._round = self._measured(iteration)
        calls = self.known.pool.n_calls
        return replace(self._round, iteration=iteration, n_calls=calls)

    def _measured(self, iteration: int) -> Round:
        known, game = self.known, self.game
        lower, lam = known.duals.lower(game.c)
        mixture, free = self.mixture, known.free
        # Where the answer without constraints will do, there is nothing to be gained by mixing.
        if free is not None and game.upper(known.pool.s[free]) - lower <= self.nu:
            mixture = Mixture.of_weights(np.eye(len(known.pool))[free], mixture.multipliers)
        s = mixture.shares(known.pool.s)
        upper = game.upper(s)
        return Round(
            iteration,
            known.pool.n_calls,
            mixture,
            s,
            lam,
            error=float(game.error(s)),
            violation=float(game.violation(s)),
            lower=lower,
            upper=upper,
            gap=max(upper - lower, 0.0),
            queries=known.queries,
        )


def _least(values: Array, number: int) -> NDArray[np.intp]:
    """Return the places of the least values, so many of them."""
    if len(values) <= number:
        return np.arange(len(values))
    return np.argpartition(values, number)[:number]
