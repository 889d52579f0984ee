"""FairRegressor: the game against an independent program, and what the estimator promises."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from finite_regression import play
from regression_problems import FiniteRegression, least_bound, least_loss
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from equipoise import (
    BoundedGroupLoss,
    DemographicParity,
    EqualizedOdds,
    FairClassifier,
    FairRegressor,
    Frontier,
    MinimaxGroupLoss,
)
from equipoise.exceptions import AbsentGroupWarning, DeploymentError, InfeasibleWarning
from equipoise.game.evidence import Status


class Forgetful(LinearRegression):
    def predict(self, X):
        self.asked_ = getattr(self, "asked_", 0) + 1
        return super().predict(X) + self.asked_


class Latest(LinearRegression):
    """Predicts as whichever model was fitted last."""

    known: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.known[:] = [self.coef_]
        return self

    def predict(self, X):
        return X @ self.known[0]


class InPlace(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        X *= 2.0
        y -= y.mean()
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        X *= 2.0
        return super().predict(X)


def largest_difference(each, weights, groups):
    worst = 0.0
    for z in np.unique(each):
        above = (each >= z) @ weights
        shares = [abs(above[groups == group].mean() - above.mean()) for group in set(groups)]
        worst = max(worst, *shares)
    return worst


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 600)
    X = np.column_stack([A + rng.normal(size=600), rng.normal(size=600)])
    y = 50.0 * X.sum(axis=1) + rng.normal(size=600) * np.where(A == 1, 80.0, 30.0)
    return X, y, A


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reference", ["overall", "pairwise"])
def test_parity_is_the_optimum_of_the_whole_program(seed, reference):
    problem = FiniteRegression.random(seed)
    rows = problem.rows(reference)
    for eps in (0.02, 0.1):
        found = play(problem, DemographicParity(eps, reference=reference))
        best = least_loss(problem.errors(), rows, eps)
        if best is None:
            assert found.least_slack == pytest.approx(least_bound(rows) - eps, abs=2e-6)
        else:
            assert (found.error, found.violation) == pytest.approx((best, 0.0), abs=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_group_losses_are_the_optimum_of_the_whole_program(seed):
    problem = FiniteRegression.random(seed)
    rows = problem.rows()
    least = least_bound(rows)
    found = play(problem, BoundedGroupLoss(1.05 * least))
    best = least_loss(problem.errors(), rows, 1.05 * least)
    assert (found.error, found.violation) == pytest.approx((best, 0.0), abs=2e-6)
    worst = play(problem, MinimaxGroupLoss()).worst_rate
    assert worst == pytest.approx((least, least), abs=2e-6)
    assert play(problem, BoundedGroupLoss(least / 2)).least_slack == pytest.approx(
        least / 2, abs=2e-6
    )


@pytest.mark.parametrize("loss", ["squared", "absolute", lambda t: np.abs(t) ** 1.5])
def test_parity_meets_its_bound_and_beats_the_constant(people, loss):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), DemographicParity(0.05), loss=loss, thresholds=10)
    reg.fit(X, y, sensitive_features=A)
    certificate = reg.certificate_
    certificate.check()
    assert certificate.feasible
    assert certificate.is_optimal()
    assert certificate.error < 0.9 * reg.constant_loss_
    assert reg.exact_difference_ == pytest.approx(0.05 + reg.exact_violation_)
    measured = reg.measure(X, y, sensitive_features=A)
    assert measured.loss == pytest.approx(certificate.error, rel=0.05)


def test_the_exact_difference_is_that_of_every_threshold(people):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), DemographicParity(0.05), thresholds=5)
    reg.fit(X, y, sensitive_features=A)
    worst = largest_difference(reg.predict_members(X), reg.regressor_.weights, A)
    assert reg.measure(X, y, sensitive_features=A).largest == pytest.approx(worst)


def test_a_certificate_says_what_holds_between_thresholds_and_who_is_decided_at_random(people):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), DemographicParity(0.05), oracle="refit", thresholds=5)
    reg.fit(X, y, sensitive_features=A)
    certificate, members = reg.certificate_, reg.predict_members(X)
    assert certificate.exact_difference == reg.exact_difference_ > 0.06
    share = (members != members[:, :1]).any(axis=1).mean()
    assert certificate.by_lot.share == pytest.approx(share)
    text = str(certificate)
    assert (
        "met  (at 5 thresholds; at any threshold the largest difference is "
        f"{reg.exact_difference_:.5g})"
    ) in text
    assert f"random      {share:.2%} of the people measured get a prediction at random" in text
    bounded = FairRegressor(LinearRegression(), MinimaxGroupLoss()).fit(X, y, sensitive_features=A)
    members = bounded.predict_members(X)
    share = (members != members[:, :1]).any(axis=1).mean()
    assert bounded.certificate_.by_lot.share == pytest.approx(share)
    assert "threshold" not in str(bounded.certificate_)


@pytest.mark.parametrize("factor", [1e-4, 1e5])
def test_units_of_the_target_do_not_matter(people, factor):
    X, y, A = people
    for constraint in (DemographicParity(0.05), MinimaxGroupLoss()):
        one, other = (
            FairRegressor(LinearRegression(), constraint, thresholds=5).fit(
                X, scale * y, sensitive_features=A
            )
            for scale in (1.0, factor)
        )
        for each in (one, other):
            each.certificate_.check()
            assert each.certificate_.feasible
        assert other.certificate_.error == pytest.approx(
            factor**2 * one.certificate_.error, rel=1e-2
        )


def test_bounded_group_loss_is_met_where_it_can_be_and_proven_impossible_elsewhere(people):
    X, y, A = people
    fair = FairRegressor(LinearRegression(), MinimaxGroupLoss()).fit(X, y, sensitive_features=A)
    least = fair.certificate_.worst_rate[1]
    assert least == pytest.approx(fair.measure(X, y, sensitive_features=A).largest)
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(1.001 * least))
    reg.fit(X, y, sensitive_features=A)
    assert reg.certificate_.feasible
    assert "loosened" not in str(reg.certificate_)
    assert reg.measure(X, y, sensitive_features=A).excess <= 1e-6 * least
    with pytest.warns(InfeasibleWarning, match="loosened by"):
        reg.set_params(constraint__bound=0.5 * least).fit(X, y, sensitive_features=A)
    assert not reg.certificate_.feasible


def test_a_stopped_fit_proves_nothing_impossible(people):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(1.0))
    reg.set_params(callback=lambda found: found.proven_slack > 0)
    assert reg.fit(X, y, sensitive_features=A).certificate_.status is Status.NOT_YET


def test_predictions_are_drawn_by_the_person(people):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), DemographicParity(0.02), thresholds=5)
    reg.fit(X, y, sensitive_features=A)
    drawn, each = reg.predict(X), reg.predict_members(X)
    assert len(reg.regressor_.members) > 1
    assert reg.predict(X[::-1])[::-1] == pytest.approx(drawn)
    assert (drawn[:, None] == each).any(axis=1).all()
    assert reg.predict_mean(X) == pytest.approx(each @ reg.regressor_.weights)


def test_strata_and_weights_enter_the_constraint(people):
    X, y, A = people
    stratum, weight = np.arange(600) % 2, np.where(A == 1, 2.0, 0.5)
    reg = FairRegressor(LinearRegression(), DemographicParity(0.05), thresholds=5)
    reg.fit(X, y, sensitive_features=A, control_features=stratum, sample_weight=weight)
    assert {row.event.stratum for row in reg.certificate_.rows} == {"0", "1"}
    assert reg.certificate_.feasible


@pytest.mark.parametrize(
    ("estimator", "constraint", "more", "told"),
    [
        (LogisticRegression(), DemographicParity(), {}, "a classifier.*FairClassifier"),
        (LinearRegression(), EqualizedOdds(), {}, "EqualizedOdds is about labels"),
        (LinearRegression(), DemographicParity(positive=1), {}, "positive=1"),
        (LinearRegression(), DemographicParity([0.1, 0.2]), {}, "one for each row"),
        (LinearRegression(), BoundedGroupLoss(1.0), {"oracle": "plugin"}, "oracle is 'plugin'"),
        (LinearRegression(), DemographicParity(), {"loss": "log"}, "loss is 'log'"),
        (LinearRegression(), DemographicParity(), {"thresholds": 0}, "thresholds is 0"),
        (LinearRegression(), DemographicParity(), {"group_estimator": LinearRegression()}, "proba"),
    ],
)
def test_what_has_no_meaning_is_refused_with_a_sentence(people, estimator, constraint, more, told):
    X, y, A = people
    with pytest.raises((TypeError, ValueError), match=told):
        FairRegressor(estimator, constraint, **more).fit(X, y, sensitive_features=A)


@pytest.mark.parametrize("constraint", [DemographicParity(0.05), BoundedGroupLoss(1e4)])
def test_a_learner_that_answers_differently_the_next_time_is_refused(people, constraint):
    X, y, A = people
    with pytest.raises(DeploymentError, match="Forgetful does not predict as recorded"):
        FairRegressor(Forgetful(), constraint).fit(X, y, sensitive_features=A)


def test_models_of_folds_are_asked_again_after_all_of_the_training(people):
    X, y, A = people
    with pytest.raises(DeploymentError, match="Latest does not predict as recorded"):
        FairRegressor(Latest(), DemographicParity(0.05)).fit(X, y, sensitive_features=A)


@pytest.mark.parametrize("constraint", [DemographicParity(0.05), BoundedGroupLoss(1e4)])
def test_rows_stay_as_they_are_under_a_learner_that_writes_into_them(people, constraint):
    X, y, A = people
    kept, target = X.copy(), y.copy()
    FairRegressor(InPlace(), constraint, thresholds=5).fit(X, y, sensitive_features=A)
    assert (kept == X).all()
    assert (target == y).all()


def test_other_people_in_other_groups_are_measured_in_their_own(people):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), DemographicParity(0.05), thresholds=5)
    reg.fit(X, y, sensitive_features=np.array(["a", "b", "c"])[A + (X[:, 1] > 1)])
    groups = np.array(["c", "b"])[A]
    with pytest.warns(AbsentGroupWarning, match="belongs to a,"):
        told = reg.measure(X, y, sensitive_features=groups)
    assert told.largest == pytest.approx(
        largest_difference(reg.predict_members(X), reg.regressor_.weights, groups)
    )


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_what_is_said_does_not_depend_on_the_unit_of_y(people, unit):
    X, y, A = people
    least = FairRegressor(LinearRegression(), MinimaxGroupLoss()).fit(X, y, sensitive_features=A)
    bound = 0.7 * least.certificate_.worst_rate[0] * unit**2
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(bound), max_iter=1)
    with pytest.warns(ConvergenceWarning, match="not met yet"):
        reg.fit(X, y * unit, sensitive_features=A)
    reg.set_params(max_iter=500)
    with pytest.warns(InfeasibleWarning, match="cannot be met with this learner"):
        certificate = reg.fit(X, y * unit, sensitive_features=A).certificate_
    lower, upper = certificate.check()
    assert 0 < lower <= upper < np.inf
    assert certificate.binding
    assert f"loss        {certificate.error:.5g}" in str(certificate)
    assert reg.measure(X, y * unit, sensitive_features=A, level=0.95).exceeds


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_numbers_whose_squares_are_none_are_refused_before_any_work(people, unit):
    X, y, A = people
    with pytest.raises(ValueError, match="Scale y"):
        FairRegressor(LinearRegression(), DemographicParity(0.1)).fit(
            X, y * unit, sensitive_features=A
        )


@pytest.mark.parametrize("traced", [False, True])
def test_how_many_were_learned_from_is_known(people, traced):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), DemographicParity(0.1), thresholds=5)
    if traced:
        reg = Frontier(LinearRegression(), DemographicParity(), bounds=[0.1], thresholds=5)
    reg.fit(X[:400], y[:400], sensitive_features=A[:400])
    reg = reg.at(0.1) if traced else reg
    assert reg.people_.rows == 400
    assert reg.measure(X, y, sensitive_features=A).overlap[:2] == (600, 400)
    assert reg.measure(X[400:], y[400:], sensitive_features=A[400:]).overlap.high == 0
    again = reg.measure(X[:400], y[:400] + 0.1, sensitive_features=A[:400]).overlap
    assert (again.estimate, again.same) == (400, False)  # the same people, whatever their number is
    assert reg.measure(X[:400], y[:400], sensitive_features=A[:400]).overlap.same


def test_one_group_alone_is_not_measured(people):
    X, y, A = people
    ones = A == 1
    told = {}
    for constraint in (DemographicParity(0.3), BoundedGroupLoss(1e4)):
        reg = FairRegressor(LinearRegression(), constraint, thresholds=5)
        reg.fit(X, y, sensitive_features=A)
        with pytest.warns(AbsentGroupWarning):
            told[type(constraint)] = reg.measure(X[ones], y[ones], sensitive_features=A[ones])
    nothing, some = told.values()
    assert np.isnan(nothing.largest)
    assert np.isnan(nothing.excess)
    assert some.excess == 0.0  # the loss of one group has a bound of its own


def test_a_conflict_of_bounds_on_losses_is_irreducible(people):
    """Either bound alone is too low for a linear model, so one of them is the conflict."""
    X, y, A = people
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(100.0))
    with pytest.warns(InfeasibleWarning, match="In conflict"):
        reg.fit(X, y, sensitive_features=A)
    for group in (0, 1):
        own, lost = (each[group == A] for each in (X, y))
        assert np.square(LinearRegression().fit(own, lost).predict(own) - lost).mean() > 100.0
    assert len(reg.certificate_.conflict) == 1


def test_what_is_said_of_a_loss_names_it(people):
    X, y, A = people
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(1e4)).fit(X, y, sensitive_features=A)
    text = str(reg.certificate_)
    assert "loss of 0" in str(reg.certificate_.rows[0])
    assert "\nloss  " in text
    assert "of error" not in text
    assert repr(reg.constraint_) == "BoundedGroupLoss(bound=10000.0)"


def test_a_regressor_in_a_classifier_names_the_right_class(people):
    X, y, A = people
    with pytest.raises(TypeError, match="FairRegressor"):
        FairClassifier(LinearRegression(), DemographicParity()).fit(X, y > 0, sensitive_features=A)


@pytest.mark.parametrize("eps", [0.01, 0.05])
def test_a_gap_below_what_a_linear_program_promises_ends_the_search(eps):
    problem = FiniteRegression.random(0)  # impossible at both bounds
    found = play(problem, DemographicParity(eps), nu=1e-8)
    assert found.iteration < 100
    assert found.least_slack == pytest.approx(least_bound(problem.rows("overall")) - eps, abs=1e-7)


def test_regressors_of_other_targets_do_not_share_their_luck(people):
    X, y, A = (column[:200] for column in people)

    def salt(y, order=slice(None), eps=0.1):
        model = FairRegressor(LinearRegression(), DemographicParity(eps), thresholds=3)
        model.fit(X[order], y[order], sensitive_features=A[order])
        return model.regressor_.random_state

    assert salt(y) == salt(y, slice(None, None, -1)) == salt(y, eps=0.3)
    assert len({salt(y), salt(y**2), salt(-y)}) == 3


@pytest.fixture(scope="module")
def shifted():
    """Two groups whose first feature lies apart, and so does the number that it tells."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 1000)
    X = rng.normal(size=(1000, 4))
    X[:, 0] += A
    return X, X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=1000), A


def test_a_learner_under_parity_is_tried_further(shifted):
    """Its first answers close the gap at a loss of 1.82; further questions find better ones."""
    X, y, A = shifted
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    given = {"oracle": "refit", "thresholds": 20}
    reg = FairRegressor(tree, DemographicParity(0.02), **given).fit(X, y, sensitive_features=A)
    assert reg.certificate_.feasible
    assert reg.certificate_.is_optimal()
    assert reg.certificate_.error < 1.7
    frontier = Frontier(tree, DemographicParity(), bounds=[0.02], **given)
    frontier.fit(X, y, sensitive_features=A)
    assert frontier.points_[0].error == pytest.approx(reg.certificate_.error)


@pytest.mark.parametrize("oracle", ["plugin", "refit"])
@pytest.mark.parametrize("max_iter", [1, 3, 6])
def test_parity_is_met_by_a_search_that_is_stopped(shifted, oracle, max_iter):
    """The best constant is always known, and treats all groups alike."""
    X, y, A = shifted
    given = {"oracle": oracle, "max_iter": max_iter, "thresholds": 10}
    reg = FairRegressor(LinearRegression(), DemographicParity(0.01), **given)
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter"):
        reg.fit(X, y, sensitive_features=A)
    assert reg.certificate_.feasible
    assert reg.certificate_.error <= reg.constant_loss_ + 1e-9
    reg.certificate_.check()
