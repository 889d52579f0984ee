"""Intervals of differences and losses of a regressor: how often they contain the truth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from equipoise import BoundedGroupLoss, DemographicParity, FairRegressor


def draw(rng, n):
    A = rng.integers(0, 2, n)
    X = np.column_stack([0.5 * A + rng.normal(size=n), rng.normal(size=n)])
    return X, X.sum(axis=1) + (1 + A) * rng.normal(size=n), A


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module", params=[DemographicParity(0.1), BoundedGroupLoss(5.0)])
def model(request, rng):
    X, y, A = draw(rng, 1000)
    reg = FairRegressor(LinearRegression(), request.param, thresholds=8)
    return reg.fit(X, y, sensitive_features=A)


def measured(model, X, y, A, **more):
    return model.measure(X, y, sensitive_features=A, **more)


def test_intervals_contain_the_truth_about_as_often_as_they_say(model, rng):
    truth = measured(model, *draw(rng, 20_000)).largest
    found = [measured(model, *draw(rng, 150), level=0.9) for _ in range(25)]
    inside = [each.low <= truth <= each.high for each in found]
    assert np.mean(inside) >= 0.8
    # They are no wider than need be: what is far away is outside.
    assert np.mean([each.high - each.low for each in found]) < 3 * truth
    wider = measured(model, *draw(np.random.default_rng(5), 150), level=0.99)
    narrower = measured(model, *draw(np.random.default_rng(5), 150), level=0.9)
    assert wider.high > narrower.high > narrower.largest
    assert measured(model, *draw(rng, 150)).exceeds is None


@pytest.mark.parametrize("n", [60, 700])
def test_one_group_of_losses_has_the_limits_of_quotients_drawn_by_hand(rng, n):
    X, y, _ = draw(rng, n)
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(9.0))
    reg.fit(X, y, sensitive_features=np.zeros(n))
    lost = (reg.predict_members(X)[:, 0] - y) ** 2

    def error(some):
        return some.std(ddof=1) / np.sqrt(n)

    drawn = [rng.choice(lost, n) for _ in range(4000)]
    quotients = [(some.mean() - lost.mean()) / error(some) for some in drawn]
    low, high = lost.mean() - np.quantile(quotients, [0.975, 0.025]) * error(lost)
    told = measured(reg, X, y, np.zeros(n), level=0.95)
    assert (told.low, told.high) == pytest.approx((low, high), rel=0.05)
    assert told.high - lost.mean() > lost.mean() - told.low  # losses are skewed
    assert measured(reg, X, y, np.zeros(n), level=0.95) == told


def test_weights_of_people_enter_the_limits(rng):
    X, y, A = draw(rng, 300)
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(9.0)).fit(X, y, sensitive_features=A)
    told = measured(reg, X, y, A, level=0.95)
    twice = measured(reg, X, y, A, level=0.95, sample_weight=np.full(300, 2.0))
    assert (twice.low, twice.high) == pytest.approx((told.low, told.high))
    heavy = measured(reg, X, y, A, level=0.95, sample_weight=np.where(A == 1, 9.0, 1.0))
    assert (heavy.low, heavy.high) == pytest.approx((told.low, told.high))  # within groups alike
    lost = (reg.predict_members(X) @ reg.regressor_.weights - y) ** 2
    few = np.where(lost > np.quantile(lost, 0.5), 0.01, 1.0)
    assert measured(reg, X, y, A, level=0.95, sample_weight=few).high < told.low


def test_losses_that_are_all_the_same_have_no_width():
    X, A = np.zeros((80, 1)), np.arange(80) % 2
    y = np.where(np.arange(80) < 40, -1.0, 1.0)
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(9.0)).fit(X, y, sensitive_features=A)
    assert measured(reg, X, y, A, level=0.95)[4:6] == pytest.approx((1.0, 1.0))


def test_few_people_prove_nothing(model, rng):
    X, y, A = draw(rng, 300)
    few = np.flatnonzero(A == 0)[:10]
    kept = np.append(few, np.flatnonzero(A == 1))
    told = measured(model, X[kept], 100 * y[kept], A[kept], level=0.95)
    if isinstance(model.constraint, DemographicParity):
        assert not told.exceeds
        assert told.high > 0.9  # the ten may be anywhere
    else:  # the others lose far more than the bound
        assert told.exceeds
        assert told.high == np.inf
    high = []
    for people in (29, 30):  # the fewest whose interval can be relied on
        kept = np.append(np.flatnonzero(A == 0)[:people], np.flatnonzero(A == 1))
        high.append(measured(model, X[kept], y[kept], A[kept], level=0.95).high)
    assert high[1] < high[0]
