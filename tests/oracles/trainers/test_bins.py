"""LightGBM and XGBoost: the features are put into bins once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from training import (
    ASKED,
    X_NEW,
    A,
    N,
    X,
    Y,
    check_same_as_plain,
    kind,
    lightgbm,
    local_scores,
    plainly,
    scores,
    trainer_of,
    xgboost,
)

from equipoise import (
    DemographicParity,
    Frontier,
)
from equipoise.oracles import refit
from equipoise.oracles.trainers import PlainTrainer, lightgbm_bins


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"num_leaves": 7, "max_bin": 31, "reg_lambda": 1.0},
        {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5, "random_state": 3},
        {"n_estimators": 3, "objective": "binary", "min_child_samples": 400},
    ],
)
def test_lightgbm_grows_the_trees_of_a_plain_fit(params):
    estimator = lightgbm(**params)
    check_same_as_plain(estimator)
    trained = trainer_of(estimator).fit(*ASKED[1]).classifier
    plain = plainly(estimator, *ASKED[1])
    trees = [m.booster_.model_to_string().split("\nparameters:")[0] for m in (trained, plain)]
    assert trees[0] == trees[1]
    assert trained.get_params() == plain.get_params() == estimator.get_params()
    assert_array_equal(trained.feature_importances_, plain.feature_importances_)
    assert trained.n_features_in_ == plain.n_features_in_
    assert trained.n_estimators_ == plain.n_estimators_


def test_lightgbm_takes_missing_values_and_other_numbers():
    holes = np.where(np.random.default_rng(4).random(X.shape) < 0.1, np.nan, X)
    for rows in (holes, X.astype(np.float32), np.asfortranarray(X), (10 * X).astype(int)):
        assert kind(lightgbm(), rows) == "LightGBMTrainer"
        check_same_as_plain(lightgbm(), rows)


@pytest.mark.parametrize("most_apart", [256, 2])
def test_lightgbm_may_bundle_features(most_apart, monkeypatch):
    # Each is seldom other than zero, and both are in two rows: LightGBM makes them one column, and
    # scores these two rows as if one of them were zero while it trains.
    monkeypatch.setattr(lightgbm_bins, "MOST_APART", most_apart)
    n = 30_000
    rows = np.zeros((n, 3))
    rows[:1500, 0], rows[1498:3000, 1] = 1.0, 1.0
    rows[:, 2] = np.random.default_rng(0).normal(size=n)
    label = np.where(rows[:, 0] + rows[:, 1] > 0, rows[:, 0], rows[:, 2] > 0).astype(np.int64)
    weight = np.linspace(0.5, 1.5, n)
    trained = trainer_of(lightgbm(), rows).fit(label, weight)
    bundles = {} if most_apart < 3 else {"enable_bundle": False}
    plain = plainly(lightgbm(**bundles), label, weight, rows)
    assert_array_equal(trained.local.predict(trained.rows), plain.predict(rows))
    assert_array_equal(local_scores(trained), scores(plain, rows))
    # What is deployed scores these rows as was measured; a booster of bundles does not.
    assert_array_equal(local_scores(trained), scores(trained.classifier, rows))
    assert (trained.local is trained.classifier) == (most_apart < 3)


def as_frame(rows):
    """Numbers with holes, whole numbers, truth values and categories, in an order of their own."""
    kinds = ["low", "middle", "high", "very high"]
    frame = pd.DataFrame(
        {
            "number": np.where(np.arange(len(rows)) % 7 == 0, np.nan, rows[:, 0]),
            "square": rows[:, 1] ** 2,
            "whole": np.round(rows[:, 2]).astype(int),
            "kind": pd.Categorical.from_codes(np.digitize(rows[:, 3], [-1, 0, 1]), kinds),
            "truth": rows[:, 4] > 0,
        }
    )
    return frame.set_index(np.arange(len(rows))[::-1])


def as_sparse(make):
    return lambda rows: make(np.where(np.abs(rows) < 0.7, 0.0, rows))


TABLES = {
    "frame": as_frame,
    "csr": as_sparse(sp.csr_matrix),
    "csr array": as_sparse(sp.csr_array),
    "csc": as_sparse(sp.csc_matrix),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.filterwarnings("ignore:Converting data to scipy sparse matrix")
def test_lightgbm_reads_frames_and_sparse_matrices_as_a_plain_fit_does(table):
    rows, new = TABLES[table](X), TABLES[table](X_NEW)
    assert kind(lightgbm(), rows) == "LightGBMTrainer"
    check_same_as_plain(lightgbm(), rows, new)
    names = getattr(trainer_of(lightgbm(), rows).fit(*ASKED[0]).classifier, "feature_name_", None)
    assert names == plainly(lightgbm(), *ASKED[0], rows).feature_name_


@pytest.mark.parametrize("table", TABLES)
def test_xgboost_reads_frames_and_sparse_matrices_as_a_plain_fit_does(table):
    rows, new = TABLES[table](X), TABLES[table](X_NEW)
    estimator = xgboost(enable_categorical=table == "frame")
    assert kind(estimator, rows) == "XGBoostTrainer"
    trained = trainer_of(estimator, rows).fit(Y, np.ones(N))
    plain = plainly(estimator, Y, np.ones(N), rows)
    assert_array_equal(trained.classifier.predict_proba(new), plain.predict_proba(new))
    assert_array_equal(local_scores(trained), plain.predict_proba(rows)[:, 1])
    if table == "frame":
        assert_array_equal(trained.classifier.feature_names_in_, plain.feature_names_in_)


@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_columns_of_text_are_refused_in_the_words_of_the_library(make):
    rows = pd.DataFrame({"number": X[:, 0], "name": ["a", "b"] * (N // 2)})
    with pytest.raises(ValueError, match=r"dtypes.*must be int, float"):
        trainer_of(make(), rows).fit(*ASKED[0])


def test_frontiers_of_frames_are_those_of_plain_fits(monkeypatch):
    frame = as_frame(X)
    found = []
    for _ in range(2):
        frontier = Frontier(lightgbm(), DemographicParity(), bounds=[0.02, 0.1])
        frontier.fit(frame, Y, sensitive_features=A)
        found.append([(p.error, p.gap, p.members) for p in frontier.points_])
        monkeypatch.setattr(refit, "choose_trainer", PlainTrainer)
    assert found[0] == found[1]


@pytest.mark.parametrize("n", [2, 10, 100])
@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_few_rows_and_constant_features(make, n):
    label, weight = np.arange(n) % 2, np.linspace(0.5, 1.5, n)
    for rows in (X[:n], np.ones((n, 2))):
        trained = trainer_of(make(), rows).fit(label, weight)
        plain = plainly(make(), label, weight, rows)
        assert_array_equal(trained.classifier.predict(rows), plain.predict(rows))
        assert_array_equal(trained.local.predict(trained.rows), plain.predict(rows))


def test_xgboost_is_the_plain_fit_where_weights_are_equal():
    trained = trainer_of(xgboost()).fit(Y, np.ones(N))
    plain = plainly(xgboost(), Y, np.ones(N))
    assert_array_equal(trained.classifier.predict_proba(X_NEW), plain.predict_proba(X_NEW))


def test_xgboost_is_as_good_as_plain_fits():
    estimator = xgboost(max_depth=3)
    trainer = trainer_of(estimator)
    members = [trainer.fit(*asked) for asked in ASKED]
    for (label, weight), trained in zip(ASKED, members, strict=True):
        plain = plainly(estimator, label, weight)
        ours, theirs = (
            np.average(m.predict(X) != label, weights=weight) for m in (trained.classifier, plain)
        )
        assert abs(ours - theirs) < 0.01
        assert_array_equal(trained.local.predict(X), trained.classifier.predict(X))
        assert_array_equal(local_scores(trained), trained.classifier.predict_proba(X)[:, 1])
        assert_array_equal(trained.classifier.classes_, [0, 1])
        assert repr(trained.classifier.get_params()) == repr(plain.get_params())
