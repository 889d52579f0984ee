"""Learners of every kind, and what exactly they are asked."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from people import SpyLearner, make_people, selection_gap
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    Cells,
    DemographicParity,
    ExactOracle,
    ExponentiatedGradient,
    FairClassifier,
    GridSearch,
    RefitOracle,
    ResampledClassifier,
)
from equipoise.oracles.refit import weight_parameter
from equipoise.oracles.thresholds import binary_predictions

X, Y, A = make_people(300, seed=2)
EPS = 0.03


def boosted(name: str, **parameters):
    module = pytest.importorskip(name, reason=f"needs {name}")
    kind = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[name]
    return getattr(module, kind)(n_estimators=5, n_jobs=1, **parameters)


SPLITS = [(np.arange(0, 300, 2), np.arange(1, 300, 2))]

LEARNERS = {
    "logistic regression": LogisticRegression,
    "linear SVM": lambda: LinearSVC(C=0.1),
    "SVM": lambda: SVC(kernel="linear"),
    "SGD": lambda: SGDClassifier(random_state=0),
    "naive Bayes": GaussianNB,
    "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=5, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "bagging": lambda: BaggingClassifier(GaussianNB(), 3, random_state=0),
    "calibrated": lambda: CalibratedClassifierCV(GaussianNB(), cv=2),
    "voting": lambda: VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())]),
    "stacking": lambda: StackingClassifier(
        [("a", GaussianNB()), ("b", LogisticRegression())], cv=2
    ),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "pipeline in a pipeline": lambda: Pipeline(
        [
            ("scale", StandardScaler()),
            ("model", Pipeline([("again", StandardScaler()), ("last", LogisticRegression())])),
        ]
    ),
    "search": lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=SPLITS),
    "search over a pipeline": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1]},
        cv=SPLITS,
    ),
    "search in a pipeline": lambda: make_pipeline(
        StandardScaler(), GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=SPLITS)
    ),
    "random search": lambda: RandomizedSearchCV(
        LogisticRegression(), {"C": [0.1, 1]}, n_iter=2, cv=SPLITS, random_state=0
    ),
    "neighbours, resampled": lambda: ResampledClassifier(KNeighborsClassifier(15)),
    "resampled in a pipeline": lambda: make_pipeline(
        StandardScaler(), ResampledClassifier(KNeighborsClassifier(15))
    ),
    "resampling a pipeline": lambda: ResampledClassifier(
        make_pipeline(StandardScaler(), KNeighborsClassifier(15))
    ),
    "LightGBM": lambda: boosted("lightgbm", verbose=-1),
    "XGBoost": lambda: boosted("xgboost"),
    "LightGBM in a pipeline": lambda: make_pipeline(
        StandardScaler().set_output(transform="pandas"), boosted("lightgbm", verbose=-1)
    ),
}


def gap_of(reduction, learner, X=X, **parameters) -> float:
    fair = reduction(learner, DemographicParity(eps=EPS), **parameters)
    fair.fit(X, Y, sensitive_features=A)
    return selection_gap(fair.predict_pmf(X)[:, 1], A)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_learner(name, routing):
    """Any learner meets the bound, whether or not routing is switched on."""
    with sklearn.config_context(enable_metadata_routing=routing):
        assert gap_of(FairClassifier, LEARNERS[name](), max_iter=20) <= EPS + 1e-7


@pytest.mark.parametrize("name", ["pipeline", "search over a pipeline", "LightGBM", "XGBoost"])
def test_learner_in_the_other_reductions(name):
    assert gap_of(ExponentiatedGradient, LEARNERS[name](), B=50, nu=0.01) <= EPS + 1.02 / 50
    grid = GridSearch(LEARNERS[name](), DemographicParity(eps=0.2), grid_size=5)
    grid.fit(X, Y, sensitive_features=A)
    assert selection_gap(grid.predict(X), A) <= 0.2 + 1e-9


def test_requests_set_on_the_learner_do_not_matter():
    """Someone who uses routing elsewhere has set requests on the inner learner."""
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        for learner in (inner, make_pipeline(StandardScaler(), inner)):
            assert gap_of(FairClassifier, learner) <= EPS + 1e-7
        assert sklearn.get_config()["enable_metadata_routing"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_boosting_takes_frames_as_they_are(booster, kind):
    library = pytest.importorskip(kind, reason=f"needs {kind}")
    columns = {f"x{j}": X[:, j] for j in range(3)}
    table = library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)
    if booster == "lightgbm" and kind == "polars":
        table = table.to_arrow()  # LightGBM reads Arrow, not Polars
    learner = boosted(booster, **({"verbose": -1} if booster == "lightgbm" else {}))
    assert gap_of(FairClassifier, learner, X=table) <= EPS + 1e-7


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_categories_reach_the_booster(booster):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(
        {"x": X[:, 1], "place": pandas.Categorical(np.where(X[:, 0] > 0, "a", "b"))}
    )
    extra = {"verbose": -1} if booster == "lightgbm" else {"enable_categorical": True}
    assert gap_of(FairClassifier, boosted(booster, **extra), X=frame) <= EPS + 1e-7


def test_columns_by_name_in_a_pipeline():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame({"x": X[:, 1], "place": np.where(X[:, 0] > 0, "a", "b")})
    columns = make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough")
    assert (
        gap_of(FairClassifier, make_pipeline(columns, LogisticRegression()), X=frame) <= EPS + 1e-7
    )


class Duck:
    """A learner that knows nothing of scikit-learn: two methods, and fit returns nothing."""

    def __init__(self, feature: int) -> None:
        self.feature = feature

    def fit(self, X, y, sample_weight):
        x = np.asarray(X)[:, self.feature]
        thresholds = np.quantile(x, np.linspace(0, 1, 30))
        wrong = [np.sum(sample_weight * ((x > t) != y)) for t in thresholds]
        self.threshold = thresholds[int(np.argmin(wrong))]

    def predict(self, X):
        return np.asarray(X)[:, self.feature] > self.threshold


@pytest.mark.parametrize("reduction", [FairClassifier, ExponentiatedGradient, GridSearch])
def test_learner_that_knows_nothing_of_scikit_learn(reduction):
    learner = Duck(feature=1)
    fair = reduction(learner, DemographicParity(eps=0.1)).fit(X, Y, sensitive_features=A)
    assert not hasattr(learner, "threshold")  # a copy was fitted
    assert set(fair.predict(X)) <= {0, 1}
    assert sklearn.base.clone(fair).estimator.feature == 1
    assert "Duck" in fair._repr_html_()


# What the learner is asked


def test_question_of_the_learner_is_the_weighted_problem_of_section_3_1(spy):
    """Labels 1{C1 < C0} and weights |C1 - C0|, of mean one, with the example's own weight."""
    rng = np.random.default_rng(0)
    weight = rng.random(len(Y))
    cells = Cells.from_columns(Y, {"a": A}, weight=weight)
    costs = rng.normal(size=cells.n_cells)
    of_row = np.empty(len(Y))
    for cell in range(cells.n_cells):
        of_row[(cells.label[cell] == Y) & (cells.sensitive["a"][cell] == A)] = costs[cell]
    response = RefitOracle(spy(), X, cells).best_response(costs)
    [(_, label, given)] = spy.seen
    np.testing.assert_array_equal(label, of_row < 0)
    expected = np.abs(of_row) * weight
    np.testing.assert_allclose(given, expected / expected.mean(), rtol=1e-12)
    selected = LogisticRegression().fit(X, of_row < 0, sample_weight=given).predict(X)
    for cell in range(cells.n_cells):
        there = (cells.label[cell] == Y) & (cells.sensitive["a"][cell] == A)
        share = (weight * selected)[there].sum() / weight.sum()
        assert response.s[cell] == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize(("sign", "label"), [(1.0, 0), (-1.0, 1), (0.0, 0)])
def test_learner_is_not_asked_when_all_want_the_same(sign, label, spy):
    cells = Cells.from_columns(Y, {"a": A})
    response = RefitOracle(spy(), X, cells).best_response(np.full(cells.n_cells, sign))
    assert spy.seen == []
    assert set(response.classifier.predict(X)) == {label}
    np.testing.assert_allclose(response.s, label * cells.mass)


def test_rows_without_weight_do_not_make_a_second_class(spy):
    """One label on all rows that count: most learners would refuse that."""
    cells = Cells.from_columns(Y, {"a": A}, weight=(A == 0).astype(float))
    costs = np.where(cells.sensitive["a"] == 0, -1.0, 1.0)
    response = RefitOracle(spy(), X, cells).best_response(costs)
    assert spy.seen == []
    assert set(response.classifier.predict(X)) == {1}


def test_learner_itself_is_never_fitted():
    for learner in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        FairClassifier(learner, DemographicParity(eps=EPS)).fit(X, Y, sensitive_features=A)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            learner.predict(X)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logistic regression", "sample_weight"),
        ("pipeline", "logisticregression__sample_weight"),
        ("pipeline in a pipeline", "model__last__sample_weight"),
        ("search", "sample_weight"),
        ("search over a pipeline", "logisticregression__sample_weight"),
        ("search in a pipeline", "gridsearchcv__sample_weight"),
        ("neighbours, resampled", "sample_weight"),
        ("voting", "sample_weight"),
    ],
)
def test_weights_go_to_the_right_step(name, expected):
    assert weight_parameter(LEARNERS[name]()) == expected


def test_weights_really_arrive_through_a_search(spy):
    """A search gives each fold the weights of its own rows."""
    search = GridSearchCV(make_pipeline(StandardScaler(), spy()), {}, cv=SPLITS)
    FairClassifier(search, DemographicParity(eps=EPS)).fit(X, Y, sensitive_features=A)
    weights = [weight for _, _, weight in spy.seen]
    assert len(weights) > 2
    assert any(np.ptp(weight) > 0.01 for weight in weights)
    for in_fold, on_all in zip(weights[::2], weights[1::2], strict=True):
        np.testing.assert_array_equal(in_fold, on_all[SPLITS[0][0]])


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


# A list of fitted classifiers


def test_list_of_fitted_classifiers(spy):
    words = np.array(["no", "yes"])[Y]
    candidates = [LogisticRegression(C=C).fit(X[:, :], words) for C in (1e-4, 1.0)]
    candidates += [
        DecisionTreeClassifier(max_depth=2).fit(X[:, 1:] @ [[0, 1, 0], [0, 0, 1]], words)
    ]
    fair = FairClassifier(candidates, DemographicParity(eps=0.05))
    fair.fit(X, words, sensitive_features=A)
    assert fair.certificate_.exact
    pmf = fair.predict_pmf(X)[:, 1]
    assert selection_gap(pmf, A) <= 0.05 + 1e-7
    assert set(fair.predict(X)) <= {"no", "yes"}
    # No mixture of the three on a fine lattice that meets the bound errs less.
    table = np.array([c.predict(X) == "yes" for c in candidates])
    best = 1.0
    for p in np.linspace(0, 1, 41):
        for q in np.linspace(0, 1 - p, 41):
            mixed = p * table[0] + q * table[1] + (1 - p - q) * table[2]
            if selection_gap(mixed, A) <= 0.05:
                best = min(best, np.mean(np.where(Y == 1, 1 - mixed, mixed)))
    assert fair.certificate_.error <= best + 1e-9
    assert fair.certificate_.error == pytest.approx(np.mean(np.where(Y == 1, 1 - pmf, pmf)))


@pytest.mark.parametrize("reduction", [ExponentiatedGradient, GridSearch])
def test_list_of_fitted_classifiers_in_the_other_reductions(reduction):
    candidates = [LogisticRegression(C=C).fit(X, Y) for C in (1e-4, 1e-2, 1.0)]
    candidates.append(SpyLearner.fresh()().fit(X[:, [1, 1, 1]], Y))
    fair = reduction(candidates, DemographicParity(eps=0.2)).fit(X, Y, sensitive_features=A)
    assert fair.predict(X).shape == Y.shape
    assert "LogisticRegression" in fair._repr_html_()


def test_list_of_frozen_classifiers_can_be_cloned():
    candidates = [FrozenEstimator(LogisticRegression(C=C).fit(X, Y)) for C in (1e-4, 1.0)]
    fair = sklearn.base.clone(FairClassifier(candidates, DemographicParity(eps=0.2)))
    assert fair.fit(X, Y, sensitive_features=A).certificate_.exact


def test_bad_lists():
    for empty in ([], ()):
        with pytest.raises(ValueError, match="empty list"):
            FairClassifier(empty, DemographicParity()).fit(X, Y, sensitive_features=A)
    strange = [LogisticRegression().fit(X, np.array(["a", "b"])[Y])]
    with pytest.raises(ValueError, match=r"LogisticRegression predicts \['a', 'b'\].*\[0, 1\]"):
        FairClassifier(strange, DemographicParity()).fit(X, Y, sensitive_features=A)


def test_exact_oracle_is_an_argmin():
    rng = np.random.default_rng(0)
    predictions = rng.integers(0, 2, size=(20, len(Y)))
    cells = Cells.from_columns(Y, {"a": A})
    oracle = ExactOracle.from_predictions(predictions, cells)
    for _ in range(10):
        costs = rng.normal(size=cells.n_cells)
        of_row = cells.spread(costs)
        assert oracle.best_response(costs).classifier == np.argmin(predictions @ of_row)
    with pytest.raises(ValueError, match="2 classifiers but shares of 3"):
        ExactOracle(["a", "b"], np.zeros((3, 2)))


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


# Rows and predictions


@pytest.mark.parametrize(
    "given", [[0, 1, 1], [0.0, 1.0, 1.0], [False, True, True], [[0], [1], [1]]]
)
def test_predictions_that_are_binary(given):
    class Model:
        def predict(self, X):
            return np.array(given)

    np.testing.assert_array_equal(binary_predictions(Model(), None), [0, 1, 1])


@pytest.mark.parametrize(
    "given", [[0.5, 1], [-1, 1], [0, 2], ["0", "1"], [np.nan, 1], [[0, 1], [1, 0]]]
)
def test_predictions_that_are_not_binary(given):
    class Model:
        def predict(self, X):
            return np.array(given)

    with pytest.raises(ValueError, match=r"Model\.predict returned.*expected one 0 or 1 per row"):
        binary_predictions(Model(), None)
