"""What a user passes to a regressor, stated as a game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from equipoise.cells.table import Array, CellTable
from equipoise.cells.threshold_table import ThresholdTable
from equipoise.constraints.base import Constraint
from equipoise.constraints.regression import ThresholdParity
from equipoise.engines.numbers import NumberRows, RegressionOracle
from equipoise.estimators.regression.units import scaled, seen_in_units
from equipoise.game.bound_path import one_after_another
from equipoise.game.column_generation import column_generation, many_bounds, over_pool
from equipoise.game.feasibility import irreducible
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.rounds import Limits, Outcome, Pool, Reason, Round, T, run


class MeanLoss:
    """Objective: the mean loss, the first column of a table of thresholds."""

    def table(self, cells: Any) -> Array:
        """Return the column of the loss."""
        found: Array = cells.column(0)
        return found


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """The game of one data set.

    Attributes
    ----------
    rows : NumberRows
    cells : ThresholdTable
        Those of the oracle.
    constraint : Constraint
        As `for_numbers` returns it.
    lagrangian : Lagrangian
        With bounds in units of the loss; s(f) and ``nu`` are in units of ``cells.scale``.
    oracle : RegressionOracle
    pool : Pool
        Has the best constant from the start; to be asked within ``opened``.
    nu : float
    constant, constant_loss : float
        The best constant, and its mean loss.
    """

    rows: NumberRows
    cells: ThresholdTable
    constraint: Constraint
    lagrangian: Lagrangian
    oracle: RegressionOracle
    pool: Pool
    opened: AbstractContextManager
    nu: float
    constant: float
    constant_loss: float

    def run(self, rounds: Iterable[T], limits: Limits) -> Outcome[T]:
        """Run a solver; callback and progress get losses in their own units."""
        shown = replace(limits, seen_as=seen_in_units(self.lagrangian, self.cells), measure="loss")
        with self.opened:
            return run(rounds, shown, self.nu)

    @property
    def is_parity(self) -> bool:
        """Whether groups are compared at thresholds: then a constant meets every bound."""
        return isinstance(self.constraint, ThresholdParity)

    def search(self, queries: Queries) -> Iterator[Round]:
        """Return the rounds of the solver for the bounds of the constraint; see `last_of`."""
        game = scaled(self.lagrangian, self.cells)
        if self.is_parity:
            return (found for (found,) in self._search_parity([game], queries))

        def why(last: Round) -> Round:
            parts = irreducible(game, self.oracle, self.pool, last.conflict)
            return replace(last, conflict=parts)

        return column_generation(game, self.oracle, self.pool, nu=self.nu, why=why)

    def last_of(self, outcome: Outcome[Round], queries: Queries, free: int) -> Round:
        """Return the last round; of a search under parity that was stopped, the pool's best.

        It meets the bounds, since the constant does. ``free`` is the number of the answer to the
        loss alone.
        """
        is_finished = outcome.reason is Reason.FINISHED
        if is_finished or not self.is_parity or self.follows_path:
            return outcome.last
        game = scaled(self.lagrangian, self.cells)
        (best,) = over_pool([game], self.pool, queries, unconstrained=free, nu=self.nu)
        return replace(best, iteration=outcome.last.iteration)

    def search_many(self, bounds: Iterable[float], queries: Queries) -> Iterator[list[Round]]:
        """Return the rounds of the solver for several bounds, one for all groups each."""
        games = [scaled(self.lagrangian.with_bound(each), self.cells) for each in bounds]
        if self.is_parity:
            return self._search_parity(games, queries)
        return many_bounds(
            games, self.oracle, self.pool, nu=self.nu, batch=len(games), queries=queries
        )

    @property
    def follows_path(self) -> bool:
        """Whether bounds are solved one after the other: under parity, by the plug-in oracle.

        Its answers are nearly exact, and a path takes fewer of them. A learner that is trained for
        every question is tried at further multipliers, too, which a path does not do.
        """
        return self.is_parity and self.oracle.out_of_fold

    def _search_parity(self, games: list[Lagrangian], queries: Queries) -> Iterator[list[Round]]:
        """Return the rounds of the solver under parity."""
        oracle = self.oracle
        pool = self.pool
        if self.follows_path:
            asked = queries.optimality
            return one_after_another(games, oracle, pool, nu=self.nu, queries=asked)
        return many_bounds(games, oracle, pool, nu=self.nu, batch=len(games), queries=queries)


def game_of(
    constraint: Constraint, cells: ThresholdTable, known: CellTable | None = None
) -> Lagrangian:
    """Return the game of a constraint, for its mean loss."""
    return Lagrangian.from_moments(constraint.moments(cells, known), cells, MeanLoss())
