"""The problems of `finite_problems`, handed to the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from finite_problems import Array, FiniteProblem, Key
from numpy.typing import NDArray
from printed import Multipliers

from equipoise import DemographicParity, EqualizedOdds
from equipoise.cells import Cells
from equipoise.constraints import Moments
from equipoise.constraints.base import Constraint
from equipoise.game import Lagrangian
from equipoise.game.mixture import Mixture
from equipoise.oracles import ExactOracle


class Game(NamedTuple):
    """What the algorithms take."""

    cells: Cells
    moments: Moments
    lagrangian: Lagrangian
    oracle: ExactOracle


def constraint_of(problem: FiniteProblem) -> Constraint:
    return {"DP": DemographicParity, "EO": EqualizedOdds}[problem.notion](eps=problem.eps)


def game_of(problem: FiniteProblem, B: float = np.inf) -> Game:
    cells = Cells.from_columns(problem.y, {"group": problem.group}, weight=problem.weight)
    moments = constraint_of(problem).moments(cells)
    lagrangian = Lagrangian.from_moments(moments, cells, B=B)
    return Game(cells, moments, lagrangian, ExactOracle.from_predictions(problem.H, cells))


def key_of(row: Any) -> Key:
    """Return the paper's index of one of the library's rows."""
    return Key(row.group, row.event.label, row.side)


def paper_order(problem: FiniteProblem, rows: Sequence[Any]) -> NDArray[np.intp]:
    """Return where the paper's indices K are among the library's rows."""
    keys = [key_of(row) for row in rows]
    assert sorted(map(str, keys)) == sorted(map(str, problem.keys))
    return np.array([keys.index(key) for key in problem.keys])


class Listed:
    """A fitted classifier: it predicts one column of its features, which are H transposed."""

    def __init__(self, number: int) -> None:
        self.number = number

    def predict(self, X: NDArray) -> NDArray:
        return X[:, self.number]


def listed(problem: FiniteProblem) -> list[Listed]:
    """Return the members of H as fitted classifiers, for an estimator that takes a list."""
    return [Listed(number) for number in range(len(problem.H))]


def fit(estimator: Any, problem: FiniteProblem) -> Any:
    return estimator.fit(
        problem.H.T, problem.y, sensitive_features=problem.group, sample_weight=problem.weight
    )


def weights_in_list(problem: FiniteProblem, classifiers: Sequence[int], mixture: Mixture) -> Array:
    """Return Q over the whole list, from a mixture of a pool of the list's numbers."""
    q = np.zeros(len(problem.H))
    np.add.at(q, mixture.members(classifiers), mixture.weights)
    return q


def library_costs(problem: FiniteProblem, lam: Multipliers) -> Array:
    """Return C^1 - C^0 of every example, as the library sends it to a learner."""
    game = game_of(problem)
    vector = np.zeros(len(lam))
    vector[paper_order(problem, game.moments.rows)] = list(lam.values())
    return game.cells.spread(game.lagrangian.costs(vector))
