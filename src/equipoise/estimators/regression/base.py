"""What FairRegressor and its frontier share: parameters, and the game stated from them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import RegressorTags, assert_all_finite, get_tags
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.base import Constraint
from equipoise.constraints.fairlearn_words import SaysNewWords
from equipoise.constraints.regression import ThresholdParity, for_numbers
from equipoise.engines import engine_for
from equipoise.estimators.base import read_nu
from equipoise.estimators.evidence import HasEvidence
from equipoise.estimators.pools import open_fits
from equipoise.estimators.regression.problem import RegressionProblem, game_of
from equipoise.estimators.results import (
    Remark,
    remarks_on_bounds,
    warn_of,
    warn_of_bounds,
    warn_of_stop,
)
from equipoise.exceptions import ConstantDecisionWarning
from equipoise.game.certificate import Certificate
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.rounds import Outcome, Pool, Reason, Round
from equipoise.oracles.learners import check_probabilistic, check_trains
from equipoise.oracles.regression import ConstantRegressor
from equipoise.oracles.trainers.regression import weight_name
from equipoise.rows.numbers import read_loss, read_thresholds
from equipoise.rows.people import People
from equipoise.rows.validation import check_features, read_positive


@dataclass(eq=False, repr=False)
class RegressionReduction(SaysNewWords, HasEvidence, MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators of numbers: reads the rows, states the problem, knows features."""

    estimator: Any
    constraint: Constraint
    _: KW_ONLY
    loss: str | Callable[[Array], Array] = "squared"
    thresholds: Any = 40
    oracle: str | None = None
    group_estimator: Any = None
    cv: Any = 5
    nu: float | None = None
    max_iter: int = 500
    random_state: int | None = None
    checkpoint: str | Path | None = None
    callback: Callable[[Any], object] | None = None
    verbose: bool | str = False

    def _state(self, people: People) -> RegressionProblem:
        """Return the problem, after all checks that can be made before the first fit."""
        constraint, loss = for_numbers(self.constraint), read_loss(self.loss)
        kind = self._oracle_kind()
        weight_name(self.estimator)
        check_trains(self.estimator)
        read_thresholds(self.thresholds)
        if self.nu is not None:
            read_positive(self.nu, "nu")
        learner = self._group_learner() if kind == "plugin" else None
        engine = engine_for(people.X)
        is_parity = isinstance(constraint, ThresholdParity)
        rows = engine.numbers(people, loss, self.estimator, is_parity)
        check_features(self, engine.example(people.X), reset=True)
        constant, lost = rows.best_constant()
        scale = lost or 1.0
        wanted = read_thresholds(self.thresholds) if is_parity else None
        # What the fits of an answer depend on; the plug-in oracle learns nothing after the guesses.
        spec = [kind, learner, self.cv] if learner else [kind, self.loss, wanted]
        respond, keep, opened = open_fits(rows, (self.estimator, spec), self.checkpoint)
        oracle = (
            rows.refit(self.estimator, wanted, scale, keep)
            if learner is None
            else rows.plugin(self.estimator, learner, self.cv, wanted, scale, keep)
        )
        pool = Pool(respond if learner is None else None)
        pool.add(ConstantRegressor(constant), oracle.shares(ConstantRegressor(constant)))
        game = game_of(constraint, oracle.cells)
        gap = read_nu(self.nu, game) / (1.0 if self.nu is None else scale)
        known = rows, oracle.cells, constraint, game, oracle, pool, opened
        return RegressionProblem(*known, gap, constant, lost)

    def _oracle_kind(self) -> str:
        is_parity = isinstance(for_numbers(self.constraint), ThresholdParity)
        if self.oracle not in (None, "plugin", "refit"):
            raise ValueError(f"oracle is {self.oracle!r}; expected None, 'plugin' or 'refit'.")
        if self.oracle == "plugin" and not is_parity:
            raise ValueError(
                f"oracle is 'plugin', which moves predictions between thresholds; "
                f"{self.constraint!r} bounds losses. Use oracle='refit', or leave it out."
            )
        return self.oracle or ("plugin" if is_parity else "refit")

    def _group_learner(self) -> Any:
        """Return the learner of the groups' probabilities."""
        if self.group_estimator is not None:
            check_probabilistic(self.group_estimator)
            return self.group_estimator
        logistic = LogisticRegression(max_iter=1000)
        if isinstance(self.estimator, Pipeline):
            return Pipeline([*self.estimator.steps[:-1], ("groups", logistic)])
        return make_pipeline(StandardScaler(with_mean=False), logistic)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        check_features(self, engine_for(X).example(X), reset=False)
        if isinstance(X, np.ndarray) and not get_tags(self).input_tags.allow_nan:
            assert_all_finite(X, input_name="X")  # a constant would not ask the learner
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        with suppress(AttributeError):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def warn(problem: RegressionProblem, outcome: Outcome[Round], certificate: Certificate) -> None:
    """Warn of remarks, of a fit that ended early, and of impossible bounds."""
    members = outcome.last.mixture.members(problem.pool.classifiers)
    constant = problem.oracle.is_constant(members)
    warn_of(remarks_on_numbers(problem.lagrangian, problem.cells, constant))
    warn_of_stop(outcome, certificate)
    if outcome.reason is Reason.FINISHED:
        warn_of_bounds(certificate)


def remarks_on_numbers(
    lagrangian: Lagrangian | None, cells: CellTable, constant: bool
) -> list[Remark]:
    """Return remarks on what is easily overlooked: one number for all, bounds that ask nothing."""
    found: list[Remark] = []
    if constant:
        text = "it predicts the same number for everybody: nobody is told from anybody else."
        found.append((ConstantDecisionWarning, text))
    return found + remarks_on_bounds(lagrangian, cells, "predictions")
