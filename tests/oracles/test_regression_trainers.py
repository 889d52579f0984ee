"""Boosted regressors with bins made once are those of plain fits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import BoundedGroupLoss, FairRegressor
from equipoise.oracles.trainers.regression import (
    PlainRegressionTrainer,
    choose_regression_trainer,
    fitted_regressor,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, X @ [1.0, 2.0, 0.0] + rng.normal(size=400), rng.uniform(0.5, 2.0, 400)


def learners():
    lightgbm = pytest.importorskip("lightgbm")
    xgboost = pytest.importorskip("xgboost")
    return {
        "lightgbm": lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1),
        "xgboost": xgboost.XGBRegressor(n_estimators=5, n_jobs=1),
    }


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_trees_on_bins_made_once_are_those_of_a_plain_fit(rows, name):
    X, y, weight = rows
    learner = learners()[name]
    trainer = choose_regression_trainer(learner, X)
    assert not isinstance(trainer, PlainRegressionTrainer)
    trainer.fit(y[::-1].copy(), weight)  # leaves nothing behind
    plain = fitted_regressor(learner, X, y, None).predict(X)
    assert trainer.fit(y, None).predict(X) == pytest.approx(plain, abs=1e-5)
    assert np.ptp(plain) > 1
    heavy = np.where(X[:, 1] > 0, 1.0, 1e-3)
    ours = trainer.fit(y, heavy).predict(X)
    theirs = fitted_regressor(learner, X, y, heavy).predict(X)
    if name == "lightgbm":
        assert ours == pytest.approx(theirs, abs=1e-5)
    # XGBoost places its cuts by weight, ours are placed once: alike, and not as without weights.
    assert np.abs(ours - theirs).mean() < 0.5 * np.abs(plain - theirs).mean()


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_group_losses_are_bounded_with_boosted_trees(rows, name):
    X, y, _ = rows
    group = (X[:, 2] > 0).astype(int)
    reg = FairRegressor(learners()[name], BoundedGroupLoss(5.0), max_iter=20)
    reg.fit(X, y, sensitive_features=group)
    told = reg.measure(X, y, sensitive_features=group)
    assert reg.certificate_.feasible
    assert told.loss == pytest.approx(reg.certificate_.error)


def test_other_learners_are_trained_plainly(rows):
    X, _, _ = rows
    for learner in (LinearRegression(), make_pipeline(StandardScaler(), LinearRegression())):
        assert type(choose_regression_trainer(learner, X)) is PlainRegressionTrainer
    own = learners()["lightgbm"].set_params(boosting_type="dart")
    assert type(choose_regression_trainer(own, X)) is PlainRegressionTrainer
