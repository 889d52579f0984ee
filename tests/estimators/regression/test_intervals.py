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


def test_one_group_of_losses_has_the_usual_interval(rng):
    X, y, _ = draw(rng, 400)
    alone = np.zeros(400)
    reg = FairRegressor(LinearRegression(), BoundedGroupLoss(9.0)).fit(
        X, y, sensitive_features=alone
    )
    lost = (reg.predict_members(X)[:, 0] - y) ** 2
    half = 1.96 * lost.std(ddof=1) / 20
    told = measured(reg, X, y, alone, level=0.95)
    assert (told.low, told.high) == pytest.approx(
        (lost.mean() - half, lost.mean() + half), rel=0.02
    )


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
    trusting = measured(model, X[kept], y[kept], A[kept], level=0.95, min_people=5)
    assert trusting.high < told.high
