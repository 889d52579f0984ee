"""Column generation: the saddle points of many bounds, from one pool of classifiers.

A best response does not depend on the bounds c, so a classifier found for one bound serves all,
and so does every lower value: ``min over h of err(h) + lambda . gamma(h)`` is asked once, and
``lambda . c`` is subtracted for each bound. A whole accuracy-fairness frontier costs little more
than its hardest point; a single bound is a family of one.

Constraints are hard: the limit on the multipliers starts small and grows only while they are not
met. If that does not suffice, the game is first played for the violation alone, which either
meets the constraints or proves the least slack that does, and goes on with the bounds so loosened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from equipoise.cells.table import Array
from equipoise.game.feasibility import least_slack, least_worst_rate, uniform
from equipoise.game.known import Known, Queries
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.mixture import Mixture, Program, least_slack_mixture, solve
from equipoise.game.rounds import Oracle, Pool, Round
from equipoise.game.tries import Query, Tries

#: Multipliers start within this l1 norm, which grows by this factor, up to this limit, before
#: feasibility is put to the test. In units of the scale of the objective.
_FIRST_LIMIT, _LIMIT_GROWTH, _LAST_LIMIT = 1.0, 4.0, 64.0
#: A game whose proofs are disproven by later answers is played again, in all no more often.
_MOST_GAMES = 10
#: Differences in value below this are rounding.
_ROUNDING = 1e-12


def column_generation(
    lagrangian: Lagrangian,
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    relax: str = "uniform",
    why: Callable[[Round], Round] | None = None,
) -> Iterator[Round]:
    """Find the saddle point of one game with hard constraints; yield a Round for each iteration.

    Elastic rows are first given the least common bound that can be met. If the constraints cannot
    be met, they are loosened by the least uniform slack, or, with ``relax="total"``, by the least
    total slack; ``why`` then adds the reason to the last round.

    What a stage proves is relative to the oracle. One that is not exact may later answer with
    classifiers that disprove it; then the game is played again, with the pool and the queries that
    there are. What is left of the proofs in the end holds against the whole pool.
    """
    asked, worst, start = Queries([], []), list[Array](), 0
    for games_left in reversed(range(_MOST_GAMES)):
        for found in _one_game(
            lagrangian, oracle, pool, nu=nu, relax=relax, asked=asked, worst=worst
        ):
            last = replace(found, iteration=start + found.iteration)
            yield last
        if last.least_slack == 0 and last.worst_rate is None:
            return
        explained = last if why is None or last.least_slack == 0 else why(last)
        left = _proven_by(explained, lagrangian, pool, asked, worst)
        if not games_left or not _is_disproven(last, left, nu):
            break
        start = last.iteration
    yield left


def _one_game(
    lagrangian: Lagrangian,
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    relax: str,
    asked: Queries,
    worst: list[Array],
) -> Iterator[Round]:
    """Play the game to its end; ``worst`` are the queries about a largest rate."""
    game, start, extra = lagrangian, 0, dict[str, Any]()
    if lagrangian.elastic is not None:
        game, extra = yield from least_worst_rate(lagrangian, oracle, pool, nu=nu, asked=worst)
        start = extra.pop("iteration")
    for (last,) in many_bounds([game], oracle, pool, nu=nu, queries=asked):
        loosening = game.c + last.least_slack - lagrangian.c
        numbered = replace(last, iteration=start + last.iteration, loosening=loosening, **extra)
        yield numbered
    if last.least_slack > 0 and relax == "total":
        yield from _with_total_slack(game, oracle, pool, numbered, nu=nu)


def _proven_by(
    found: Round, lagrangian: Lagrangian, pool: Pool, asked: Queries, worst: list[Array]
) -> Round:
    """Return a round with what its queries prove against all classifiers that are known now."""
    lower, lam = lagrangian.relaxed(found.loosening).lower(pool.s, np.array(found.queries))
    again = replace(found, lower=lower, multipliers=lam, gap=max(found.upper - lower, 0.0))
    excess = lagrangian.gamma(pool.s) - lagrangian.c
    if found.worst_rate is not None:
        elastic = np.asarray(lagrangian.elastic)
        rigid = np.where(elastic, 0.0, found.loosening)
        low = (np.array(worst) @ (excess - rigid).T).min(axis=1).max() if worst else 0.0
        low, high = min(max(float(low), 0.0), found.worst_rate[0]), found.worst_rate[1]
        again = replace(again, worst_rate=(low, high))
        rows = np.flatnonzero(~elastic)
        if found.proven_slack > least_slack_mixture(excess[:, rows], uniform(len(rows))).slack:
            again = replace(again, proven_slack=0.0)
    elif found.least_slack > 0 and asked.feasibility:
        slack = float((np.array(asked.feasibility) @ excess.T).min(axis=1).max())
        again = replace(again, proven_slack=min(max(slack, 0.0), found.proven_slack))
    return again


def _is_disproven(found: Round, left: Round, nu: float) -> bool:
    """Whether less is proven than it was, by more than the game is played to."""
    low, left_low = ((0.0, 0.0) if r.worst_rate is None else r.worst_rate for r in (found, left))
    lost = max(found.proven_slack - left.proven_slack, low[0] - left_low[0])
    return lost > nu / 10 or left.gap > max(nu, found.gap)


def _with_total_slack(
    game: Lagrangian, oracle: Oracle, pool: Pool, last: Round, *, nu: float
) -> Iterator[Round]:
    """Go on with the least total slack in place of the least uniform one."""
    slack = least_slack(game, oracle, pool, np.eye(game.n_constraints), nu=nu / 10)
    loosening = last.loosening - last.least_slack + slack.loosening
    for (found,) in many_bounds([game.relaxed(slack.loosening)], oracle, pool, nu=nu):
        yield replace(
            found,
            iteration=last.iteration + found.iteration,
            loosening=loosening,
            least_slack=last.least_slack,
            proven_slack=last.proven_slack,
            slack_queries=last.slack_queries,
            conflict=last.conflict,
            worst_rate=last.worst_rate,
        )


def many_bounds(
    games: Sequence[Lagrangian],
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    batch: int = 1,
    queries: Queries | None = None,
) -> Iterator[list[Round]]:
    """Find the saddle points of games that differ in their bounds c only; yield a Round for each.

    Every iteration queries the ``batch`` bounds whose gaps are largest. When all gaps are closed,
    an oracle that is not exact is tried at further multipliers: where it finds something better,
    the game goes on. The multipliers are noted in ``queries``, if given.
    """
    start, is_trying = np.zeros(len(games[0].c)), False
    queries = Queries([], []) if queries is None else queries
    known = Known(games[0], pool, queries)
    tries = Tries(oracle.exact, nu, games[0].default_nu)
    queries.optimality.append(start)
    (first,) = pool.ask(oracle, games[0].error_slope)  # the costs at these multipliers
    tries.note(start, first)
    bounds = [_Bound(game, first, nu) for game in games]
    for iteration in count(1):
        known.update()
        _solve_programs(bounds, known, nu, np.inf if is_trying else batch)
        # Gaps that a try has opened again are closed when all tries are made.
        was_trying, chosen = is_trying, [] if is_trying else _of_largest_gaps(bounds, batch)
        if not chosen:
            chosen = tries.next(bounds, batch, pool, known.error, known.gamma)
            is_trying = bool(chosen)
        if not chosen and was_trying:
            chosen = _of_largest_gaps(bounds, batch)
        asked = Queries(tuple(queries.optimality), tuple(queries.feasibility))  # as of this round
        yield [bound.round(pool, iteration, asked) for bound in bounds]
        if not chosen:
            return
        for query, h in zip(chosen, pool.ask(oracle, *(q.costs for q in chosen)), strict=True):
            getattr(queries, query.stage).append(query.lam)
            if query.stage == "optimality":
                tries.note(query.lam, h)


def over_pool(
    games: Sequence[Lagrangian],
    pool: Pool,
    queries: Queries | None,
    *,
    unconstrained: int,
    nu: float,
) -> list[Round]:
    """Return the best mixtures of the pool alone, one for each game, querying nothing.

    Their lower values are the best that ``queries`` prove, or, without any, hold for mixtures of
    the pool only. Bounds that the pool cannot meet are loosened by the least slack.
    ``unconstrained`` is the number of the answer to the error alone.
    """
    bounds = [_Bound(game, unconstrained, nu) for game in games]
    # Without queries, the duals of the program prove its value over the pool.
    asked = Queries([], []) if queries is None else Queries(*map(np.array, queries))
    known = Known(games[0], pool, asked)
    known.update()
    _solve_programs(bounds, known, np.inf, np.inf)
    return [bound.round(pool, 0, asked, over_pool=queries is None) for bound in bounds]


def _solve_programs(bounds: list[_Bound], known: Known, nu: float, batch: float) -> None:
    """Solve programs over the pool until the ``batch`` largest gaps that are open are known.

    A mixture is no worse for what has come to the pool since, so the gap of a bound that was not
    solved again is no larger than what it was with the lower value of now.
    """
    waiting, solved = bounds, list[_Bound]()
    for bound in bounds:
        bound.look(known)
    while waiting:
        bound = max(waiting, key=lambda each: np.inf if each.is_unmet else each.gap)
        if (
            not bound.is_unmet
            and sum(b.asks is not None and b.gap > bound.gap for b in solved) >= batch
        ):
            break
        waiting = [each for each in waiting if each is not bound]
        nearest = solved[-1].mixture if solved else None
        bound.solve(known, nearest)
        while bound.moves_on(known, nu):
            bound.solve(known, nearest)
        bound.choose_query(known, nu)
        solved.append(bound)


def _of_largest_gaps(bounds: list[_Bound], batch: int) -> list[Query]:
    """Return the queries of the bounds with the largest gaps; none when all are closed."""
    pending = sorted((b for b in bounds if b.asks is not None), key=lambda b: -b.gap)
    return [b.query(b.asks) for b in pending[:batch] if b.asks is not None]


class _Bound:
    """State of the game for one bound, and what to query next.

    ``unconstrained`` is the number of the answer to the error alone. Where that classifier meets
    the bound and is within nu of the best, it is the result: there is nothing to be gained by
    mixing others in.
    """

    #: Of the program that was solved last, with its selected shares and its slack.
    mixture: Mixture
    s: Array
    slack = np.inf

    def __init__(self, game: Lagrangian, unconstrained: int, nu: float) -> None:
        self.game, self.unconstrained, self.nu = game, unconstrained, nu
        self.multiplier_limit = min(game.B, _FIRST_LIMIT * game.scale)
        self.stage = "optimality"
        self.least_slack = self.proven_slack = 0.0
        self.conflict: tuple[int, ...] = ()
        self.asks: Array | None = None  #: The next multipliers to query.
        self.gap = self.upper = np.inf
        self._proof: dict[str, Any] = {}
        self._alone = np.inf
        self._is_precise = False
        self._solved: tuple[tuple[str, float] | None, int] = None, 0

    @property
    def stage_game(self) -> Lagrangian:
        """The game of the present stage."""
        if self.stage == "feasibility":
            return self.game.feasibility()
        return replace(self.game, B=self.multiplier_limit)

    @property
    def tolerated(self) -> float:
        """The share of nu at which the present stage ends."""
        return 0.1 if self.stage == "feasibility" else 1.0

    @property
    def is_unmet(self) -> bool:
        """Whether the mixture exceeds the bound, so far."""
        return self.slack > TOLERANCE

    def look(self, known: Known) -> None:
        """Take note of what was proven since; what to query is decided once it is solved."""
        self.asks = None
        if not self._proof:  # nothing is solved yet
            return
        duals, lower, lam = known.duals[self.stage], -np.inf, self.mixture.multipliers
        if duals.lams:
            lower, lam = duals.lower(self.game.c)
        self.gap = self.upper - lower
        self._proof |= {"lower": lower, "multipliers": lam}

    def is_stale(self, known: Known) -> bool:
        """Whether some classifier that has come since could improve the mixture."""
        solved_for, considered = self._solved
        self._solved = (self.stage, self.multiplier_limit), len(known.s)
        if solved_for != self._solved[0]:
            return True
        excess = known.gamma[considered:] - self.game.c
        values = known.errors[self.stage][considered:] + self.mixture.multipliers @ excess.T
        return bool(values.min(initial=np.inf) < self.upper - _ROUNDING)

    def solve(self, known: Known, nearest: Mixture | None) -> None:
        """Solve the program of the present stage, unless it is, and measure its mixture.

        It starts from the last solution or, where there is none, from that of another bound.
        """
        if not self.is_stale(known):
            return
        B = 1.0 if self.stage == "feasibility" else self.multiplier_limit
        before = self.mixture if self._proof else nearest
        costs, c = known.errors[self.stage], self.game.c
        (self.mixture,) = solve([Program(costs, known.gamma, c, B, before, known.highest)])
        self.s, self.slack = self.mixture.shares(known.s), self.mixture.slack
        error, gamma, violation, self.upper = self.stage_game.worth(self.s)
        upper = self.game.penalised(error, violation)
        most = float((known.gamma[self.unconstrained] - c).max(initial=0.0))
        self._alone = self.game.penalised(float(known.error[self.unconstrained]), most)
        self._proof = {"s": self.s, "error": error, "gamma": gamma, "violation": violation}
        self._proof["upper"] = upper

    def moves_on(self, known: Known, nu: float) -> bool:
        """Measure the gap; change the limit or the stage once the present one is done."""
        duals, is_unmet = known.duals[self.stage], self.is_unmet
        self.look(known)
        # The program's own multipliers prove its value, but for rounding: what is left of the gap
        # after they were asked is what the linear program can promise, and no query closes it.
        self._is_precise = self.gap > nu * self.tolerated and duals.knows(self.mixture.multipliers)
        if self.stage == "feasibility":
            return self._ends_feasibility(self._proof["lower"], nu, is_unmet)
        is_open = self.gap > nu and not self._is_precise
        if is_open or not is_unmet or self.multiplier_limit >= self.game.B:
            return False
        if self.multiplier_limit < _LAST_LIMIT * self.game.scale:
            self.multiplier_limit = min(self.multiplier_limit * _LIMIT_GROWTH, self.game.B)
        else:
            self.stage = "feasibility"
        return True

    def _ends_feasibility(self, lower: float, nu: float, is_unmet: bool) -> bool:
        """Go on to the error, with bounds loosened if need be, once the least slack is known."""
        if is_unmet and self.gap > nu * self.tolerated and not self._is_precise:
            return False
        if is_unmet:
            self.least_slack = self.slack
            self.proven_slack = min(max(lower, 0.0), self.least_slack)
            if self.proven_slack > TOLERANCE:
                used = np.flatnonzero(self.mixture.multipliers > TOLERANCE)
                self.conflict = tuple(used.tolist())
        self.game = self.game.relaxed(self.least_slack)
        self.stage, self.multiplier_limit = "optimality", np.inf
        return True

    def choose_query(self, known: Known, nu: float) -> None:
        """Choose the next multipliers to query, none if the gap is closed."""
        if self.gap > nu * self.tolerated and not self._is_precise:
            best, those_of_lp = self._proof["multipliers"], self.mixture.multipliers
            self.asks = best + known.step_towards(those_of_lp) * (those_of_lp - best)

    def query(self, lam: Array) -> Query:
        """Return these multipliers with their costs."""
        return Query(self.stage, lam, self.stage_game.costs(lam))

    def round(self, pool: Pool, iteration: int, queries: Queries, over_pool: bool = False) -> Round:
        """Return the state as a Round; ``over_pool`` lets the program's duals prove it."""
        asked = [self.mixture.multipliers] if over_pool else queries.optimality
        state = {
            "stage": self.stage,
            "least_slack": self.least_slack,
            "proven_slack": self.proven_slack,
            "slack_queries": queries.feasibility,
            "conflict": self.conflict,
            "loosening": self.least_slack,
        }
        if over_pool or self.stage == "feasibility":  # not what was measured last
            found = Round.of_mixture(self.game, pool, self.mixture, iteration, asked, **state)
        else:
            found = Round(
                iteration,
                pool.n_calls,
                self.mixture,
                gap=max(self._proof["upper"] - self._proof["lower"], 0.0),
                queries=asked,
                **self._proof,
                **state,
            )
        if self.least_slack > 0 or self._alone - found.lower > self.nu:
            return found
        alone = Mixture.of_weights(np.eye(len(pool))[self.unconstrained], found.multipliers)
        return Round.of_mixture(self.game, pool, alone, iteration, asked, **state)
