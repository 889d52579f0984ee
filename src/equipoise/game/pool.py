"""The saddle point of L: what the players know, the LP over a pool, and Algorithm 1.

The algorithms, here and in `equipoise.game.column_generation`, are generators of `Play`: each does
one round, yields where the game stands, and returns once neither player can gain more than ``nu``.
Progress, early stopping and history live in the consumer, `play_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import csc_array
from scipy.special import softmax

from equipoise.cells.table import Array
from equipoise.game.lagrangian import TOLERANCE, Lagrangian

#: The programs are small and dense: presolving them takes longer than it saves.
_LP_OPTIONS = {
    "presolve": False,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}


class Response(NamedTuple):
    """What an oracle answers: a classifier, and its selected share of each cell."""

    classifier: Any
    s: Array


class Oracle(Protocol):
    """Best_h: from the signed cost of predicting 1 in each cell to a classifier of least cost."""

    #: Whether the answer is a true minimiser over the class H (else the learner's best effort).
    exact: bool

    def best_response(self, costs: Array) -> Response:
        """Return a classifier that makes the costs of those it selects as low as it can."""
        ...


Respond = Callable[[Oracle, list[Array]], Iterable[Response]]


def one_by_one(oracle: Oracle, costs: list[Array]) -> Iterator[Response]:
    """Put costs to an oracle one after the other."""
    return (oracle.best_response(c) for c in costs)


def key_of(costs: Array) -> bytes:
    """Return what tells costs apart."""
    # Only the ratios of the costs matter to a learner; adding 0.0 makes -0.0 the same as 0.0.
    return (np.round(costs / max(np.abs(costs).max(), 1e-300), 12) + 0.0).tobytes()


class Pool:
    """The classifiers found so far, each known by its selected shares s(h).

    A pool knows no bound and no constraint: the same one serves them all.

    Parameters
    ----------
    respond : callable, optional
        Puts a list of costs to an oracle and yields its responses in order; by default one after
        the other.
    """

    def __init__(self, respond: Respond | None = None) -> None:
        self._respond = respond or one_by_one
        self.classifiers: list[Any] = []
        self.n_calls = 0
        self._shares: list[Array] = []
        self._asked: dict[bytes, int] = {}

    @classmethod
    def of(cls, classifiers: Iterable[Any], s: Array) -> Pool:
        """Return a pool of these classifiers, all of them, with these shares (P, C)."""
        pool = cls()
        pool.classifiers, pool._shares = list(classifiers), list(s)
        return pool

    @property
    def s(self) -> Array:
        """Selected shares of all classifiers, shape (P, C)."""
        return np.array(self._shares)

    def __len__(self) -> int:
        return len(self.classifiers)

    def ask(self, oracle: Oracle, *costs: Array) -> list[int]:
        """Return the numbers of the oracle's classifiers for these costs, asking only once each."""
        keys = [key_of(c) for c in costs]
        new = {key: c for key, c in zip(keys, costs, strict=True) if key not in self._asked}
        if new and self._asked and hasattr(oracle, "start_from"):
            oracle.start_from(self._nearest(next(iter(new))))
        for key, response in zip(new, self._respond(oracle, list(new.values())), strict=True):
            self._keep(key, response)
        return [self._asked[key] for key in keys]

    def _nearest(self, key: bytes) -> Any:
        """Return the answer to the most similar costs, from which a learner may start."""
        known = np.array([np.frombuffer(known) for known in self._asked])
        distance = np.abs(known - np.frombuffer(key)).sum(axis=1)
        return self.classifiers[list(self._asked.values())[int(distance.argmin())]]

    def _keep(self, key: bytes, response: Response) -> None:
        self.n_calls += 1
        self._asked[key] = self.add(*response)

    def alone(self) -> Pool:
        """Return the pool without its means to ask in parallel or to write files."""
        pool = Pool.of(self.classifiers, self.s)
        pool.n_calls, pool._asked = self.n_calls, dict(self._asked)
        return pool

    def knows(self, costs: Array) -> bool:
        """Whether the oracle was asked for these costs already."""
        return key_of(costs) in self._asked

    def add(self, classifier: Any, s: Array) -> int:
        """Add a classifier unless one with the same shares is there; return its number."""
        if self._shares:
            distance = np.abs(self.s - s).max(axis=1)
            if distance.min() <= 1e-13:
                return int(distance.argmin())
        self.classifiers.append(classifier)
        self._shares.append(s)
        return len(self) - 1


@dataclass(frozen=True, eq=False)
class Play:
    """One round of the game: the randomized classifier Q, the multipliers, and what is proven.

    Attributes
    ----------
    iteration, n_calls : int
        Rounds played and calls of the learner so far.
    weights : array of shape (P,)
        Q, as weights of the classifiers in the pool.
    lam : array of shape (K,)
        The multipliers.
    error, violation : float
        err(Q), and by how much the worst constraint is exceeded.
    lower, upper : float
        No classifier does better than ``lower``; Q itself does no worse than ``upper``.
    gap : float
        nu_t: how much either player could still gain.
    stage : "optimality", "feasibility" or "minimax"
        Whether error is being minimised, or first the violation, or a largest rate, alone.
    least_slack : float
        Loosening of every bound without which the constraints cannot be met.
    conflict : tuple of int
        If there is such a slack, numbers of constraints that contradict each other.
    loosening : array of shape (K,)
        By how much each bound is loosened in this Play, for want of a classifier that meets it.
    level : pair of float, or None
        Where a largest rate had to be made least: its lower and its upper value.
    """

    iteration: int
    n_calls: int
    weights: Array = field(repr=False)
    lam: Array = field(repr=False)
    error: float
    violation: float
    lower: float
    upper: float
    gap: float
    stage: str = "optimality"
    least_slack: float = 0.0
    conflict: tuple[int, ...] = ()
    loosening: Array | float = field(default=0.0, repr=False)
    level: tuple[float, float] | None = None


def play_out(
    plays: Iterable[Play],
    max_iter: int,
    watch: Callable[[Play], object] | None = None,
) -> Play:
    """Consume an algorithm; stop after ``max_iter`` rounds, or when ``watch`` returns True."""
    for play in plays:
        stop = watch(play) if watch is not None else False
        if play.iteration >= max_iter or stop is True:
            break
    return play


class Mixture(NamedTuple):
    """Solution of the LP over a pool: weights, multipliers, and what it had to exceed."""

    weights: Array
    lam: Array
    slack: float


def best_mixture(lagrangian: Lagrangian, s: Array) -> Mixture:
    """Least err(Q) + B z over mixtures Q with gamma(Q) <= c + z, with the LP's own duals.

    This is (P) restricted to the classifiers ``s``, and |lambda|_1 <= B. With an infinite B the
    constraints are hard, and some mixture must meet them. The simplex method returns a vertex, so
    at most K + 1 classifiers have weight.
    """
    (mixture,) = best_mixtures([lagrangian], s)
    return mixture


def best_mixtures(games: Sequence[Lagrangian], s: Array) -> list[Mixture]:
    """Return the best mixture of the classifiers ``s`` for each of several games.

    Their programs are solved as one whose blocks have nothing in common: that takes little longer
    than any one of them.
    """
    if len(s) == 1:
        lams = [game.best_lambda(s[0]) for game in games]
        slacks = [float(game.violation(s[0])) for game in games]
        return [Mixture(np.ones(1), lam, z) for lam, z in zip(lams, slacks, strict=True)]
    # Hard constraints are met as they are if that can be, else within half the tolerance.
    for most in (0.0, TOLERANCE / 2):
        blocks = [_Block(game, s, most) for game in games]
        solution = _solve(blocks)
        if solution.x is not None:
            break
    else:
        raise RuntimeError(
            f"the linear program over {len(s)} classifiers and {len(games[0].c)} constraints "
            f"failed: {solution.message} Check the constraint for extreme coefficients."
        )
    return _split(solution, blocks)


class _Block:
    """The program of one game: its columns are the classifiers, and the slack z."""

    def __init__(self, game: Lagrangian, s: Array, most: float) -> None:
        hard = not np.isfinite(game.B)
        excess = (game.gamma(s) - game.c).T
        self.some_exceed = excess.max(axis=1) > 0  # what all classifiers meet, mixtures meet
        excess = excess[self.some_exceed]
        self.A = np.column_stack([excess, np.full(len(excess), -1.0)])
        self.cost = np.append(game.error(s), 0.0 if hard else game.B)
        self.bounds = np.zeros((len(self.cost), 2))
        self.bounds[:, 1] = np.inf
        self.bounds[-1, 1] = most if hard else np.inf


def _solve(blocks: list[_Block]) -> OptimizeResult:
    sum_to_one = np.append(np.ones(len(blocks[0].cost) - 1), 0.0)[None, :]
    return linprog(
        np.concatenate([block.cost for block in blocks]),
        A_ub=_block_diagonal([block.A for block in blocks]),
        b_ub=np.zeros(sum(len(block.A) for block in blocks)),
        A_eq=_block_diagonal([sum_to_one] * len(blocks)),
        b_eq=np.ones(len(blocks)),
        bounds=np.concatenate([block.bounds for block in blocks]),
        method="highs-ds",
        options=_LP_OPTIONS,
    )


def _block_diagonal(blocks: list[Array]) -> Array | csc_array:
    """Return dense blocks as one sparse matrix, column by column."""
    if len(blocks) == 1:
        return blocks[0]
    heights = np.array([len(block) for block in blocks])
    first_rows = np.cumsum(heights) - heights
    widths = [block.shape[1] for block in blocks]
    rows = [
        np.tile(np.arange(first, first + height), width)
        for first, height, width in zip(first_rows, heights, widths, strict=True)
    ]
    starts = np.append(0, np.cumsum(np.repeat(heights, widths)))
    data = np.concatenate([block.T.ravel() for block in blocks])
    return csc_array((data, np.concatenate(rows), starts), shape=(heights.sum(), sum(widths)))


def _split(solution: OptimizeResult, blocks: list[_Block]) -> list[Mixture]:
    """Take the solution apart, block by block."""
    mixtures, row, column = [], 0, 0
    for block in blocks:
        x = solution.x[column : column + len(block.cost)]
        weights = np.where(x[:-1] > 1e-12, x[:-1], 0.0)
        lam = np.zeros(len(block.some_exceed))
        marginals = solution.ineqlin.marginals[row : row + len(block.A)]
        lam[block.some_exceed] = np.maximum(-marginals, 0.0)
        mixtures.append(Mixture(weights / weights.sum(), lam, float(x[-1])))
        row, column = row + len(block.A), column + len(block.cost)
    return mixtures


def exponentiated_gradient(
    lagrangian: Lagrangian,
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    eta: float | None = None,
    always_check: bool = False,
) -> Iterator[Play]:
    """Algorithm 1, as printed.

    Parameters
    ----------
    eta : float, optional
        The step. By default ``sqrt(log(K+1) / sum of max|r_t|^2)`` over the rewards r_t seen: the
        best step of Theorem 1 with what happened in place of its worst case rho.
    always_check : bool, default=False
        Ask Best_h at the average multipliers in every round, as printed. Otherwise only in the
        rounds that the classifiers known already do not rule out as the last; nothing else
        changes.
    """
    K, B = lagrangian.n_constraints, lagrangian.B
    theta, lam_sum, s_sum = np.zeros(K), np.zeros(K), 0.0
    rewards = 0.0
    times: list[int] = []
    for t in count(1):
        lam = B * softmax(np.append(theta, 0.0))[:K]
        (h,) = pool.ask(oracle, lagrangian.costs(lam))
        times.append(h)
        s_sum, lam_sum = s_sum + pool.s[h], lam_sum + lam
        average, lam_average = s_sum / t, lam_sum / t
        value = float(lagrangian.value(average, lam_average))
        upper = lagrangian.upper(average)

        def lower() -> float:
            return float(lagrangian.value(pool.s, lam_average).min())  # noqa: B023

        if always_check or max(value - lower(), upper - value) <= nu:
            pool.ask(oracle, lagrangian.costs(lam_average))
        gap = max(value - lower(), upper - value)
        yield Play(
            iteration=t,
            n_calls=pool.n_calls,
            weights=np.bincount(times, minlength=len(pool)) / t,
            lam=lam_average,
            error=float(lagrangian.error(average)),
            violation=float(lagrangian.violation(average)),
            lower=lower(),
            upper=upper,
            gap=gap,
        )
        if gap <= nu:
            return
        reward = lagrangian.gamma(pool.s[h]) - lagrangian.c
        rewards += float(np.abs(reward).max(initial=0.0)) ** 2
        step = eta if eta is not None else np.sqrt(np.log(K + 1) / max(rewards, 1e-300))
        theta = theta + step * reward


def polished(
    plays: Iterable[Play], lagrangian: Lagrangian, oracle: Oracle, pool: Pool, *, nu: float
) -> Iterator[Play]:
    """Replace Q in every Play by the best mixture of the classifiers found, and stop on its gap.

    Whenever the pool has grown, the LP's multipliers are put to the oracle as well, which proves
    the gap or finds one more classifier.
    """
    lams, size = [np.zeros(lagrangian.n_constraints)], 0
    pool.ask(oracle, lagrangian.costs(lams[0]))
    for play in plays:
        # The averages play.lam would prove nothing: their best response may not be in the pool.
        if len(pool) > size:
            size = len(pool)
            lams.append(best_mixture(lagrangian, pool.s).lam)
            pool.ask(oracle, lagrangian.costs(lams[-1]))
        mixture = best_mixture(lagrangian, pool.s)
        lower, _ = lagrangian.lower(pool.s, np.array(lams))
        step = describe(lagrangian, pool, mixture, lower, play.iteration)
        yield step
        if step.gap <= nu:
            return


def describe(
    lagrangian: Lagrangian,
    pool: Pool,
    mixture: Mixture,
    lower: float,
    iteration: int,
    **more: Any,
) -> Play:
    """Return the Play of a mixture of the pool; ``more`` are further fields of it."""
    # A mixture may be older than the newest classifiers, which then have no weight in it.
    weights = np.append(mixture.weights, np.zeros(len(pool) - len(mixture.weights)))
    s = weights @ pool.s
    upper = lagrangian.upper(s)
    return Play(
        iteration=iteration,
        n_calls=pool.n_calls,
        weights=weights,
        lam=mixture.lam,
        error=float(lagrangian.error(s)),
        violation=float(lagrangian.violation(s)),
        lower=lower,
        upper=upper,
        gap=max(upper - lower, 0.0),
        **more,
    )
