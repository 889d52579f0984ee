"""What is known for every bound at once: the pool, and the lower values that queries prove with it.

The best response to multipliers lambda makes ``err(h) + lambda . gamma(h)`` least, whatever the
bounds c are. That number is kept for each query; less ``lambda . c`` it is a lower value for the
game with bounds c. It is the least over all classifiers known, so it falls where a learner that is
not exact is found to have answered badly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.table import Array
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.rounds import Pool

#: Queries go this far from the best multipliers so far towards those of a program, and so far where
#: it has more than so many: then it takes long to find out about all of them.
TOWARDS_LP, MANY_MULTIPLIERS, TOWARDS_MANY = 0.4, 8, 0.7


class Queries(NamedTuple):
    """The multipliers put to the oracle so far, by the stage in which they were."""

    optimality: Any
    feasibility: Any


class Known:
    """What is known for every bound: of the pool, and what the queries prove with it.

    ``s`` (P, C), ``error`` (P,) and ``gamma`` (P, K) are those of the pool, and ``highest`` (K,) is
    the largest gamma of each inequality; ``grew`` is whether the last update found new ones.
    ``errors`` is what each stage minimises: the error, or nothing but the excess; ``duals`` has the
    lower values of each.
    All of them are as of the last `update`.
    """

    def __init__(self, game: Lagrangian, pool: Pool, queries: Queries) -> None:
        K = len(game.c)
        self.game, self.pool, self.queries = game, pool, queries
        self.error, self.gamma, self._room = np.zeros(0), np.zeros((0, K)), np.zeros((0, K))
        self.highest, self.grew = np.full(K, -np.inf), False
        self.errors = dict.fromkeys(Queries._fields, self.error)
        self.duals = {stage: DualBounds(K) for stage in Queries._fields}

    def update(self) -> None:
        """Take in what has come to the pool and to the queries."""
        self.s = self.pool.s
        new = self.s[len(self.error) :]
        self.grew = len(new) > 0
        self.error = np.append(self.error, self.game.error(new))
        if len(new):
            self._add(self.game.gamma(new))
        self.errors = {"optimality": self.error, "feasibility": np.zeros_like(self.error)}
        for stage, duals in self.duals.items():
            lams = getattr(self.queries, stage)[len(duals.lams) :]
            duals.update(self.errors[stage], self.gamma, lams)

    def step_towards(self, multipliers: Array) -> float:
        """Return how far to go from the best multipliers towards those of a program.

        All the way where nothing new was found on it: they find something, or close the gap.
        """
        if not self.grew:
            return 1.0
        are_many = np.count_nonzero(multipliers > TOLERANCE) > MANY_MULTIPLIERS
        return TOWARDS_MANY if are_many else TOWARDS_LP

    def _add(self, gamma: Array) -> None:
        """Append to gamma, which has room for as many again, so that few are copied twice."""
        known, size = len(self.gamma), len(self.gamma) + len(gamma)
        if size > len(self._room):
            self._room = np.empty((2 * size, gamma.shape[1]))
            self._room[:known] = self.gamma
        self._room[known:size] = gamma
        self.gamma = self._room[:size]
        self.highest = np.maximum(self.highest, gamma.max(axis=0))


class DualBounds:
    """For each query the least of ``err + lambda . gamma`` over a pool that grows.

    Of many inequalities few ever have a multiplier: tables are of those that have.

    Examples
    --------
    >>> duals, error, gamma = DualBounds(1), np.array([0.1, 0.3]), np.array([[0.5], [0.0]])
    >>> duals.update(error[:1], gamma[:1], np.array([[1.0]]))
    >>> round(duals.lower(np.array([0.2]))[0], 2)
    0.4
    >>> duals.update(error, gamma)  # the second does better
    >>> round(duals.lower(np.array([0.2]))[0], 2)
    0.1
    """

    def __init__(self, n_constraints: int) -> None:
        self.lams: list[Array] = []
        self._columns = np.zeros(0, dtype=np.intp)
        self._table = np.zeros((0, 0))
        self._is_in, self._values = np.zeros(n_constraints, dtype=bool), np.zeros(0)
        self._known = 0

    def update(self, error: Array, gamma: Array, lams: ArrayLike = ()) -> None:
        """Take in error (P,) and gamma (P, K) of the pool as it is now, and further queries."""
        if len(error) > self._known:
            new = slice(self._known, len(error))
            if self.lams:
                least = (error[new] + self._table @ gamma[new][:, self._columns].T).min(axis=1)
                self._values = np.minimum(self._values, least)
            self._known = len(error)
        for lam in np.asarray(lams):
            at = np.flatnonzero(lam)
            self._values = np.append(self._values, (error + lam[at] @ gamma[:, at].T).min())
            self._add(lam, at)

    def _add(self, lam: Array, at: NDArray[np.intp]) -> None:
        new = at[~self._is_in[at]]
        self._is_in[new] = True
        self._columns = np.append(self._columns, new)
        table = np.zeros((len(self.lams) + 1, len(self._columns)))
        table[:-1, : self._table.shape[1]], table[-1] = self._table, lam[self._columns]
        self._table = table
        self.lams.append(lam)

    def knows(self, lam: Array) -> bool:
        """Whether these very multipliers were queried.

        >>> duals = DualBounds(2)
        >>> duals.update(np.zeros(1), np.zeros((1, 2)), [[0.0, 1.5]])
        >>> duals.knows(np.array([0.0, 1.5])), duals.knows(np.array([1.5, 0.0]))
        (True, False)
        """
        if lam[~self._is_in].any():
            return False
        return bool((self._table == lam[self._columns]).all(axis=1).any())

    def lower(self, c: Array) -> tuple[float, Array]:
        """Return the best lower value for bounds ``c``, and the multipliers that prove it."""
        bounds = self._values - self._table @ c[self._columns]
        best = int(bounds.argmax())
        return float(bounds[best]), self.lams[best]
