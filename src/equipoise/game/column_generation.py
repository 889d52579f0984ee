"""Column generation: the saddle points of many bounds, from one pool of classifiers.

A best response does not depend on the bounds c, so a classifier found for one bound serves all,
and so does every lower value: ``min over h of err(h) + lambda . gamma(h)`` is asked once, and
``lambda . c`` is subtracted for each bound. A whole accuracy-fairness frontier costs little more
than its hardest point; a single bound is a frontier of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np

from equipoise.cells.table import Array
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.pool import Mixture, Oracle, Play, Pool, best_mixtures, describe

#: Queries go this far from the best multipliers so far towards those of the LP.
_TOWARDS_LP = 0.4
#: Multipliers start within this l1 norm, which grows by this factor, up to this limit, before
#: feasibility is put to the test.
_FIRST_ROOM, _ROOM_GROWTH, _ROOM_LIMIT = 1.0, 4.0, 64.0

#: An oracle that is not exact is tried between known multipliers until this many tries fail, or
#: this share of the calls before has been spent on tries.
_PATIENCE, _TRIES = 2, 0.3
#: Differences in value below this are rounding.
_ROUNDING = 1e-12


#: The multipliers put to the oracle so far, by stage.
Asked = dict[str, list[Array]]


class Query(NamedTuple):
    """Multipliers to put to the oracle, and the costs that stand for them."""

    stage: str
    lam: Array
    costs: Array


def column_generation(
    lagrangian: Lagrangian, oracle: Oracle, pool: Pool, *, nu: float
) -> Iterator[Play]:
    """Grow the pool where the LP over it still has something to gain, until its gap is ``nu``.

    Each round solves the LP over the pool and asks the oracle part of the way from the best
    multipliers so far to the LP's ("in-out"): either the answer cuts the LP's multipliers off, or
    the lower value rises by the same part of the gap. An infinite B means hard constraints.
    Multipliers then start small and are given more room only while the constraints are not met; if
    that does not suffice, the game is first played for the violation alone, which either meets the
    constraints or proves the least slack that does, and goes on with the bounds so loosened.
    """
    for plays in frontier([lagrangian], oracle, pool, nu=nu):
        yield plays[0]


def frontier(
    games: Sequence[Lagrangian],
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    batch: int = 1,
    asked: Asked | None = None,
) -> Iterator[list[Play]]:
    """Play games that differ in their bounds c only, all at once; yield a Play for each.

    Every round asks for the ``batch`` bounds whose gaps are largest. When all gaps are closed, an
    oracle that is not exact is tried at further multipliers: where it finds something better, the
    game goes on. The multipliers asked are noted in ``asked``, if given.
    """
    start = np.zeros(games[0].n_constraints)
    asked = {} if asked is None else asked
    asked.setdefault("optimality", []).append(start)
    asked.setdefault("feasibility", [])
    (first,) = pool.ask(oracle, games[0].costs(start))
    origin = {first: start}
    bounds = [_Bound(game) for game in games]
    patience, tries_left = _PATIENCE, 0.0 if oracle.exact else np.inf
    tried: list[_Bound] = []
    for iteration in count(1):
        _look_at(bounds, pool, asked, nu)
        patience -= sum(bound.disappointed(nu) for bound in tried)
        # Gaps that a try has opened again are closed when all tries are made.
        queries = [] if tried else _worst(bounds, batch)
        if not queries and patience > 0 and tries_left > 0:
            tries_left = min(tries_left, round(_TRIES * pool.n_calls))
            queries, trying = _between(bounds, min(batch, int(tries_left)), pool, origin, nu)
            tried, tries_left = trying or tried, tries_left - len(trying)
        if not queries and tried:
            patience, tried = 0, []
            queries = _worst(bounds, batch)
        yield [bound.play(pool, iteration) for bound in bounds]
        if not queries:
            return
        for query, h in zip(queries, pool.ask(oracle, *(q.costs for q in queries)), strict=True):
            asked[query.stage].append(query.lam)
            if query.stage == "optimality":
                origin.setdefault(h, query.lam)


def over_pool(games: Sequence[Lagrangian], pool: Pool, asked: Asked | None = None) -> list[Play]:
    """Return the best mixtures of the pool alone, one for each game, asking nobody.

    Their lower values are the best of the multipliers ``asked``, or, without any, hold for mixtures
    of the pool only. Bounds that the pool cannot meet are loosened by the least slack.
    """
    bounds = [_Bound(game) for game in games]
    _look_at(bounds, pool, asked or {"optimality": [], "feasibility": []}, nu=np.inf)
    if asked is None:
        for bound in bounds:
            bound.lower = bound.upper
    return [bound.play(pool, iteration=0) for bound in bounds]


def _look_at(bounds: list[_Bound], pool: Pool, asked: Asked, nu: float) -> None:
    """Solve the LPs of all bounds over the pool, and let each decide what to ask next."""
    s, pending = pool.s, bounds
    while pending:
        stale = [bound for bound in pending if bound.is_stale(s)]
        if stale:
            mixtures = best_mixtures([bound.stage_game for bound in stale], s)
            for bound, mixture in zip(stale, mixtures, strict=True):
                bound.mix(mixture, len(s))
        pending = [bound for bound in pending if bound.moves_on(s, asked, nu)]
    for bound in bounds:
        bound.decide(len(s), nu)


def _worst(bounds: list[_Bound], batch: int) -> list[Query]:
    """Return what to ask for the bounds of the largest gaps; nothing when all are closed."""
    pending = sorted((b for b in bounds if b.query is not None), key=lambda b: -b.gap)
    return [b.query for b in pending[:batch] if b.query is not None]


def _between(
    bounds: list[_Bound], batch: int, pool: Pool, origin: dict[int, Array], nu: float
) -> tuple[list[Query], list[_Bound]]:
    """Return queries between the multipliers whose responses the LP mixes.

    A learner that minimises a surrogate loss gives the classifier that just meets a bound in answer
    to other multipliers than the LP's. They lie between the origins lambda_h of the classifiers
    mixed, and what is found there beats the mixture by up to ``-Cov(lambda_h, gamma(h))`` over Q,
    since each member is a best response to its own origin. Also return the bounds they are for.
    """
    found: list[tuple[float, _Bound, Query]] = []
    for bound in bounds:
        members = [h for h in np.flatnonzero(bound.mixture.weights).tolist() if h in origin]
        if len(members) < 2:
            continue
        weights = bound.mixture.weights[members] / bound.mixture.weights[members].sum()
        lams = np.array([origin[h] for h in members])
        gammas = bound.game.gamma(pool.s[members])
        lam = weights @ lams
        gain = -float(weights @ np.sum((lams - lam) * (gammas - weights @ gammas), axis=1))
        query = Query("optimality", lam, bound.game.costs(lam))
        if gain > nu / 2 and not pool.knows(query.costs):
            found.append((gain, bound, query))
    found.sort(key=lambda item: -item[0])
    for _, bound, _ in found[:batch]:
        bound.hoped_from = bound.upper
    return [query for _, _, query in found[:batch]], [bound for _, bound, _ in found[:batch]]


class _Bound:
    """Where the game stands for one bound, and what to ask next."""

    def __init__(self, game: Lagrangian) -> None:
        self.game = game
        self.room = min(game.B, _FIRST_ROOM)
        self.stage = "optimality"
        self.least_slack = 0.0
        self.conflict: tuple[int, ...] = ()
        self.query: Query | None = None
        self.mixture: Mixture
        self.gap = self.upper = np.inf
        self.hoped_from: float | None = None
        self._centre: Array
        self._pool_size = 0
        self._solved: tuple[tuple[str, float] | None, int] = None, 0

    @property
    def stage_game(self) -> Lagrangian:
        """The game of the present stage."""
        if self.stage == "feasibility":
            return self.game.feasibility()
        return replace(self.game, B=self.room)

    def is_stale(self, s: Array) -> bool:
        """Whether some classifier that has come since could improve the mixture."""
        solved_for, considered = self._solved
        if solved_for != (self.stage, self.room):
            return True
        new = s[considered:]
        if len(new) and self.stage_game.value(new, self.mixture.lam).min() < self.upper - _ROUNDING:
            return True
        self._solved = solved_for, len(s)
        return False

    def mix(self, mixture: Mixture, considered: int) -> None:
        """Take the LP's solution over as many classifiers."""
        self.mixture, self._solved = mixture, ((self.stage, self.room), considered)

    def moves_on(self, s: Array, asked: Asked, nu: float) -> bool:
        """Measure the gap; change the room or the stage when the present one has told all."""
        game = self.stage_game
        self.lower, self._centre = -np.inf, self.mixture.lam
        if asked[self.stage]:
            self.lower, self._centre = game.lower(s, np.array(asked[self.stage]))
        self.upper = game.upper(self.mixture.weights @ s[: len(self.mixture.weights)])
        self.gap = self.upper - self.lower
        unmet = self.mixture.slack > TOLERANCE
        if self.stage == "feasibility":
            if unmet and self.gap > nu / 10:
                return False
            if unmet:
                self.least_slack = self.mixture.slack
                self.conflict = tuple(np.flatnonzero(self.mixture.lam > TOLERANCE).tolist())
            self.game = self.game.relaxed(self.least_slack)
            self.stage, self.room = "optimality", np.inf
            return True
        if self.gap > nu or not unmet or self.room >= self.game.B:
            return False
        if self.room < _ROOM_LIMIT:
            self.room = min(self.room * _ROOM_GROWTH, self.game.B)
        else:
            self.stage = "feasibility"
        return True

    def decide(self, pool_size: int, nu: float) -> None:
        """Decide what to ask next, if anything."""
        self.query = None
        if self.gap > nu:
            # Nothing new was found on the way: the LP's own multipliers find it, or close the gap.
            step = _TOWARDS_LP if pool_size > self._pool_size else 1.0
            self._pool_size = pool_size
            lam = self._centre + step * (self.mixture.lam - self._centre)
            self.query = Query(self.stage, lam, self.stage_game.costs(lam))

    def disappointed(self, nu: float) -> bool:
        """Whether a query in between was made for this bound and gained next to nothing."""
        hoped_from, self.hoped_from = self.hoped_from, None
        return hoped_from is not None and self.upper > hoped_from - nu / 4

    def play(self, pool: Pool, iteration: int) -> Play:
        """Return the state as a Play."""
        return describe(
            self.game,
            pool,
            self.mixture,
            self.lower,
            iteration,
            stage=self.stage,
            least_slack=self.least_slack,
            conflict=self.conflict,
        )
