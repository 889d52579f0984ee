"""The price of blindness: what it costs not to look at the group when deciding.

A blind classifier knows x, an aware one x and the group a. The probabilities that the plug-in
oracle learns tell both what they need, because ::

    P(Y = y | x, a)  is proportional to  P(Y = y | x) P(A = a | x, Y = y)

so the aware frontier is traced from the same models as the blind one, without a further fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array
from equipoise.constraints.base import Constraint
from equipoise.engines import engine_for
from equipoise.estimators.base import read_nu
from equipoise.estimators.frontier_point import games_of, read_bounds
from equipoise.faces import Columns, Face
from equipoise.game.column_generation import many_bounds, over_pool
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.objectives import Loss, Objective
from equipoise.game.rounds import Limits, Oracle, Pool, Response, run
from equipoise.oracles.decisions import select
from equipoise.oracles.plugin import SharedProbabilities
from equipoise.oracles.specs import Plugin
from equipoise.rows.people import People

#: The most rounds of the game for either frontier.
_MOST_ROUNDS = 1000


@dataclass(frozen=True)
class PriceOfBlindness(Face):
    """Errors of blind and aware classifiers within the same bounds; printed, it is a table.

    Attributes
    ----------
    bounds, blind, aware : arrays of equal length
        The bounds, and the least errors found within them, of decisions that do not look at the
        group and of decisions that do. Measured out of fold.
    """

    bounds: Array
    blind: Array
    aware: Array

    @property
    def price(self) -> Array:
        """Error that looking at the group would save, bound by bound."""
        return self.blind - self.aware

    def _columns(self) -> Columns:
        names = ("bound", "blind", "aware", "price")
        arrays = (self.bounds, self.blind, self.aware, self.price)
        return dict(zip(names, arrays, strict=True))

    def __str__(self) -> str:
        lines = ["bound   blind   aware   price"]
        rows = zip(*self._columns().values(), strict=True)
        lines += ["  ".join(f"{number + 0.0:.4f}" for number in row) for row in rows]
        return "\n".join(lines)


def price_of_blindness(
    estimator: Any,
    constraint: Constraint,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    bounds: ArrayLike | None = None,
    objective: Objective | Loss | None = None,
    nu: float | None = None,
    cv: Any = 5,
    positive: Any = None,
) -> PriceOfBlindness:
    """Compare the best decisions that see X alone with the best that see the group as well.

    Both frontiers are those of the plug-in oracle and come from the same fits of the learner:
    those of one ``Frontier(..., oracle="plugin")``. Leave the group out of X; otherwise nobody is
    blind.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
    constraint : Constraint
    X, y, sensitive_features, control_features, sample_weight
        As for `FairClassifier.fit`.
    bounds, objective, nu, cv, positive
        As for `Frontier`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 2000)
    >>> X = rng.normal(size=(2000, 2)) + A[:, None]
    >>> y = (X.sum(axis=1) + rng.normal(size=2000) > 1).astype(int)
    >>> found = price_of_blindness(LogisticRegression(), DemographicParity(), X, y,
    ...                            sensitive_features=A, bounds=[0.01, 0.3])
    >>> bool(found.price[0] > 0.02), bool(abs(found.price[1]) < 0.01)
    (True, True)
    """
    people = People(X, y, sensitive_features, control_features, sample_weight, positive=positive)
    engine = engine_for(X).open(people, estimator=estimator)
    Plugin(cv=cv).check(estimator, weighted=sample_weight is not None)
    stated = Lagrangian.from_moments(constraint.moments(engine.cells), engine.cells, objective)
    traced, gap = read_bounds(bounds), read_nu(nu, stated)
    games = games_of(constraint, stated, traced)
    blind = engine.plugin(estimator, cv, aware=False)
    if blind.shared is None:
        raise TypeError(
            "price_of_blindness needs rows in memory; load the data, or a sample of it."
        )
    return PriceOfBlindness(
        bounds=traced,
        blind=_errors(games, blind, gap),
        aware=_errors(games, _AwareOracle(blind.shared), gap),
    )


def _errors(games: list[Lagrangian], oracle: Oracle, nu: float) -> Array:
    pool, queries = Pool(), Queries([], [])
    run(many_bounds(games, oracle, pool, nu=nu, queries=queries), Limits(_MOST_ROUNDS))
    return np.array(
        [found.error for found in over_pool(games, pool, queries, unconstrained=0, nu=nu)]
    )


class _AwareOracle(Oracle):
    """Best responses of those who know the group, from the probabilities of those who do not."""

    exact, out_of_fold = False, True

    def __init__(self, blind: SharedProbabilities) -> None:
        cells = blind.cells
        group = blind.deployed.table.group
        inside = group[cells.code][:, None] == group[None, :]
        joint = np.where(inside, blind.measured, 0.0)
        total = joint.sum(axis=1, keepdims=True)
        # Where a group was thought impossible, the label alone tells what to expect.
        label = blind.measured @ (cells.label[:, None] == cells.label[None, :])
        joint = np.where(total > 0, joint, np.where(inside, label, 0.0))
        self.cells = cells
        self.probabilities = joint / joint.sum(axis=1, keepdims=True)

    def best_response(self, costs: Array) -> Response:
        """Select those who cost less than nothing."""
        return Response(None, self.cells.sum(select(self.probabilities, costs)))
