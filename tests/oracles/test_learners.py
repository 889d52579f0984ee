"""How learners are given weights, and cores."""

from __future__ import annotations

import numpy as np
import pytest
from people import SpyLearner, make_people
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise.oracles.learners import ResampledClassifier, with_cores
from equipoise.oracles.trainers import constant_classifier, weight_parameter

X, Y, A = make_people(300, seed=2)


def scaled(learner):
    return make_pipeline(StandardScaler(), learner)


# Weights


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (LogisticRegression(), "sample_weight"),
        (scaled(LogisticRegression()), "logisticregression__sample_weight"),
        (
            Pipeline([("model", Pipeline([("last", LogisticRegression())]))]),
            "model__last__sample_weight",
        ),
        (GridSearchCV(LogisticRegression(), {}), "sample_weight"),
        (GridSearchCV(scaled(LogisticRegression()), {}), "logisticregression__sample_weight"),
        (scaled(GridSearchCV(LogisticRegression(), {})), "gridsearchcv__sample_weight"),
        (ResampledClassifier(KNeighborsClassifier()), "sample_weight"),
        (VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())]), "sample_weight"),
    ],
)
def test_weights_go_to_the_right_step(learner, expected):
    assert weight_parameter(learner) == expected


@pytest.mark.parametrize(
    "learner",
    [
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        GridSearchCV(KNeighborsClassifier(), {}),
        VotingClassifier([("a", KNeighborsClassifier()), ("b", GaussianNB())]),
        VotingClassifier([("a", make_pipeline(StandardScaler(), GaussianNB()))]),
        # These take weights by metadata routing alone, which the learner is not run under.
        FixedThresholdClassifier(LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
    ],
)
def test_unweightable(learner):
    with pytest.raises(TypeError, match=r"takes no sample_weight.*ResampledClassifier"):
        weight_parameter(learner)


# A learner for those who all want the same


@pytest.mark.parametrize("label", [0, 1])
def test_a_constant_classifier_decides_the_same_for_everybody(label):
    assert constant_classifier(label).predict(X).tolist() == [label] * len(X)


# Cores


def forest(n_jobs):
    return RandomForestClassifier(n_jobs=n_jobs)


@pytest.mark.parametrize("nest", [lambda f: f, lambda f: make_pipeline(StandardScaler(), f)])
@pytest.mark.parametrize(("asked", "given"), [(-1, 1), (-2, 1), (10**6, 1), (1, 1), (None, None)])
def test_a_learner_gets_at_most_its_share(nest, asked, given):
    learner = nest(forest(asked))
    shared = with_cores(learner, 10_000)
    (n_jobs,) = (v for k, v in shared.get_params().items() if k.endswith("n_jobs"))
    assert n_jobs == given
    assert next(v for k, v in learner.get_params().items() if k.endswith("n_jobs")) == asked
    assert with_cores(learner, 1) is learner


@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_learners_that_take_all_cores_unless_told(package):
    library = pytest.importorskip(package)
    kind = library.LGBMClassifier if package == "lightgbm" else library.XGBClassifier
    vote = VotingClassifier([("trees", kind()), ("line", LogisticRegression())])
    assert with_cores(vote, 10_000).get_params()["trees__n_jobs"] == 1


# The resampling wrapper


def test_resampling_draws_in_proportion():
    drawn = SpyLearner.fresh()
    rows = np.arange(100.0)[:, None]
    weight = np.random.default_rng(0).random(100)
    y = np.arange(100) % 2
    ResampledClassifier(drawn(), factor=7.0).fit(rows, y, sample_weight=weight)
    [(given, label, no_weight)] = drawn.seen
    assert no_weight is None
    assert len(given) == 700
    np.testing.assert_array_equal(label, given[:, 0] % 2)
    count = np.bincount(given[:, 0].astype(int), minlength=100)
    assert np.abs(count - 700 * weight / weight.sum()).max() <= 1  # rounded up or down


def test_resampling_without_weights_is_the_learner_itself():
    plain = KNeighborsClassifier(7).fit(X, Y).predict(X)
    for weight in (None, np.ones(len(Y)), np.full(len(Y), 3)):
        wrapped = ResampledClassifier(KNeighborsClassifier(7)).fit(X, Y, sample_weight=weight)
        np.testing.assert_array_equal(wrapped.predict(X), plain)


def test_resampling_leaves_out_rows_without_weight():
    weight = (A == 1).astype(float)
    wrapped = ResampledClassifier(KNeighborsClassifier(1)).fit(X, Y, sample_weight=weight)
    fitted = wrapped.estimator_._fit_X
    assert {tuple(row) for row in fitted} <= {tuple(row) for row in X[A == 1]}


def test_resampling_to_one_class():
    weight = np.where(Y == 1, 1.0, 1e-12)
    wrapped = ResampledClassifier(LogisticRegression()).fit(X, Y, sample_weight=weight)
    assert set(wrapped.predict(X)) == {1}
    assert wrapped.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("factor", [0, -1, np.nan, "twice"])
def test_bad_factor(factor):
    with pytest.raises(ValueError, match=r"factor is .*expected a number > 0"):
        ResampledClassifier(GaussianNB(), factor=factor).fit(X, Y)
