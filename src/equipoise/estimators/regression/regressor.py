"""FairRegressor: predictions that are numbers, as accurate as fairness allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.cells.values import Missing
from equipoise.constraints.regression import ThresholdParity
from equipoise.engines import engine_for
from equipoise.estimators.base import overlap_of, read_limits, warn_of_absent
from equipoise.estimators.regression.base import RegressionReduction, warn
from equipoise.estimators.regression.groups import (
    GroupNumbers,
    numbers_by_group,
    worst_at_any_threshold,
)
from equipoise.estimators.regression.intervals import loss_limits, parity_limits
from equipoise.estimators.regression.problem import RegressionProblem, game_of
from equipoise.estimators.regression.randomized import RandomizedRegressor
from equipoise.estimators.regression.units import certified, in_units, pool_in_units
from equipoise.estimators.results import (
    as_settled,
    fingerprint_of,
    remarks_on_bounds,
    unconstrained,
    warn_of,
)
from equipoise.faces import Records, columns_of, table
from equipoise.game.certificate import Certificate
from equipoise.game.known import Queries
from equipoise.game.lagrangian import TOLERANCE
from equipoise.game.least_random import Lottery
from equipoise.game.mixture import Mixture
from equipoise.rows.fingerprint import Overlap
from equipoise.rows.hashing import salt_of
from equipoise.rows.numbers import read_loss
from equipoise.rows.people import People


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
        By how much the worst bound is exceeded, 0 if none is. Both are NaN where nothing was
        compared: no bound depends on what is predicted for these people.
    overlap : Overlap or None
        How many of these people were learned from; None where that is not known.
    low, high : float or None
        The limits of an interval of ``largest``; None where none was asked for.
    exceeds : bool or None
        Whether a bound is exceeded by more than chance explains at that level.
    verdict : str
        The same in words, see `equipoise.metrics.verdict`; empty without an interval.
    """

    loss: float
    largest: float
    excess: float
    overlap: Overlap | None = None
    low: float | None = None
    high: float | None = None
    exceeds: bool | None = None
    verdict: str = ""

    def _repr_html_(self) -> str:
        return table(columns_of([self]))


@dataclass(eq=False, repr=False)
class FairRegressor(RegressorMixin, RegressionReduction):
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
    checkpoint, callback, verbose
        As for `FairClassifier`.

    Attributes
    ----------
    regressor_ : RandomizedRegressor
        The members and their weights.
    certificate_ : Certificate
        What was proven about the people learned from, where "error" is the mean loss; with "plugin"
        it speaks of out-of-fold predictions.
    exact_violation_ : float
        By how much the worst bound is exceeded on the same predictions when every number is a
        threshold, not only those of ``thresholds_``; with losses of groups, the certificate's.
    exact_difference_ : float
        With parity: the largest difference itself, at any threshold; else NaN. Both are NaN where
        that is not known: of a bound of a frontier that was not traced. ``measure`` tells it.
    constant_ : float
        The best constant, which is in every pool, and ``constant_loss_`` its loss.
    thresholds_ : array
    n_iter_, n_calls_ : int
        Rounds, and questions that were put to the oracle.
    people_ : Fingerprint or None
        Of the people learned from, as for `FairClassifier`.

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
            In memory, handed to the learner as it comes; `ParquetRows` for an ``XGBRegressor``; for
            the losses of groups also a Dask collection.
        y : array-like of n numbers
        sensitive_features, control_features, sample_weight, missing, bins
            As for `FairClassifier.fit`; groups must be known, or missing.
        """
        people = People(
            X, y, sensitive_features, control_features, sample_weight, missing=missing, bins=bins
        )
        problem, (limits, salt) = self._state(people), read_limits(self)
        queries = Queries([], [])
        outcome = problem.run(problem.search(queries), limits)
        last = problem.last_of(outcome, queries, unconstrained(problem))
        last = as_settled(last, outcome.reason)
        known = pool_in_units(problem.pool, problem.cells)
        found, game = in_units(last, problem.lagrangian, known, problem.cells)
        nu, cells = problem.nu * problem.cells.scale, problem.cells.table()
        certificate = certified(found, game, known.s, cells, nu, problem.oracle.out_of_fold)
        verify(problem, found.mixture.indices)
        members = found.mixture.members(known.classifiers)
        salted = drawn_by(salt, problem)
        (deployed,) = on_rows(problem, [(certificate, found.mixture)])
        self.certificate_ = certificate = deployed.stated_by(certificate)
        self.regressor_ = RandomizedRegressor(members, found.mixture.weights, salted)
        self.constraint_, self.cells_, self.nu_ = problem.constraint, cells, nu
        self.thresholds_ = cells.thresholds
        self.constant_, self.constant_loss_ = problem.constant, problem.constant_loss
        self.n_iter_, self.n_calls_ = found.iteration, found.n_calls
        self.exact_difference_, self.exact_violation_ = deployed.largest, deployed.excess
        self.people_ = fingerprint_of(engine_for(people.X), people)
        warn(problem, outcome, certificate)
        return self

    def predict(self, X: Any, *, key: Any = None, random_state: Any = None) -> Array:
        """Predict for each row; the same person always gets the same prediction.

        See `RandomizedClassifier.predict` for ``key`` and ``random_state``.
        """
        X, given = self._rows(X), {"key": key, "random_state": random_state}
        return engine_for(X).predict(self.regressor_, X, **given)

    def predict_mean(self, X: Any) -> Array:
        """Return the mean over the draw; see `RandomizedRegressor.predict_mean`."""
        X = self._rows(X)
        return engine_for(X).answer(self.regressor_.predict_mean, X)

    def predict_members(self, X: Any) -> Array:
        """Return the predictions of all members, (n, members), to ``regressor_.weights``."""
        X, number = self._rows(X), len(self.regressor_.members)
        return engine_for(X).answer(self.regressor_.predict_members, X, columns=number)

    def measure(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        level: float | None = None,
    ) -> Measured:
        """Return loss, largest difference (or group loss) and excess for other people.

        All are expected over the draw; differences are the largest at any threshold. Groups that
        nobody here belongs to are not measured, with a warning. Where no bound is left to look at,
        that is a warning too. With ``level``, such as 0.95, there is an interval of the largest
        value, for people like these and as many of each group: of differences by normal
        approximation, of losses by the bootstrap-t. Neither can be relied on for groups of fewer
        than 30 people, so of these nothing is taken as known.
        """
        people = People(self._rows(X), y, sensitive_features, control_features, sample_weight)
        return self._measure(people, level)._replace(overlap=overlap_of(self, people))

    def _measure(self, people: People, level: float | None = None) -> Measured:
        """Return what is measured of these people, but for how many of them were learned from."""
        cells = self._cells_of(people)
        warn_of_absent(self.cells_, cells)
        game = game_of(self.constraint_, cells, self.cells_)
        each, weights = list(self.predict_members(people.X).T), self.regressor_.weights
        lost = weights @ np.array([cells.loss(f - cells.target) for f in each])
        mean = float(cells.row_weights() @ lost)
        if not np.abs(np.asarray(game.gamma_slope)).max(initial=0.0) > TOLERANCE:
            warn_of(remarks_on_bounds(game, cells, "predictions"))
            return Measured(mean, np.nan, np.nan)
        if isinstance(self.constraint_, ThresholdParity):
            limits = parity_limits(game, cells, each, weights, level)
        else:
            worst = self.certificate_.worst_rate
            bound = game.c if worst is None else game.c + worst[1]
            limits = loss_limits(game, cells, lost, bound, level)
        low, high = limits.interval
        verdict = limits.verdict
        exceeds = None if verdict is None else verdict.is_exceeded
        words = "" if verdict is None else str(verdict)
        return Measured(mean, limits.largest, limits.excess, None, low, high, exceeds, words)

    def by_group(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> Records[GroupNumbers]:
        """Return loss, mean prediction and largest difference of every group of some people.

        All are expected over the draw; "overall" comes first.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> from equipoise import FairRegressor, MinimaxGroupLoss
        >>> X, A = np.arange(40.0)[:, None], ["F", "M"] * 20
        >>> reg = FairRegressor(LinearRegression(), MinimaxGroupLoss())
        >>> reg = reg.fit(X, X[:, 0], sensitive_features=A)
        >>> [each.group for each in reg.by_group(X, X[:, 0], sensitive_features=A)]
        ['overall', 'F', 'M']
        """
        X = self._rows(X)
        cells = self._cells_of(People(X, y, sensitive_features, control_features, sample_weight))
        return numbers_by_group(cells, list(self.predict_members(X).T), self.regressor_.weights)

    def _cells_of(self, people: People) -> ThresholdCells:
        """Return the cells of other people, without a game's scale."""
        if not engine_for(people.X).is_local:
            raise TypeError(
                "X is a Dask collection; what a regressor does to people is measured where each of "
                "them can be looked at. Compute the collections, or a sample of them, first: "
                "dask.compute(X, y, groups)."
            )
        groups, target = people.by(self.cells_.rules).read_numbers()
        given = {"thresholds": self.thresholds_[:1], "loss": read_loss(self.loss), "scale": 1.0}
        return groups.as_kind(ThresholdCells, target=target, **given)


def verify(problem: RegressionProblem, members: Iterable[int]) -> None:
    """Raise unless these members of the pool predict for the rows of the fit as recorded."""
    chosen = sorted(set(members))
    problem.oracle.verify([problem.pool.classifiers[h] for h in chosen], problem.pool.s[chosen])


def drawn_by(salt: int | None, problem: RegressionProblem) -> int:
    """Return the salt of the draws, by default one that follows from the people and the target.

    Exact sums tell targets apart, and do not depend on the order of the people.
    """
    if salt is not None:
        return salt
    return salt_of(problem.rows.groups, problem.rows.target_sums())


class OnRows(NamedTuple):
    """A mixture of regressors on the predictions of the fit.

    Attributes
    ----------
    largest, excess : float
        With parity, the largest difference at any threshold, and its excess over the bound. With
        losses of groups there are no thresholds: NaN, and the excess of the certificate.
    by_lot : Lottery or None
        The share of people whose members predict different numbers; None where workers hold rows.
    """

    largest: float
    excess: float
    by_lot: Lottery | None

    def stated_by(self, certificate: Certificate) -> Certificate:
        """Return a certificate that states this, too."""
        return replace(certificate, exact_difference=self.largest, by_lot=self.by_lot)


def on_rows(
    problem: RegressionProblem, mixed: Iterable[tuple[Certificate, Mixture]]
) -> list[OnRows]:
    """Return each of some mixtures on the predictions of the fit; a model is asked once."""
    mixed = list(mixed)
    if problem.cells.plain_rows() is None:
        return [OnRows(np.nan, certificate.violation, None) for certificate, _ in mixed]
    used = sorted({int(h) for _, mixture in mixed for h in mixture.indices})
    predicted = {h: problem.oracle.predicted(problem.pool.classifiers[h]) for h in used}
    rows = problem.oracle.rows_at_thresholds()
    results = []
    for certificate, mixture in mixed:
        members = [predicted[int(h)] for h in mixture.indices]
        differ = np.ptp(members, axis=0) > 0
        by_lot = Lottery(float(rows.row_weights() @ differ), True)
        largest, excess = np.nan, certificate.violation
        if problem.is_parity:
            game = problem.lagrangian.relaxed(certificate.bound - problem.lagrangian.c)
            largest, excess = worst_at_any_threshold(game, rows, members, mixture.weights)
        results.append(OnRows(largest, excess, by_lot))
    return results
