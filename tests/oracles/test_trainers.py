"""Cheaper calls of the learner: the same classifiers as plain fits, with less work."""

from __future__ import annotations

import io
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import NMF, PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, FairClassifier, Frontier, GridSearch
from equipoise.cells import Cells
from equipoise.oracles import RefitOracle, refit
from equipoise.oracles.learners import weight_parameter
from equipoise.oracles.trainers import PlainTrainer, choose_trainer

N = 2000
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 5))
A = rng.integers(0, 2, N)
Y = (X[:, 0] + X[:, 1] ** 2 + A + rng.normal(size=N) > 1.2).astype(np.int64)
#: Labels and weights as a reduction asks for them: some flipped, some without weight.
ASKED = [
    (np.where(rng.random(N) < flipped, 1 - Y, Y), np.where(rng.random(N) < 0.1, 0.0, weight))
    for flipped, weight in [(0.0, np.ones(N)), (0.1, rng.random(N)), (0.3, 2 * rng.random(N))]
] + [(1 - Y, np.ones(N))]
X_NEW = np.random.default_rng(1).normal(size=(300, 5))


def lightgbm(**kwargs):
    module = pytest.importorskip("lightgbm")
    return module.LGBMClassifier(**{"n_estimators": 20, "verbose": -1, "n_jobs": 1, **kwargs})


def xgboost(**kwargs):
    module = pytest.importorskip("xgboost")
    return module.XGBClassifier(**{"n_estimators": 20, "n_jobs": 1, **kwargs})


def trainer_of(estimator, rows=X):
    return choose_trainer(estimator, rows, weight_parameter(estimator))


def kind(estimator, rows=X):
    return type(trainer_of(estimator, rows)).__name__


def plainly(estimator, label, weight, rows=X):
    """Fit a clone with scikit-learn's own means alone."""
    return clone(estimator).fit(rows, label, **{weight_parameter(estimator): weight})


def local_scores(trained):
    if hasattr(trained.local, "decision_function"):
        return trained.local.decision_function(trained.rows)
    return trained.local.predict_proba(trained.rows)[:, 1]


def scores(classifier, rows):
    if hasattr(classifier, "decision_function"):
        return classifier.decision_function(rows)
    return classifier.predict_proba(rows)[:, 1]


def check_same_as_plain(estimator, rows=X, new=X_NEW):
    trainer = trainer_of(estimator, rows)
    members = [trainer.fit(label, weight) for label, weight in ASKED]
    for (label, weight), trained in zip(ASKED, members, strict=True):  # after all fits are done
        plain = plainly(estimator, label, weight, rows)
        assert type(trained.classifier) is type(plain)
        assert_array_equal(trained.classifier.predict(new), plain.predict(new))
        assert_array_equal(scores(trained.classifier, new), scores(plain, new))
        assert_array_equal(trained.local.predict(trained.rows), plain.predict(rows))
        assert_array_equal(local_scores(trained), scores(plain, rows))


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
        (LogisticRegression, "WarmStartTrainer"),
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


def test_a_cached_pipeline_is_left_to_its_cache(tmp_path):
    cached = make_pipeline(StandardScaler(), GaussianNB(), memory=str(tmp_path))
    assert kind(cached) == "PlainTrainer"


PIPELINES = {
    "scaled": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "several": lambda: make_pipeline(
        SimpleImputer(), VarianceThreshold(), PolynomialFeatures(), LogisticRegression()
    ),
    "passthrough": lambda: Pipeline([("as it is", "passthrough"), ("nb", GaussianNB())]),
    "columns": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(StandardScaler(), MinMaxScaler()), [0, 1]), remainder="passthrough"
        ),
        LinearSVC(random_state=0),
    ),
    "nested": lambda: make_pipeline(
        StandardScaler(), make_pipeline(MinMaxScaler(), HistGradientBoostingClassifier(max_iter=5))
    ),
    # fit_transform and transform differ in the last digits, or by much
    "PCA": lambda: make_pipeline(PCA(3, random_state=0), LogisticRegression()),
    "NMF": lambda: make_pipeline(
        MinMaxScaler(), NMF(2, init="nndsvda", random_state=0, max_iter=20), LogisticRegression()
    ),
    "LightGBM": lambda: make_pipeline(StandardScaler(), lightgbm()),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_predict_as_plain_refits_do(name):
    estimator = PIPELINES[name]()
    assert kind(estimator) == "PipelineTrainer"
    new = X_NEW.clip(X.min(axis=0), X.max(axis=0))  # NMF takes no negative numbers
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        check_same_as_plain(estimator, new=new)


def test_pipelines_of_frames():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(A == 1, "p", "q"))
    head = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), list("abcd")))
    new = pd.DataFrame(X_NEW, columns=list("abcde")).assign(kind="q")
    check_same_as_plain(make_pipeline(head, LogisticRegression()), frame, new)
    head = clone(head).set_output(transform="pandas").set_params(onehotencoder__sparse_output=False)
    check_same_as_plain(make_pipeline(head, LogisticRegression()), frame, new)


def test_the_head_of_a_pipeline_is_fitted_once(monkeypatch):
    fits = []
    real = StandardScaler.fit
    monkeypatch.setattr(StandardScaler, "fit", lambda *a, **k: fits.append(1) or real(*a, **k))
    estimator = make_pipeline(StandardScaler(), GaussianNB())
    trainer = trainer_of(estimator)
    members = [trainer.fit(*asked).classifier for asked in ASKED]
    assert len(fits) == 1
    assert members[0][0] is members[1][0]
    assert members[0][-1] is not members[1][-1]
    assert not hasattr(estimator[0], "mean_")  # the user's own is not touched
    assert list(members[0].named_steps) == list(estimator.named_steps)


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
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    for rows in (holes, X.astype(np.float32), np.asfortranarray(X), (10 * X).astype(int)):
        assert kind(lightgbm(), rows) == "LightGBMTrainer"
        check_same_as_plain(lightgbm(), rows)


def test_lightgbm_may_bundle_features():
    # Each is seldom other than zero, and both are in two rows: LightGBM makes them one column, and
    # scores these two rows as if one of them were zero while it trains.
    n = 30_000
    rows = np.zeros((n, 3))
    rows[:1500, 0], rows[1498:3000, 1] = 1.0, 1.0
    rows[:, 2] = np.random.default_rng(0).normal(size=n)
    label = np.where(rows[:, 0] + rows[:, 1] > 0, rows[:, 0], rows[:, 2] > 0).astype(np.int64)
    weight = np.linspace(0.5, 1.5, n)
    estimator = lightgbm()
    trained = trainer_of(estimator, rows).fit(label, weight)
    plain = plainly(estimator, label, weight, rows)
    assert_array_equal(trained.local.predict(trained.rows), plain.predict(rows))
    assert_array_equal(local_scores(trained), scores(plain, rows))


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
    selected = fair.predict_pmf(X)[:, 1]
    for a in (0, 1):
        assert abs(selected[a == A].mean() - selected.mean()) <= 0.03 + 1e-6


def test_two_jobs_with_bins():
    one, two = (
        GridSearch(LEARNERS["lightgbm"](), DemographicParity(eps=0.1), grid_size=3, n_jobs=jobs)
        .fit(X, Y, sensitive_features=A)
        .predict(X_NEW)
        for jobs in (1, 2)
    )
    assert_array_equal(one, two)
