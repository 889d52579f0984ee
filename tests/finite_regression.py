"""The game of a regressor over a finite class of predictors."""

from __future__ import annotations

from itertools import islice

import numpy as np
from regression_problems import LOSSES

from equipoise.cells import Cells
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.constraints.regression import for_numbers
from equipoise.estimators.regression.problem import game_of
from equipoise.game.bound_path import one_after_another
from equipoise.game.column_generation import column_generation
from equipoise.game.rounds import Pool, Response


class Finite:
    """An exact oracle over predictions that are given."""

    exact, out_of_fold = True, False

    def __init__(self, cells, predictors):
        self.cells = cells
        self.s = np.array([cells.sum(f) for f in predictors])

    def best_response(self, costs):
        best = int((self.s @ costs).argmin())
        return Response(best, self.s[best])

    def start_from(self, classifier):
        pass


def stated(problem, constraint):
    """Return the game and the oracle."""
    zeros = np.zeros(len(problem.y), dtype=int)
    cells = Cells.from_columns(zeros, {"group": problem.group}, weight=problem.weight)
    cells = cells.as_kind(
        ThresholdCells,
        target=problem.y,
        thresholds=problem.thresholds,
        loss=LOSSES[problem.loss],
        scale=1.0,
    )
    return game_of(for_numbers(constraint), cells), Finite(cells, problem.predictors)


def play(problem, constraint, nu=1e-6):
    """Return the last round of the game of a constraint."""
    game, oracle = stated(problem, constraint)
    *_, last = islice(column_generation(game, oracle, Pool(), nu=nu), 600)
    return last


def path(problem, constraint, bounds, nu=1e-6):
    """Return the last round of each bound, one after the other, from a pool with a constant."""
    game, oracle = stated(problem, constraint)
    pool, games = Pool(), [game.with_bound(bound) for bound in bounds]
    pool.add(len(oracle.s) - 1, oracle.s[-1])  # a constant, where seed % 5 is not 0
    *_, last = islice(one_after_another(games, oracle, pool, nu=nu), 2000)
    return last
