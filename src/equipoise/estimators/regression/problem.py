"""What a user passes to a regressor, stated as a game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable
from equipoise.cells.threshold_table import LossFunction, ThresholdCells
from equipoise.constraints.base import Constraint
from equipoise.constraints.regression import ThresholdParity
from equipoise.engines import engine_for
from equipoise.engines.memory import DiskEngine, MemoryEngine
from equipoise.estimators.base import read_nu
from equipoise.estimators.regression.units import scaled
from equipoise.game.bound_path import one_after_another
from equipoise.game.column_generation import column_generation, many_bounds
from equipoise.game.feasibility import irreducible
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.rounds import Pool, Round
from equipoise.oracles.regression import (
    ConstantRegressor,
    PluginGuesses,
    PluginRegressionOracle,
    RefitRegressionOracle,
    best_constant,
)
from equipoise.oracles.trainers.regression import fitted_regressor, numbers
from equipoise.rows.groups import read_groups
from equipoise.rows.numbers import read_numbers, read_thresholds
from equipoise.rows.people import People
from equipoise.rows.probabilities import Probabilities
from equipoise.rows.validation import check_index, read_columns, read_weights


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
    X : table of n rows
    cells : ThresholdCells
    constraint : Constraint
        As `for_numbers` returns it.
    lagrangian : Lagrangian
        With bounds in units of the loss; s(f) and ``nu`` are in units of ``cells.scale``.
    oracle : oracle
    pool : Pool
        Has the best constant from the start.
    nu : float
    constant, constant_loss : float
        The best constant, and its mean loss.
    """

    X: Any
    cells: ThresholdCells
    constraint: Constraint
    lagrangian: Lagrangian
    oracle: PluginRegressionOracle | RefitRegressionOracle
    pool: Pool
    nu: float
    constant: float
    constant_loss: float

    @property
    def is_parity(self) -> bool:
        """Whether groups are compared at thresholds: then a constant meets every bound."""
        return isinstance(self.constraint, ThresholdParity)

    def search(self) -> Iterator[Round]:
        """Return the rounds of the solver for the bounds of the constraint."""
        game = scaled(self.lagrangian, self.cells)
        if self.is_parity:
            each = one_after_another([game], self.oracle, self.pool, nu=self.nu)
            return (found for (found,) in each)

        def why(last: Round) -> Round:
            parts = irreducible(game, self.oracle, self.pool, last.conflict)
            return replace(last, conflict=parts)

        return column_generation(game, self.oracle, self.pool, nu=self.nu, why=why)

    def search_many(self, bounds: Iterable[float], queries: Queries) -> Iterator[list[Round]]:
        """Return the rounds of the solver for several bounds, one for all groups each."""
        games = [scaled(self.lagrangian.with_bound(each), self.cells) for each in bounds]
        if self.is_parity:
            asked = queries.optimality
            return one_after_another(games, self.oracle, self.pool, nu=self.nu, queries=asked)
        return many_bounds(
            games, self.oracle, self.pool, nu=self.nu, batch=len(games), queries=queries
        )


@dataclass(frozen=True, eq=False)
class Told:
    """The rows of a fit, read: features, groups, target, and the loss."""

    X: Any
    groups: Cells
    y: Array
    loss: LossFunction

    def problem(
        self, constraint: Constraint, estimator: Any, learner: Any, wanted: Any, *, cv: Any, nu: Any
    ) -> RegressionProblem:
        """Return the game; ``learner`` is that of the groups for plug-in, None for refit."""
        groups, weight = self.groups, self.groups.row_weights()
        constant = best_constant(self.y, weight, self.loss)
        lost = float(weight @ self.loss(constant - self.y))
        scale = lost or 1.0
        gap = read_nu(nu, groups.n_effective) / (1.0 if nu is None else scale)
        guesses = None
        if learner is not None:
            rows = self.X, groups, self.y, self.loss
            guesses = PluginGuesses(estimator, learner, *rows, cv)
        z = np.array([])
        if isinstance(constraint, ThresholdParity):
            z = self._thresholds(read_thresholds(wanted), estimator, guesses)
        cells = groups.as_kind(
            ThresholdCells, target=self.y, thresholds=z, loss=self.loss, scale=scale
        )
        oracle: PluginRegressionOracle | RefitRegressionOracle
        if guesses is None:
            oracle = RefitRegressionOracle(estimator, self.X, cells)
        else:
            oracle = PluginRegressionOracle(guesses, cells)
        pool = Pool()
        pool.add(ConstantRegressor(constant), cells.sum(np.full(len(self.y), constant)))
        game = game_of(constraint, cells)
        pool.keep(game.costs(np.zeros(game.n_constraints)))
        return RegressionProblem(self.X, cells, constraint, game, oracle, pool, gap, constant, lost)

    def _thresholds(
        self, wanted: int | Array, estimator: Any, guesses: PluginGuesses | None
    ) -> Array:
        """Return the thresholds: those given, or quantiles of unconstrained predictions."""
        if not isinstance(wanted, int):
            return wanted
        if guesses is not None:
            centre = guesses.centre
        else:
            plain = fitted_regressor(estimator, self.X, self.y, self.groups.weight)
            centre = numbers(plain, self.X, len(self.y))
        return np.unique(np.quantile(centre, np.arange(1, wanted + 1) / (wanted + 1)))


def game_of(
    constraint: Constraint, cells: ThresholdCells, known: CellTable | None = None
) -> Lagrangian:
    """Return the game of a constraint, for its mean loss."""
    return Lagrangian.from_moments(constraint.moments(cells, known), cells, MeanLoss())


def check_local(X: Any) -> None:
    """Raise unless rows are in memory."""
    kind = engine_for(X)
    if kind is not MemoryEngine:
        where = "on disk" if kind is DiskEngine else "a Dask collection"
        raise TypeError(
            f"X is {type(X).__name__}, {where}; regressors are fitted to rows in memory only, an "
            "array or a data frame. Load them, or a sample of them."
        )


def read_rows(people: People) -> tuple[Cells, Array]:
    """Check the arguments; return the cells, which are groups and strata, and the target."""
    n = _num_samples(people.X)
    people.check()
    y = read_numbers(people.y, n)
    given = people.sensitive_features
    uncertain = given.values() if isinstance(given, dict) else [given]
    if any(isinstance(each, Probabilities) for each in uncertain):
        raise TypeError(
            "sensitive_features are Probabilities; regressors need the groups themselves."
        )
    names = ("sensitive_features", "control_features", "sample_weight")
    check_index(X=people.X, y=people.y, **{name: getattr(people, name) for name in names})
    sensitive, rules = read_groups(given, n, people.missing, people.bins)
    control = {}
    if people.control_features is not None:
        control = read_columns(people.control_features, n, "control_features", "stratum")
    weight = read_weights(people.sample_weight, n)
    cells = Cells.from_columns(np.zeros(n, dtype=np.int8), sensitive, control, weight)
    return cells.as_kind(Cells, rules=rules), y
