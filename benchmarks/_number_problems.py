"""Random problems of regression: people, predictors as their predictions, inequalities by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from equipoise import BoundedGroupLoss, DemographicParity
from equipoise.constraints import Constraint
from equipoise.estimators.regression.units import certified, in_units
from equipoise.estimators.results import as_settled
from equipoise.game.column_generation import column_generation
from equipoise.game.feasibility import irreducible
from equipoise.game.lagrangian import NU_SCALE
from equipoise.game.rounds import Limits, Pool, Round, run

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from by_hand import Array, Inequalities
from finite_regression import stated
from regression_problems import FiniteRegression, least_bound


@dataclass(frozen=True)
class Predictors:
    """Mixtures of the predictors of a problem: a row of weights for each."""

    problem: FiniteRegression
    weights: Array

    def error(self, loss: Any = None) -> Array:
        """Return the mean loss of each."""
        return self.weights @ self.problem.errors()


@dataclass(frozen=True)
class NumberCase:
    """A problem of regression, with what `truth` asks of one."""

    crowd: Predictors
    constraint: Constraint
    reference: str | None  #: None: the losses of groups are bounded.
    loss: None = None

    def rows(self, crowd: Predictors) -> Inequalities:
        """Return the inequalities in words, each with its values and its bound."""
        problem = crowd.problem
        groups, z = range(problem.group.max() + 1), problem.thresholds
        values = problem.rows(self.reference) @ crowd.weights.T
        if self.reference is None:
            names = [f"group loss: loss of {a}" for a in groups]
            bound = float(self.constraint.bound)  # type: ignore[attr-defined]
        else:
            start = "demographic parity of predictions >= "
            names = [
                f"{start}{at:.6g}: {a} {side} {b}"
                for a in groups
                for b in (groups[a + 1 :] if self.reference == "pairwise" else ["overall"])
                for side in ("above", "below")
                for at in z
            ]
            bound = float(self.constraint.eps)  # type: ignore[attr-defined]
        return {name: (value, bound) for name, value in zip(names, values, strict=True)}

    def solve(self, nu: float | None = None, max_iter: int = 600) -> Any:
        """Return what a fit has: a certificate, the gap asked for, and rounds."""
        game, oracle = stated(self.crowd.problem, self.constraint)
        pool, n = Pool(), len(self.crowd.problem.y)
        gap = NU_SCALE / np.sqrt(n) if nu is None else nu

        def why(last: Round) -> Round:
            return replace(last, conflict=irreducible(game, oracle, pool, last.conflict))

        rounds = column_generation(game, oracle, pool, nu=gap, why=why)
        outcome = run(rounds, Limits(max_iter), gap)
        last = as_settled(outcome.last, outcome.reason)
        found, game = in_units(last, game, pool, oracle.cells)
        certificate = certified(found, game, pool.s, oracle.cells.table(), gap, False)
        weights = np.zeros(len(self.crowd.problem.predictors))
        for h, weight in zip(found.mixture.indices, found.mixture.weights, strict=True):
            weights[pool.classifiers[h]] += weight
        return SimpleNamespace(
            certificate_=certificate,
            nu_=gap,
            n_iter_=outcome.n_rounds,
            max_iter=max_iter,
            weights=weights,
        )

    def outcome(self, fit: Any) -> Predictors:
        """Return the mixture that was found."""
        return replace(self.crowd, weights=fit.weights[None])

    def by_lot(self, after: Predictors) -> float:
        """Return 0: it is not stated who gets which number by lot."""
        return 0.0

    def any_decisions(self) -> float:
        """Return 0: labels have no loss, and a constant meets every parity."""
        return 0.0


def numbers(reference: str | None) -> Callable[[np.random.Generator], NumberCase]:
    """Return a maker of problems: parity against a reference, or bounds on the losses of groups."""

    def make(rng: np.random.Generator) -> NumberCase:
        problem = FiniteRegression.random(int(rng.integers(1 << 30)))
        problem.thresholds = problem.thresholds[:: max(len(problem.thresholds) // 3, 1)]
        crowd = Predictors(problem, np.eye(len(problem.predictors)))
        if reference is not None:
            eps = float(rng.choice([0.0, 0.02, 0.1]))
            return NumberCase(crowd, DemographicParity(eps, reference=reference), reference)
        bound = least_bound(problem.rows()) * float(rng.uniform(0.7, 1.5))
        return NumberCase(crowd, BoundedGroupLoss(bound), None)

    return make


NUMBERS = {
    "numbers: parity with everybody": numbers("overall"),
    "numbers: parity of pairs": numbers("pairwise"),
    "numbers: BoundedGroupLoss": numbers(None),
}
