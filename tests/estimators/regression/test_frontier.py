"""Frontiers of regressors: one pool, many bounds."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest
from finite_regression import path
from regression_problems import FiniteRegression, least_loss
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from equipoise import (
    BoundedGroupLoss,
    DemographicParity,
    EqualizedOdds,
    FairRegressor,
    Frontier,
    FrontierDisplay,
    MinimaxGroupLoss,
)
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.exceptions import InfeasibleWarning
from equipoise.files.onnx import export_onnx
from equipoise.game import bound_path
from equipoise.game.evidence import Status
from equipoise.game.simplex import SimplexProgram


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 500)
    X = np.column_stack([A + rng.normal(size=500), rng.normal(size=500)])
    return X, 50.0 * X.sum(axis=1) + rng.normal(size=500) * np.where(A == 1, 80.0, 30.0), A


@pytest.fixture(scope="module")
def frontier(people):
    X, y, A = people
    bounds = [0.3, 0.02, 0.1]
    made = Frontier(LinearRegression(), DemographicParity(), bounds=bounds, thresholds=8)
    return made.fit(X, y, sensitive_features=A)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("left_out", ["from_vertex", "solve"])
def test_every_bound_is_the_optimum_of_the_whole_program(seed, left_out, monkeypatch):
    if left_out == "solve":  # every program is solved from the last vertex
        monkeypatch.setattr(bound_path, "solve", None)
    else:  # or every one from the start
        monkeypatch.setattr(SimplexProgram, "from_vertex", lambda *_: None)
    problem = FiniteRegression.random(seed)
    bounds = [0.01, 0.05, 0.2]
    rows = problem.rows("overall")
    found = path(problem, DemographicParity(), bounds)
    best = [least_loss(problem.errors(), rows, eps) for eps in bounds]
    assert [each.error for each in found] == pytest.approx(best, abs=2e-6)
    assert max(each.violation for each in found) <= 1e-7
    assert all(each.lower <= least + 1e-9 for each, least in zip(found, best, strict=True))


def test_points_are_monotone_and_those_of_single_fits(people, frontier):
    X, y, A = people
    losses = [point.error for point in frontier.points_]
    assert [point.eps for point in frontier.points_] == [0.02, 0.1, 0.3]
    assert losses == sorted(losses, reverse=True)
    for point in frontier.points_:
        point.certificate.check()
        assert point.certificate.feasible
        assert point.certificate.is_optimal()
        assert point.error < frontier.constant_loss_
    alone = FairRegressor(LinearRegression(), DemographicParity(0.1), thresholds=8)
    alone.fit(X, y, sensitive_features=A)
    assert losses[1] == pytest.approx(alone.certificate_.error, abs=alone.nu_)
    assert frontier.unconstrained_.error <= losses[-1] + 1e-9


def test_at_returns_a_fitted_regressor(people, frontier):
    X, y, A = people
    for eps, is_traced in ((0.1, True), (0.05, False)):
        reg = frontier.at(eps)
        assert isinstance(reg, FairRegressor)
        assert reg.certificate_.feasible
        assert reg.constraint.eps == eps
        assert np.isfinite(reg.exact_difference_) == is_traced
        told = reg.measure(X, y, sensitive_features=A)
        assert told.loss == pytest.approx(reg.certificate_.error, rel=0.05)
        assert reg.n_features_in_ == 2
    assert frontier.at(0.1).exact_difference_ == frontier.exact_differences_[1]


def test_points_are_measured_on_other_people(people, frontier):
    X, y, A = people
    found = frontier.evaluate(X[:300], y[:300], sensitive_features=A[:300])
    reg = frontier.at(0.1)
    told = reg.measure(X[:300], y[:300], sensitive_features=A[:300])
    assert (found[1].error, found[1].disparity) == (told.loss, told.largest)
    plain = LinearRegression().fit(X, y).predict(X[:300])
    assert len(found) == 4  # the last one is without constraint
    assert found[-1].error == pytest.approx(np.mean((plain - y[:300]) ** 2))


def test_a_picture_says_loss(frontier):
    pytest.importorskip("matplotlib").use("Agg")
    display = FrontierDisplay.from_estimator(frontier)
    assert display.ax_.get_ylabel() == "loss, training data"
    assert display.lines_[0].get_ydata().tolist() == pytest.approx(
        [point.error for point in sorted(frontier.points_, key=lambda point: point.disparity)]
    )


def test_regressors_are_not_exported_to_onnx(people, frontier):
    with pytest.raises(TypeError, match="Regressors are not exported"):
        export_onnx(frontier.at(0.1), "model.onnx", people[0])


def test_group_losses_are_traced_and_impossible_ones_said_to_be(people):
    X, y, A = people
    worst = FairRegressor(LinearRegression(), MinimaxGroupLoss()).fit(X, y, sensitive_features=A)
    least = worst.certificate_.worst_rate[1]
    bounds = [0.5 * least, 1.01 * least, 1.1 * least]
    made = Frontier(LinearRegression(), BoundedGroupLoss(1.0), bounds=bounds)
    with pytest.warns(InfeasibleWarning, match="1 bounds"):
        made.fit(X, y, sensitive_features=A)
    states = [point.certificate.status for point in made.points_]
    assert states == [Status.IMPOSSIBLE, Status.MET, Status.MET]
    assert made.points_[1].disparity <= bounds[1] * (1 + 1e-6)
    told = made.at(bounds[2]).measure(X, y, sensitive_features=A)
    assert told.largest <= bounds[2] * (1 + 1e-6)


def test_a_stopped_search_proves_nothing(people):
    X, y, A = people
    made = Frontier(
        LinearRegression(), DemographicParity(), bounds=[0.01, 0.1], callback=lambda _: True
    )
    made.fit(X, y, sensitive_features=A)
    assert all(point.certificate.feasible for point in made.points_)  # the constant is
    assert made.points_[0].error == pytest.approx(made.constant_loss_)
    assert not made.points_[0].certificate.is_optimal()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_stopped_search_for_losses_says_not_met_yet(people):
    """Bounds that are impossible, and proven so, in a search that max_iter ends."""
    X, y, A = (each[:100] for each in people)
    made = Frontier(LinearRegression(), BoundedGroupLoss(1.0), bounds=[0.01, 0.02])
    with pytest.warns(InfeasibleWarning):
        made.fit(X, y, sensitive_features=A)
    assert made.at(0.015).certificate_.status is Status.IMPOSSIBLE
    made.set_params(max_iter=made.n_iter_).fit(X, y, sensitive_features=A)
    for eps in (0.01, 0.015):
        certificate = made.at(eps).certificate_
        assert certificate.status is Status.NOT_YET
        assert certificate.conflict == ()
        assert "impossible" not in str(certificate)


def test_the_kind_follows_from_the_learner():
    made = Frontier(LinearRegression(), DemographicParity(), bounds=[0.1], loss="absolute")
    assert type(made) is type(clone(made)) is RegressionFrontier
    assert clone(made).loss == "absolute"
    assert type(Frontier(LogisticRegression(), DemographicParity())) is Frontier
    assert list(signature(Frontier).parameters)[:2] == ["estimator", "constraint"]  # as in help


@pytest.mark.parametrize("name", ["n_jobs", "objective"])
def test_parameters_about_labels_are_refused_by_name(name):
    with pytest.raises(TypeError, match=f"a regressor, whose frontier does not take {name}."):
        Frontier(LinearRegression(), DemographicParity(), **{name: 2})


@pytest.mark.parametrize(
    ("constraint", "bounds", "told"),
    [
        (DemographicParity() & BoundedGroupLoss(), [0.1], "takes one at a time"),
        (MinimaxGroupLoss(), None, "has no bound to trace"),
        (BoundedGroupLoss(1.0), None, "expected the bounds of the loss"),
        (EqualizedOdds(), None, "EqualizedOdds is about labels"),
        (DemographicParity(), [-1.0], "bounds are"),
    ],
)
def test_what_cannot_be_traced_is_refused(people, constraint, bounds, told):
    X, y, A = people
    with pytest.raises((TypeError, ValueError), match=told):
        Frontier(LinearRegression(), constraint, bounds=bounds).fit(X, y, sensitive_features=A)
