"""The frontier of a regressor: the least loss at every bound, from one pool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.values import Missing
from equipoise.constraints.base import Constraint
from equipoise.constraints.regression import MinimaxGroupLoss, ThresholdParity, for_numbers
from equipoise.engines import engine_for
from equipoise.estimators.base import read_limits
from equipoise.estimators.frontier_point import (
    FrontierPoint,
    point_of,
    read_bound,
    read_bounds,
    unconstrained_point,
    warn_of_points,
)
from equipoise.estimators.regression.base import RegressionReduction, remarks_on_numbers
from equipoise.estimators.regression.randomized import RandomizedRegressor
from equipoise.estimators.regression.regressor import (
    FairRegressor,
    OnRows,
    drawn_by,
    on_rows,
    verify,
)
from equipoise.estimators.regression.units import certified, in_units, pool_in_units, scaled
from equipoise.estimators.results import fingerprint_of, unconstrained, warn_of
from equipoise.faces import Records
from equipoise.game.certificate import Certificate
from equipoise.game.column_generation import over_pool
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.rounds import Reason, Round
from equipoise.rows.people import People

#: Attributes of a frontier that its regressors have, too.
_SHARED = (
    *("cells_", "nu_", "thresholds_", "constant_", "constant_loss_", "n_iter_", "n_calls_"),
    *("people_", "n_features_in_", "feature_names_in_"),
)


@dataclass(eq=False, repr=False, kw_only=True)
class RegressionFrontier(RegressionReduction):
    """The best regressor at every bound: what `Frontier` is of a learner that is a regressor.

    ``Frontier(LinearRegression(), DemographicParity())`` makes one.

    Parameters
    ----------
    estimator, constraint, loss, thresholds, oracle, group_estimator, cv, nu, random_state
        As for `FairRegressor`. The bound of the constraint is not used.
    bounds : array-like, optional
        The values of ``eps`` to trace, by default twenty from 0.001 to 0.1, evenly spaced in ratio;
        of `BoundedGroupLoss` the bounds of the loss, which must be given.
    max_iter : int, default=2000
        The most rounds to run.
    checkpoint, callback, verbose
        As for `Frontier`.

    Attributes
    ----------
    points_ : list of FrontierPoint
        One for each bound, tightest first: ``error`` is the mean loss, ``disparity`` the largest
        difference at the thresholds, or the largest loss of a group.
    exact_differences_ : array
        With parity, the largest difference of each point at any threshold, on the predictions of
        the fit; else NaN.
    unconstrained_ : FrontierPoint
        The oracle's answer without constraint.
    pool_ : Pool
        The regressors found, with losses in units of the best constant's.
    cells_ : ThresholdTable
        The cells of the training data; no rows.
    lagrangian_ : Lagrangian
        Loss and constraints over these cells.
    constant_, constant_loss_, thresholds_, nu_, n_iter_, n_calls_, people_
        As for `FairRegressor`.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from equipoise import DemographicParity, Frontier
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 1000)
    >>> X = np.column_stack([A + rng.normal(size=1000), rng.normal(size=1000)])
    >>> y = X.sum(axis=1) + rng.normal(size=1000)
    >>> frontier = Frontier(
    ...     LinearRegression(), DemographicParity(), bounds=[0.02, 0.1], thresholds=10
    ... )
    >>> frontier = frontier.fit(X, y, sensitive_features=A)
    >>> [point.eps for point in frontier.points_], type(frontier.at(0.05)).__name__
    ([0.02, 0.1], 'FairRegressor')
    """

    bounds: ArrayLike | None = None
    max_iter: int = 2000

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
        """Trace the frontier. The parameters are those of `FairRegressor.fit`."""
        bounds, (limits, salt) = self._read_bounds(), read_limits(self)
        groups = sensitive_features, control_features
        people = People(X, y, *groups, sample_weight, missing=missing, bins=bins)
        problem, queries = self._state(people), Queries([], [])
        outcome = problem.run(problem.search_many(bounds, queries), limits)
        self._settled = outcome.reason is Reason.FINISHED
        verify(problem, range(len(problem.pool)))  # `at` may mix what no point mixes
        self.cells_, self.thresholds_ = problem.cells.table(), problem.cells.thresholds
        self.lagrangian_, self.pool_ = problem.lagrangian, problem.pool.detached()
        self.nu_, self._queries = problem.nu * problem.cells.scale, queries
        self.constant_, self.constant_loss_ = problem.constant, problem.constant_loss
        self.n_iter_, self.n_calls_ = outcome.n_rounds, problem.pool.n_calls
        self._free, self._salt = unconstrained(problem), drawn_by(salt, problem)
        # What was proven of one bound may be disproven by answers to another.
        last = outcome.last if problem.follows_path else self._over_pool(bounds.tolist())
        self._trace(bounds.tolist(), last)
        mixed = [(point.certificate, point.mixture) for point in self.points_]
        deployed = on_rows(problem, mixed)
        self.exact_differences_ = np.array([mixture.largest for mixture in deployed])
        self._state_on_rows(deployed)
        self.people_ = fingerprint_of(engine_for(people.X), people)
        used = sorted({int(h) for point in self.points_ for h in point.mixture.indices})
        tightest = problem.lagrangian.with_bound(bounds[0])  # if it asks nothing, none does
        constant = problem.oracle.is_constant(problem.pool.classifiers[h] for h in used)
        warn_of(remarks_on_numbers(tightest, problem.cells, constant))
        warn_of_points(outcome, self.points_, self.nu_, self.n_calls_)
        return self

    def at(self, eps: float) -> FairRegressor:
        """Return a fitted regressor for this bound, without training: a small linear program.

        What its differences are between thresholds is known for bounds that were traced alone.
        """
        check_is_fitted(self)
        eps, exact = read_bound(eps), np.nan
        traced = [at for at, point in enumerate(self.points_) if point.eps == eps]
        if traced:
            point, exact = self.points_[traced[0]], float(self.exact_differences_[traced[0]])
        else:
            (point,) = self._points([eps], self._over_pool([eps]))
        return self._fitted(point, self._constraint_of(eps), exact)

    def _fitted(self, point: FrontierPoint, constraint: Constraint, exact: float) -> FairRegressor:
        """Return the fitted regressor of a point."""
        is_parity = isinstance(constraint, ThresholdParity)
        excess = max(exact - point.eps, 0.0) if is_parity else point.certificate.violation
        members, weights = point.mixture.members(self.pool_.classifiers), point.mixture.weights
        asked = ("loss", "thresholds", "oracle", "group_estimator", "cv", "nu", "random_state")
        given = {name: getattr(self, name) for name in asked}
        fitted = FairRegressor(self.estimator, constraint, **given)
        fitted.certificate_ = point.certificate
        fitted.regressor_ = RandomizedRegressor(members, weights, self._salt)
        fitted.constraint_ = constraint
        fitted.__dict__ |= {k: v for k, v in self.__dict__.items() if k in _SHARED}
        fitted.exact_difference_, fitted.exact_violation_ = exact, excess
        return fitted

    def evaluate(self, X: Any, y: Any, **groups: Any) -> Records[FrontierPoint]:
        """Return the points, and the unconstrained one at the end, measured on other people.

        The parameters are those of `FairRegressor.measure`. Differences are the largest at any
        threshold; certificates stay those of the training data.
        """
        check_is_fitted(self)
        found, constraint = [], self._constraint_of(self.points_[-1].eps)
        for point in (*self.points_, self.unconstrained_):
            people = People(self._rows(X), y, **groups)
            measured = self._fitted(point, constraint, np.nan)._measure(people)
            largest, nan = measured.largest, np.nan
            found.append(replace(point, error=measured.loss, disparity=largest, lower=nan, gap=nan))
        return Records(found)

    def _read_bounds(self) -> Any:
        constraint = for_numbers(self.constraint)
        if isinstance(constraint, MinimaxGroupLoss):
            raise TypeError(
                f"{self.constraint!r} has no bound to trace a frontier over. Use FairRegressor, or "
                "BoundedGroupLoss with bounds=[...]."
            )
        if self.bounds is None and not isinstance(constraint, ThresholdParity):
            raise ValueError(
                "bounds is None; of BoundedGroupLoss expected the bounds of the loss to trace, in "
                "its units. FairRegressor with MinimaxGroupLoss finds the least that can be met."
            )
        return read_bounds(self.bounds)

    def _constraint_of(self, eps: float) -> Constraint:
        constraint = for_numbers(self.constraint)
        name = "eps" if isinstance(constraint, ThresholdParity) else "bound"
        return type(constraint)(**{**constraint.get_params(), name: eps})

    def _over_pool(self, bounds: list[float]) -> list[Round]:
        """Return the best mixtures of the pool for some bounds; nothing is asked."""
        games = [scaled(self.lagrangian_.with_bound(each), self.cells_) for each in bounds]
        nu = self.nu_ / self.cells_.scale
        found = over_pool(games, self.pool_, self._queries, unconstrained=self._free, nu=nu)
        return found if self._settled else [each.without_proof() for each in found]

    def _trace(self, bounds: list[float], last: list[Round]) -> None:
        self.points_ = self._points(bounds, last)
        known = pool_in_units(self.pool_, self.cells_)
        certified = partial(self._certified, s=known.s)
        self.unconstrained_ = unconstrained_point(self.lagrangian_, known, self._free, certified)

    def _state_on_rows(self, deployed: list[OnRows]) -> None:
        """Add to the certificate of each point how it is on the predictions of the fit."""
        self.points_ = Records(
            replace(point, certificate=mixture.stated_by(point.certificate))
            for point, mixture in zip(self.points_, deployed, strict=True)
        )

    def _points(self, bounds: list[float], rounds: list[Round]) -> Records[FrontierPoint]:
        known = pool_in_units(self.pool_, self.cells_)
        points, s = Records[FrontierPoint](), known.s  # one array for all certificates
        for eps, last in zip(bounds, rounds, strict=True):
            stated = self.lagrangian_.with_bound(eps)
            found, game = in_units(last, stated, known, self.cells_)
            points.append(point_of(eps, found, stated, self._certified(found, game, s)))
        return points

    def _certified(self, found: Round, game: Lagrangian, s: Any) -> Certificate:
        out_of_fold = self._oracle_kind() == "plugin"
        return certified(found, game, s, self.cells_, self.nu_, out_of_fold)
