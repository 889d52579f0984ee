"""FairRegressor: predictions that are numbers, as accurate as fairness allows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.cells.values import Missing
from equipoise.constraints.base import Constraint
from equipoise.constraints.fairlearn_words import SaysNewWords
from equipoise.constraints.regression import ThresholdParity, for_numbers
from equipoise.estimators.base import read_limits
from equipoise.estimators.randomized_regressor import RandomizedRegressor
from equipoise.estimators.regression_problem import (
    RegressionProblem,
    Told,
    check_local,
    game_of,
    read_rows,
)
from equipoise.estimators.regression_units import in_units, scaled, worst_at_any_threshold
from equipoise.estimators.results import as_settled
from equipoise.exceptions import InfeasibleWarning
from equipoise.game.certificate import Certificate
from equipoise.game.column_generation import column_generation, many_bounds
from equipoise.game.evidence import Scope, Status
from equipoise.game.rounds import Reason, Round, run
from equipoise.oracles.learners import check_probabilistic
from equipoise.oracles.regression import weight_name
from equipoise.rows.hashing import salt_of
from equipoise.rows.numbers import read_loss, read_thresholds
from equipoise.rows.people import People
from equipoise.rows.validation import check_features, read_positive


class Measured(NamedTuple):
    """What a regressor does to some people.

    Attributes
    ----------
    loss : float
        The mean loss, expected over the draw.
    largest : float
        The largest value that a bound is about: with parity the largest difference between shares,
        at any threshold whatsoever; else the largest mean loss of a group.
    excess : float
        By how much the worst bound is exceeded, 0 if none is.
    """

    loss: float
    largest: float
    excess: float


@dataclass(eq=False, repr=False)
class FairRegressor(SaysNewWords, MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Least loss over mixtures of regressors, subject to a constraint on groups.

    Parameters
    ----------
    estimator : regressor
        Any regressor of scikit-learn's kind.
    constraint : Constraint
        `DemographicParity`: the share of people whose prediction is at or above z differs between
        groups by at most eps, for every threshold z. `BoundedGroupLoss`: no group's mean loss
        exceeds a bound. `MinimaxGroupLoss`: the largest of them is made least.
    loss : {"squared", "absolute"} or callable, default="squared"
        Of the difference f(x) - y. A function takes an array of differences and returns as many
        losses; it should grow with the distance from 0 on either side, and be 0 there.
    thresholds : int or array-like, default=40
        How many thresholds parity is looked at, quantiles of the predictions without constraint;
        or the thresholds themselves. Between them groups may differ by more than eps, see
        ``exact_violation_``.
    oracle : {None, "plugin", "refit"}, default=None
        "plugin" learns E[Y | X] and the probabilities of the groups once, out of fold, and moves
        predictions: the default for parity. "refit" trains the learner anew for every question,
        with weights: the default for losses of groups, and the only one.
    group_estimator : classifier, optional
        Learns the probabilities of the groups for "plugin". By default a logistic regression on
        scaled features; of a pipeline, behind its steps before the last.
    cv : int, splitter or iterable of (train, test), default=5
        The folds of "plugin".
    nu : float, optional
        The gap at which to stop, in units of the loss; by default 0.1 n^(-1/2) times the loss of
        the best constant.
    max_iter : int, default=500
        The most rounds.
    random_state : int, optional
        The salt of the draws.
    callback, verbose
        As for `FairClassifier`.

    Attributes
    ----------
    regressor_ : RandomizedRegressor
        The members and their weights.
    certificate_ : Certificate
        What was proven about the people of the fit, where "error" is the mean loss; with "plugin"
        it speaks of out-of-fold predictions.
    exact_violation_ : float
        By how much the worst bound is exceeded on the same predictions when every number is a
        threshold, not only those of ``thresholds_``; with losses of groups, the certificate's.
    exact_difference_ : float
        With parity: the largest difference itself, at any threshold; else NaN.
    constant_ : float
        The best constant, which is in every pool, and ``constant_loss_`` its loss.
    thresholds_ : array
    n_iter_, n_calls_ : int
        Rounds, and questions that were put to the oracle.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from equipoise import DemographicParity, FairRegressor
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 1000)
    >>> X = np.column_stack([A + rng.normal(size=1000), rng.normal(size=1000)])
    >>> y = X.sum(axis=1) + rng.normal(size=1000)
    >>> reg = FairRegressor(LinearRegression(), DemographicParity(eps=0.05), thresholds=10)
    >>> reg = reg.fit(X, y, sensitive_features=A)
    >>> reg.certificate_.feasible, bool(reg.certificate_.error < reg.constant_loss_)
    (True, True)
    """

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
    callback: Callable[[Any], object] | None = None
    verbose: bool | str = False

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        missing: Missing = "error",
        bins: Any = None,
    ) -> Self:
        """Find the randomized regressor of least loss within the constraint.

        Parameters
        ----------
        X : table of n rows
            In memory; handed to the learner as it comes.
        y : array-like of n numbers
        sensitive_features, control_features, sample_weight, missing, bins
            As for `FairClassifier.fit`; groups must be known, or missing.
        """
        people = People(
            X, y, sensitive_features, control_features, sample_weight, missing=missing, bins=bins
        )
        problem = self._state(people)
        limits, _ = read_limits(self)
        game = scaled(problem.lagrangian, problem.cells)
        rounds = column_generation(game, problem.oracle, problem.pool, nu=problem.nu)
        outcome = run(rounds, limits, problem.nu)
        _warn_if_early(outcome.reason)
        return self._finish(problem, as_settled(outcome.last, outcome.reason))

    def fit_path(
        self, X: Any, y: Any, bounds: Sequence[float], **groups: Any
    ) -> list[FairRegressor]:
        """Fit for several bounds over one pool; return a fitted regressor for each.

        Parameters
        ----------
        X, y, **groups
            As for `fit`.
        bounds : sequence of numbers
            Values of eps, or of the bound of `BoundedGroupLoss`, one for all groups.
        """
        name = "eps" if hasattr(self.constraint, "eps") else "bound"
        if len(bounds) == 0 or not hasattr(self.constraint, name):
            raise ValueError(
                f"got {len(bounds)} bounds for {self.constraint!r}; expected one or more, for "
                "DemographicParity or BoundedGroupLoss."
            )
        asked = [for_numbers(self.constraint).set_params(**{name: b}) for b in bounds]
        problem = self._state(People(X, y, **groups))
        stated = [replace(problem, constraint=each) for each in asked]
        stated = [replace(each, lagrangian=game_of(each.constraint, each.cells)) for each in stated]
        limits, _ = read_limits(self)
        games = [scaled(each.lagrangian, each.cells) for each in stated]
        rounds = many_bounds(games, problem.oracle, problem.pool, nu=problem.nu, batch=8)
        outcome = run(rounds, limits, problem.nu)
        _warn_if_early(outcome.reason)
        made = [clone(self).set_params(**{f"constraint__{name}": b}) for b in bounds]
        return [
            each._finish(its, as_settled(found, outcome.reason))
            for each, its, found in zip(made, stated, outcome.last, strict=True)
        ]

    def _state(self, people: People) -> RegressionProblem:
        """Return the problem, after all checks that can be made before the first fit."""
        constraint, loss = for_numbers(self.constraint), read_loss(self.loss)
        kind = self._oracle_kind(constraint)
        weight_name(self.estimator)
        read_thresholds(self.thresholds)
        if self.nu is not None:
            read_positive(self.nu, "nu")
        learner = self._group_learner() if kind == "plugin" else None
        check_local(people.X)
        groups, y = read_rows(people)
        told = Told(people.X, groups, y, loss)
        return told.problem(
            constraint, self.estimator, learner, self.thresholds, cv=self.cv, nu=self.nu
        )

    def _oracle_kind(self, constraint: Constraint) -> str:
        is_parity = isinstance(constraint, ThresholdParity)
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

    def _finish(self, problem: RegressionProblem, last: Round) -> Self:
        """Take over the result of a fit."""
        cells, oracle = problem.cells, problem.oracle
        found, game, s = in_units(last, problem.lagrangian, problem.pool, cells)
        nu, scope = problem.nu * cells.scale, Scope.ORACLE
        told = Certificate.of_round(found, game, s, nu=nu, scope=scope, cells=cells)
        self.certificate_ = replace(told, constant=None)
        members = [problem.pool.classifiers[number] for number in found.mixture.indices]
        salt = self.random_state
        salt = salt_of(cells, np.array(["number"])) if salt is None else salt
        self.regressor_ = RandomizedRegressor(members, found.mixture.weights, salt)
        self.constraint_, self.nu_ = problem.constraint, nu
        self.constant_, self.constant_loss_ = problem.constant, problem.constant_loss
        self.thresholds_, self.cells_ = cells.thresholds, cells.table()
        check_features(self, problem.X, reset=True)
        self.n_iter_, self.n_calls_ = found.iteration, found.n_calls
        self.exact_difference_, self.exact_violation_ = np.nan, self.certificate_.violation
        if isinstance(problem.constraint, ThresholdParity):
            predicted = (oracle.predicted(member) for member in self.regressor_.members)
            self.exact_difference_, self.exact_violation_ = worst_at_any_threshold(
                problem.lagrangian, cells, predicted, self.regressor_.weights
            )
        if self.certificate_.status is Status.IMPOSSIBLE:
            warnings.warn(
                f"{self.constraint!r} cannot be met by what the learner can find; the bounds were "
                f"loosened by {found.least_slack:.6g}. See certificate_.",
                InfeasibleWarning,
                stacklevel=3,
            )
        return self

    def predict(self, X: Any, *, key: Any = None, random_state: Any = None) -> Array:
        """Predict for each row; the same person always gets the same prediction.

        See `RandomizedClassifier.predict` for ``key`` and ``random_state``.
        """
        X = self._rows(X)
        return self.regressor_.predict(X, key=key, random_state=random_state)

    def predict_mean(self, X: Any) -> Array:
        """Return the mean over the draw; see `RandomizedRegressor.predict_mean`."""
        X = self._rows(X)
        return self.regressor_.predict_mean(X)

    def predict_members(self, X: Any) -> Array:
        """Return the predictions of all members, (n, members), to ``regressor_.weights``."""
        X = self._rows(X)
        return self.regressor_.predict_members(X)

    def measure(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> Measured:
        """Return loss, largest difference (or group loss) and excess for other people.

        All are expected over the draw; differences are the largest at any threshold. Groups that
        nobody here belongs to are not measured, with a warning.
        """
        X = self._rows(X)
        people = People(X, y, sensitive_features, control_features, sample_weight)
        groups, target = read_rows(people.by(self.cells_.rules))
        loss = read_loss(self.loss)
        cells = groups.as_kind(
            ThresholdCells, target=target, thresholds=self.thresholds_[:1], loss=loss, scale=1.0
        )
        game = game_of(self.constraint_, cells, self.cells_)
        each = self.regressor_.predict_members(X).T
        s = self.regressor_.weights @ np.array([cells.sum(f) for f in each])
        mean = float(game.error(s))
        if isinstance(self.constraint_, ThresholdParity):
            return Measured(
                mean, *worst_at_any_threshold(game, cells, each, self.regressor_.weights)
            )
        worst = self.certificate_.worst_rate
        bound = game.c if worst is None else game.c + worst[1]
        gamma = game.gamma(s)
        excess = float((gamma - bound).max(initial=0.0))
        return Measured(mean, float(gamma.max(initial=0.0)), excess)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        check_local(X)
        check_features(self, X, reset=False)
        if isinstance(X, np.ndarray) and not get_tags(self).input_tags.allow_nan:
            assert_all_finite(X, input_name="X")  # a constant would not ask the learner
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        with suppress(AttributeError):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _warn_if_early(reason: Reason) -> None:
    if reason.is_early:
        warnings.warn(
            f"the fit was {reason.value} before its gap was closed: the certificate says how far "
            "it got. Allow more rounds with max_iter, or a larger nu.",
            ConvergenceWarning,
            stacklevel=3,
        )
