"""Cheaper calls of the learner: the same classifiers as plain fits, with less work."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier
from training import (
    ASKED,
    X_NEW,
    A,
    N,
    X,
    Y,
    kind,
    lightgbm,
    plainly,
    trainer_of,
    xgboost,
)

from equipoise import DemographicParity, FairClassifier, GridSearch
from equipoise.cells import Cells
from equipoise.oracles import RefitOracle


class Doubled(TransformerMixin, BaseEstimator):
    """A transformer of the user's own: nobody can know whether it looks at y."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * np.asarray(X)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (GaussianNB, "PlainTrainer"),
        (LogisticRegression, "LogisticTrainer"),
        (lambda: LogisticRegression(solver="liblinear"), "PlainTrainer"),
        (lambda: LogisticRegression(solver="saga"), "PlainTrainer"),
        (lambda: make_pipeline(StandardScaler(), GaussianNB()), "PipelineTrainer"),
        (lambda: make_pipeline("passthrough", GaussianNB()), "PipelineTrainer"),
        (lambda: make_pipeline(GaussianNB()), "PlainTrainer"),
        (lambda: make_pipeline(SelectKBest(k=2), GaussianNB()), "PlainTrainer"),
        (lambda: make_pipeline(TargetEncoder(), GaussianNB()), "PlainTrainer"),
        (lambda: make_pipeline(PLSRegression(), GaussianNB()), "PlainTrainer"),
        (lambda: make_pipeline(Doubled(), GaussianNB()), "PlainTrainer"),
        (
            lambda: make_pipeline(
                FeatureUnion([("a", StandardScaler()), ("b", SelectKBest(k=2))]), GaussianNB()
            ),
            "PlainTrainer",
        ),
        (
            lambda: make_pipeline(
                make_column_transformer((make_pipeline(SelectKBest(k=1)), [0, 1])), GaussianNB()
            ),
            "PlainTrainer",
        ),
        (
            lambda: make_pipeline(SelectFromModel(DecisionTreeClassifier()), GaussianNB()),
            "PlainTrainer",
        ),
        (lightgbm, "LightGBMTrainer"),
        (lambda: lightgbm(max_bin=63), "LightGBMTrainer"),
        (lambda: lightgbm(class_weight="balanced"), "PlainTrainer"),
        (lambda: lightgbm(boosting_type="dart"), "PlainTrainer"),
        (lambda: lightgbm(objective=lambda y, p: (p - y, np.ones_like(p))), "PlainTrainer"),
        (lambda: lightgbm(early_stopping_round=5), "PlainTrainer"),
        (lambda: lightgbm(linear_tree=True), "PlainTrainer"),
        (lambda: lightgbm(random_state=np.random.RandomState(0)), "PlainTrainer"),
        (xgboost, "XGBoostTrainer"),
        (lambda: xgboost(booster="dart"), "PlainTrainer"),
        (lambda: xgboost(tree_method="exact"), "PlainTrainer"),
        (lambda: xgboost(early_stopping_rounds=5), "PlainTrainer"),
        (lambda: xgboost(enable_categorical=True), "XGBoostTrainer"),
        (lambda: xgboost(objective="binary:hinge"), "PlainTrainer"),
        (lambda: xgboost(one_parameter_more=1), "PlainTrainer"),
        (lambda: xgboost(random_state=np.random.RandomState(0)), "PlainTrainer"),
    ],
)
def test_the_trainer_is_chosen_from_the_learner(make, expected):
    assert kind(make()) == expected


@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_lists_and_odd_matrices_are_fitted_plainly(make):
    for rows in (sp.coo_matrix(X), X.tolist(), X.astype(object)):
        assert kind(make(), rows) == "PlainTrainer"


LEARNERS = {
    "warm": lambda: LogisticRegression(),
    "pipeline": lambda: make_pipeline(StandardScaler(), lightgbm(n_estimators=2)),
    "lightgbm": lambda: lightgbm(n_estimators=2),
    "xgboost": lambda: xgboost(n_estimators=2, max_depth=2),
}


class _Arrays(pickle.Pickler):
    """A pickler that notes the sizes of arrays and strings of bytes."""

    def __init__(self):
        super().__init__(io.BytesIO())
        self.sizes = []

    def reducer_override(self, item):
        if isinstance(item, np.ndarray):
            self.sizes.append(item.size)
        return NotImplemented


@pytest.mark.parametrize("name", LEARNERS)
def test_members_hold_no_training_data(name):
    trained = trainer_of(LEARNERS[name]()).fit(*ASKED[1])
    pickler = _Arrays()
    pickler.dump(trained.classifier)
    assert max(pickler.sizes, default=0) < N
    written = pickle.dumps(trained.classifier)
    assert len(written) < 8 * N  # one number a row would be more
    back = pickle.loads(written)
    assert_array_equal(back.predict(X_NEW), trained.classifier.predict(X_NEW))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_trainer_travels_to_another_process(name):
    trainer = trainer_of(LEARNERS[name]())
    here = trainer.fit(*ASKED[0]).classifier  # with something to be left behind
    there = pickle.loads(pickle.dumps(trainer)).fit(*ASKED[0]).classifier
    assert_array_equal(here.predict(X_NEW), there.predict(X_NEW))


@pytest.mark.parametrize("threshold", ["tuned", "learner"])
@pytest.mark.parametrize("name", LEARNERS)
def test_an_oracle_counts_whom_its_member_selects(name, threshold):
    cells = Cells.from_columns(Y, {"A": A})
    oracle = RefitOracle(LEARNERS[name](), X, cells, threshold)
    costs = np.array([1.0, -1.0, 0.6, -1.3])
    for turn in range(3):
        member, s = oracle.best_response(np.roll(costs, 2 * turn) + 0.1 * turn)
        selected = member.predict(X)
        assert_allclose(sorted(s), sorted(_shares(selected)), atol=1e-12)


def _shares(selected):
    """Return the shares of people who are selected and in each group and label."""
    return [selected[(a == A) & (y == Y)].sum() / N for a in (0, 1) for y in (0, 1)]


@pytest.mark.parametrize("name", LEARNERS)
def test_fair_classifiers_meet_their_bound(name):
    fair = FairClassifier(LEARNERS[name](), DemographicParity(eps=0.03))
    fair.fit(X, Y, sensitive_features=A)
    selected = fair.predict_proba(X)[:, 1]
    for a in (0, 1):
        assert abs(selected[a == A].mean() - selected.mean()) <= 0.03 + 1e-6


@pytest.mark.processes
def test_two_jobs_with_bins():
    one, two = (
        GridSearch(LEARNERS["lightgbm"](), DemographicParity(eps=0.1), grid_size=3, n_jobs=jobs)
        .fit(X, Y, sensitive_features=A)
        .predict(X_NEW)
        for jobs in (1, 2)
    )
    assert_array_equal(one, two)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky"])
def test_warm_starts_end_where_cold_ones_do(solver):
    estimator = LogisticRegression(solver=solver, tol=1e-8, max_iter=5000)
    trainer = trainer_of(estimator)
    trainer.start_from(trainer.fit(*ASKED[0]).classifier)
    members = [trainer.fit(*asked).classifier for asked in ASKED]
    assert not hasattr(estimator, "coef_")
    for (label, weight), member in zip(ASKED, members, strict=True):
        cold = plainly(estimator, label, weight)
        assert_allclose(member.coef_, cold.coef_, atol=1e-5)
        assert_allclose(member.intercept_, cold.intercept_, atol=1e-5)
        assert member.get_params() == estimator.get_params()


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["alone", "in a pipeline"],
)
def test_a_warm_start_is_one_and_the_same_whatever_was_asked_before(estimator):
    trainer, other = trainer_of(estimator), trainer_of(estimator)
    first = trainer.fit(*ASKED[0]).classifier
    trainer.start_from(first)
    trainer.fit(*ASKED[2])
    other.start_from(first)
    after, at_once = (t.fit(*ASKED[1]).classifier for t in (trainer, other))
    steps = [m[-1] if hasattr(m, "steps") else m for m in (after, at_once, first)]
    assert_array_equal(steps[0].coef_, steps[1].coef_)
    trainer.start_from(after)
    again = trainer.fit(*ASKED[1]).classifier
    again = again[-1] if hasattr(again, "steps") else again
    assert again.n_iter_[0] < steps[0].n_iter_[0]
