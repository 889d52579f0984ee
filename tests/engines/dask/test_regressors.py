"""Regressors of Dask collections: the losses of groups, as in memory; thresholds are refused."""

from __future__ import annotations

import numpy as np
import pytest
from clusters import split
from sklearn.linear_model import LinearRegression, Ridge

import equipoise
from equipoise import BoundedGroupLoss, DemographicParity, FairRegressor, Frontier, MinimaxGroupLoss
from equipoise.engines.dask.numbers import exact_sums
from equipoise.exceptions import EngineError

da = pytest.importorskip("dask.array", reason="needs Dask")


def trees():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRegressor(n_estimators=4, max_depth=2, n_jobs=1, random_state=0)


@pytest.fixture(scope="module")
def numbered():
    """Features of few values, so that bins are the values."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, 400)
    X = np.round(rng.normal(size=(400, 2)), 1) + 0.0
    return X, X[:, 0] + A * X[:, 1] + rng.normal(size=400), A


@pytest.mark.parametrize(
    ("constraint", "intercept", "weighted"),
    [(MinimaxGroupLoss(), False, True), (BoundedGroupLoss(9.0), True, False)],
)
def test_a_linear_fit_is_that_of_memory(client, numbered, constraint, intercept, weighted):
    X, y, A = numbered
    weight = np.where(A == 1, 2.0, 1.0) if weighted else None
    learner = LinearRegression(fit_intercept=intercept)
    near, far = (FairRegressor(learner, constraint) for _ in range(2))
    near.fit(X, y, sensitive_features=A, sample_weight=weight)
    rows, target, groups = split(X, y, A, chunks=150)
    weights = split(weight, chunks=150)[0] if weighted else None
    far.fit(rows, target, sensitive_features=groups, sample_weight=weights)
    assert far.certificate_.error == pytest.approx(near.certificate_.error)
    assert far.n_calls_ == near.n_calls_
    assert (far.constant_, far.constant_loss_) == pytest.approx(
        (near.constant_, near.constant_loss_)
    )
    assert far.regressor_.random_state == near.regressor_.random_state
    for answer in ("predict", "predict_mean", "predict_members"):
        expected = getattr(near, answer)(X)
        assert getattr(far, answer)(X) == pytest.approx(expected)
        assert getattr(far, answer)(rows).compute() == pytest.approx(expected)
    assert far.people_.rows == 400
    told = far.measure(X, y, sensitive_features=A, sample_weight=weight)
    assert told.largest == pytest.approx(far.certificate_.violation + told.largest - told.excess)
    assert told.overlap[:2] == (400, 400)


def test_trees_meet_the_losses_of_memory(client, numbered, tmp_path):
    X, y, A = numbered
    near, far = (
        Frontier(trees(), BoundedGroupLoss(), bounds=[2.6, 2.7], max_iter=40) for _ in range(2)
    )
    near.fit(X, y, sensitive_features=A)
    rows, target, groups = split(X, y, A, chunks=150)
    far.set_params(checkpoint=tmp_path / "kept").fit(rows, target, sensitive_features=groups)
    errors = [[point.error for point in each.points_] for each in (near, far)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-3)
    model = far.at(2.7)
    losses = [
        np.square(model.predict_members(X)[a == A].T - y[a == A]).mean(axis=1) for a in range(3)
    ]
    largest = max(np.array(losses) @ model.regressor_.weights)
    assert largest == pytest.approx(far.points_[1].disparity, rel=1e-6)
    assert len(list((tmp_path / "kept").glob("answer-*"))) == far.n_calls_
    equipoise.save(model, tmp_path / "model")
    assert equipoise.load(tmp_path / "model").predict(X) == pytest.approx(model.predict(X))


@pytest.mark.parametrize("loss", ["absolute", lambda t: np.abs(t) ** 1.5])
def test_another_loss_has_a_constant_of_its_own(client, numbered, loss):
    X, y, A = numbered
    near, far = (FairRegressor(LinearRegression(), MinimaxGroupLoss(), loss=loss) for _ in range(2))
    near.fit(X, y, sensitive_features=A)
    rows, target, groups = split(X, y, A, chunks=150)
    far.fit(rows, target, sensitive_features=groups)
    assert far.constant_loss_ == pytest.approx(near.constant_loss_, rel=1e-3)
    assert far.certificate_.error == pytest.approx(near.certificate_.error, rel=1e-3)


@pytest.mark.parametrize(
    ("learner", "constraint", "told"),
    [
        (LinearRegression(), DemographicParity(0.1), "compares all predictions at thresholds"),
        (Ridge(), MinimaxGroupLoss(), "Ridge cannot be trained on a Dask collection"),
        (LinearRegression(positive=True), MinimaxGroupLoss(), "cannot be trained on a Dask"),
    ],
)
def test_what_does_not_go_with_dask_is_refused_before_rows_are_read(
    numbered, learner, constraint, told
):
    rows, target, groups = split(*numbered, chunks=150)  # there is no cluster
    with pytest.raises(TypeError, match=told):
        FairRegressor(learner, constraint).fit(rows, target, sensitive_features=groups)


def test_people_are_measured_where_each_can_be_looked_at(client, numbered):
    X, y, A = numbered
    model = FairRegressor(LinearRegression(), MinimaxGroupLoss()).fit(X, y, sensitive_features=A)
    rows, target, groups = split(X, y, A, chunks=150)
    for measured in (model.measure, model.by_group):
        with pytest.raises(TypeError, match="Compute the collections"):
            measured(rows, target, sensitive_features=groups)


def test_bad_numbers_name_their_partition(client, numbered):
    X, y, A = numbered
    rows, target, groups = split(X, np.where(np.arange(400) == 200, np.nan, y), A, chunks=150)
    with pytest.raises((ValueError, EngineError), match="partition 1: Input y contains NaN"):
        FairRegressor(LinearRegression(), MinimaxGroupLoss()).fit(
            rows, target, sensitive_features=groups
        )


def test_sums_of_parts_are_exact():
    from fractions import Fraction
    from types import SimpleNamespace

    rng = np.random.default_rng(0)
    target = rng.normal(size=200) * 10.0 ** rng.integers(-9, 9, 200)
    parts, squares = exact_sums(SimpleNamespace(target=target))
    for found, values in ((parts, target), (squares, np.square(target))):
        assert sum(map(Fraction, found)) == sum(map(Fraction, values.tolist()))
