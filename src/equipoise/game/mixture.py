"""Mixtures of the classifiers in a pool: the one door to the linear program.

Every program here chooses weights Q of classifiers and slacks z of bounds ::

    minimise  cost . Q + price . z   subject to   excess Q <= E z,  sum Q = 1,  0 <= z <= most

where column h of ``excess`` is gamma(h) - c. With one slack that loosens every bound and costs B,
it is problem (P) restricted to the pool; without a cost, it is the least loosening of the bounds.

Of many inequalities few bind. Programs of more than a few start with those that are likely to, and
take in others as they are found exceeded, until none is: what is left out then holds, and its
multiplier is 0, so that the solution is one of the whole program.

A program that differs little from one that was solved starts from the vertex of that one, see
`equipoise.game.simplex`. Where that leads nowhere, and where nothing is known to start from, HiGHS
solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array

from equipoise.cells.table import Array
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.simplex import SimplexProgram, Vertex

#: The programs are small and dense: presolving them takes longer than it saves.
_LP_OPTIONS = {
    "presolve": False,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
#: Of equally good classifiers the later ones are mixed: a constant, which is there from the start,
#: gives way to an answer of the learner. This is what a step back in the pool costs.
_TIE = 1e-9
#: Excesses below this are rounding: they make no bound worth a multiplier.
_ROUNDING = 1e-12
#: Programs of so many inequalities are solved at once. Larger ones start with as many, and take in
#: at most as many at a time. A round number, not tuned.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Mixture:
    """A randomized classifier Q over a pool, and the multipliers that the program found with it.

    Attributes
    ----------
    indices : array of shape (m,)
        Numbers of the classifiers in the pool that are mixed.
    weights : array of shape (m,)
        Their probabilities, all positive.
    multipliers : array of shape (K,)
        Dual solution of the program over the pool.
    slacks : array
        By how much bounds are exceeded, in the directions of the program.
    vertex : Vertex, optional
        Where the program was solved, for others to start from.
    """

    indices: NDArray[np.intp]
    weights: Array
    multipliers: Array
    slacks: Array
    vertex: Vertex | None = field(default=None, repr=False)

    @classmethod
    def of_weights(cls, weights: Array, multipliers: Array, slacks: Array | float = 0.0) -> Mixture:
        """Return the mixture of the classifiers whose weight is positive.

        >>> Mixture.of_weights(np.array([0.0, 1.0, 3.0]), np.zeros(2)).weights.tolist()
        [0.25, 0.75]
        """
        indices = np.flatnonzero(weights)
        mixed = weights[indices] / weights[indices].sum()
        return cls(indices, mixed, multipliers, np.atleast_1d(slacks))

    @property
    def slack(self) -> float:
        """The sum of the slacks."""
        return float(self.slacks.sum())

    def shares(self, s: Array) -> Array:
        """Return s(Q), the mean of the members' shares, from those of the pool (P, C)."""
        return self.weights @ s[self.indices]

    def members(self, classifiers: Sequence[Any]) -> list[Any]:
        """Return the classifiers of the pool that are mixed."""
        return [classifiers[h] for h in self.indices]


def best_mixture(lagrangian: Lagrangian, s: Array) -> Mixture:
    """Return the mixture of least err(Q) + B z with gamma(Q) <= c + z, with the LP's own duals.

    This is (P) restricted to the classifiers ``s``, and |lambda|_1 <= B. With an infinite B the
    constraints are hard, and some mixture must meet them. The simplex method returns a vertex, so
    at most K + 1 classifiers have weight.
    """
    (mixture,) = best_mixtures([lagrangian], s)
    return mixture


def best_mixtures(games: Sequence[Lagrangian], s: Array) -> list[Mixture]:
    """Return the best mixture of the classifiers ``s`` for each of several games.

    See `solve`.
    """
    return solve([Program(game.error(s), game.gamma(s), game.c, game.B) for game in games])


class Program(NamedTuple):
    """Problem (P) over a pool: error (P,) and gamma (P, K) of its classifiers, c (K,) and B.

    ``start`` is the mixture of a program that differs little from it, of a part of the pool, and
    ``highest`` (K,) the largest gamma of each row, where it is known.
    """

    error: Array
    gamma: Array
    c: Array
    B: float
    start: Mixture | None = None
    highest: Array | None = None


def solve(programs: Sequence[Program]) -> list[Mixture]:
    """Return the best mixture for each of several programs over the same pool.

    Those that HiGHS solves are one to it, whose blocks have nothing in common: that takes little
    longer than any one of them.
    """
    size, n_constraints = programs[0].gamma.shape
    if size == 1:
        return [_only_one(program) for program in programs]
    # Hard constraints are met as they are if possible, else within half the tolerance.
    for most in (0.0, TOLERANCE / 2):
        mixtures, message = _solve([_block_of(program, most) for program in programs])
        if mixtures:
            return mixtures
    raise RuntimeError(
        f"the linear program over {size} classifiers and {n_constraints} constraints "
        f"failed: {message} Check the constraint for extreme coefficients."
    )


def _only_one(program: Program) -> Mixture:
    excess = program.gamma[0] - program.c
    most = max(float(excess.max(initial=0.0)), 0.0)
    lam = np.zeros(len(excess))
    if most > TOLERANCE:
        lam[excess.argmax()] = program.B
    return Mixture.of_weights(np.ones(1), lam, most)


def least_slack_mixture(excess: Array, directions: Array) -> Mixture:
    """Return the mixture that needs the least sum of slacks.

    Parameters
    ----------
    excess : array of shape (P, K)
        gamma(h) - c of each classifier.
    directions : array of shape (K, m)
        E: by how much a unit of each of m slacks loosens each row.
    """
    n_slacks = directions.shape[1]
    block = _Block(
        cost=np.zeros(len(excess)),
        gamma=excess,
        c=np.zeros(excess.shape[1]),
        directions=directions,
        price=np.ones(n_slacks),
        most=np.inf,
    )
    mixtures, message = _solve([block])
    if not mixtures:
        raise RuntimeError(f"the linear program for the least slack failed: {message}")
    return mixtures[0]


def cheapest_mixtures(costs: Array, excess: Array, start: Vertex | None = None) -> list[Mixture]:
    """Return the mixture of least cost within some inequalities for each of several costs.

    Parameters
    ----------
    costs : array of shape (m, P)
        What each classifier costs.
    excess : array of shape (P, R)
        By how much each classifier exceeds each inequality. Nothing is returned where no mixture
        meets them all.
    start : Vertex, optional
        Of a program that differs little from the first.
    """
    K, free, found = excess.shape[1], np.zeros(1), list[Mixture]()
    rows, highest = (excess, np.zeros(K), np.ones((K, 1))), excess.max(axis=0)
    vertex = Vertex.alone(int(costs[0].argmin()))
    if start is not None and start.members.min() >= 0:  # slacks are none here
        vertex = start
    for cost in costs:  # each from the vertex of the one before, which is within the inequalities
        likely = vertex.weights @ excess[vertex.members]
        best, _ = _solve([_Block(cost, *rows, free, 0.0, vertex, likely, highest)])
        found += best
        vertex = (found and found[-1].vertex) or vertex
    return found if len(found) == len(costs) else []


def least_excesses(sets: Sequence[Array]) -> Array:
    """Return the least excess that a mixture of each set has over its worst inequality.

    ``sets`` holds the excesses (P, R) of the classifiers of each set; what is below zero is zero.
    """
    K, one = sets[0].shape[1] if len(sets) else 0, np.ones(1)
    rows = np.zeros(K), np.ones((K, 1))
    blocks = [_Block(np.zeros(len(excess)), excess, *rows, one, np.inf) for excess in sets]
    return np.array([mixture.slack for mixture in _solve(blocks)[0]] or [np.inf] * len(sets))


class _Block:
    """The program of one game over a part of its rows.

    Rows that every classifier meets are left out for good, for mixtures do.
    """

    def __init__(
        self,
        cost: Array,
        gamma: Array,
        c: Array,
        directions: Array,
        price: Array,
        most: float,
        start: Vertex | None = None,
        likely: Array | None = None,
        highest: Array | None = None,
    ) -> None:
        self._gamma, self._c, self._directions = gamma, c, directions
        # Without slacks, those of another program have no place in a vertex.
        keeps = start is not None and (most == np.inf or start.members.min() >= 0)
        self._vertex = start if keeps and most in (0.0, np.inf) else None
        self._n_slacks = len(price) if most else 0
        self.n_classifiers = len(cost)
        self.cost = np.append(cost, price)
        self.bounds = np.zeros((len(self.cost), 2))
        self.bounds[: len(cost), 1] = np.inf
        self.bounds[len(cost) :, 1] = most
        self.sum_to_one = np.append(np.ones(len(cost)), np.zeros(len(price)))[None, :]
        self._may_bind = (gamma.max(axis=0) if highest is None else highest) - c > _ROUNDING
        first = gamma[cost.argmin()] - c if likely is None else likely
        self._is_in = np.zeros(len(c), dtype=bool)
        self._is_in[_largest(np.flatnonzero(self._may_bind), first)] = True
        if self._vertex is not None:
            self._is_in[self._vertex.tight] = True
        self.rows = np.flatnonzero(self._is_in)

    @property
    def A(self) -> Array:
        """The coefficients of the rows that are in."""
        excess = self._gamma[:, self.rows] - self._c[self.rows]
        return np.column_stack([excess.T, -self._directions[self.rows]])

    def is_solved_from_vertex(self) -> bool:
        """Solve from the vertex that is known; False where there is none, or it leads nowhere."""
        if self._vertex is None:
            return False
        n = self.n_classifiers + self._n_slacks
        tight = np.searchsorted(self.rows, self._vertex.tight)
        program = SimplexProgram(
            self.cost[:n], self.A[:, :n].T, np.zeros(len(self.rows)), self._n_slacks
        )
        found = program.from_vertex(replace(self._vertex, tight=tight))
        if found is None:
            self._vertex = None
            return False
        self._vertex = replace(found, tight=self.rows[found.tight])
        self.x, self.multipliers = np.zeros(len(self.cost)), np.zeros(len(self._c))
        self.x[found.members] = found.weights
        self.multipliers[self._vertex.tight] = found.multipliers
        return True

    def takes_in_rows(self) -> bool:
        """Whether the solution exceeds rows that are not in; they are taken in."""
        weights, slacks = self.x[: self.n_classifiers], self.x[self.n_classifiers :]
        mixed = np.flatnonzero(weights)
        over = weights[mixed] @ self._gamma[mixed] - weights.sum() * self._c
        over -= self._directions @ slacks
        exceeded = self._may_bind & (over > _LP_OPTIONS["primal_feasibility_tolerance"])
        new = _largest(np.flatnonzero(exceeded & ~self._is_in), over)
        self._is_in[new] = True
        self.rows = np.flatnonzero(self._is_in)
        return len(new) > 0

    def mixture(self) -> Mixture:
        """Return the mixture of the solution."""
        weights, slacks = self.x[: self.n_classifiers], self.x[self.n_classifiers :]
        weights = np.where(weights > 1e-12, weights, 0.0)
        mixture = Mixture.of_weights(weights, self.multipliers, np.maximum(slacks, 0.0))
        return replace(mixture, vertex=self._vertex)


def _block_of(program: Program, most: float) -> _Block:
    is_hard, before, likely = not np.isfinite(program.B), program.start, None
    cost = program.error - _TIE * np.arange(len(program.error))
    if before is not None:  # what is nearest to its bound, as mixed before
        likely = before.weights @ program.gamma[before.indices] - program.c
    return _Block(
        cost=cost,
        gamma=program.gamma,
        c=program.c,
        directions=np.ones((len(program.c), 1)),
        price=np.array([0.0 if is_hard else program.B]),
        most=most if is_hard else np.inf,
        start=(before and before.vertex) or Vertex.alone(int(cost.argmin())),
        likely=likely,
        highest=program.highest,
    )


def _largest(rows: NDArray[np.intp], values: Array) -> NDArray[np.intp]:
    """Return those of the rows with the largest values, as many as are taken in at once."""
    if len(rows) <= _AT_ONCE:
        return rows
    return rows[np.argpartition(-values[rows], _AT_ONCE)[:_AT_ONCE]]


def _solve(blocks: list[_Block]) -> tuple[list[Mixture], str]:
    """Return the mixture of each block, or none and the solver's message."""
    pending = blocks
    while pending:
        left = [block for block in pending if not block.is_solved_from_vertex()]
        if left and (message := _solve_together(left)):
            return [], message
        pending = [block for block in pending if block.takes_in_rows()]
    return [block.mixture() for block in blocks], ""


def _solve_together(blocks: list[_Block]) -> str:
    """Solve the programs of several blocks as one, each over the rows that are in.

    Returns the solver's message where there is no solution, else nothing.
    """
    solution = linprog(
        np.concatenate([block.cost for block in blocks]),
        A_ub=_block_diagonal([block.A for block in blocks]),
        b_ub=np.zeros(sum(len(block.rows) for block in blocks)),
        A_eq=_block_diagonal([block.sum_to_one for block in blocks]),
        b_eq=np.ones(len(blocks)),
        bounds=np.concatenate([block.bounds for block in blocks]),
        method="highs-ds",
        options=_LP_OPTIONS,
    )
    if solution.x is None:
        return str(solution.message)
    columns = np.cumsum([len(block.cost) for block in blocks])[:-1]
    rows = np.cumsum([len(block.rows) for block in blocks])[:-1]
    parts = np.split(solution.x, columns), np.split(solution.ineqlin.marginals, rows)
    for block, x, marginals in zip(blocks, *parts, strict=True):
        block.x, block.multipliers = x, np.zeros(len(block._c))
        block.multipliers[block.rows] = np.maximum(-marginals, 0.0)
    return ""


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
