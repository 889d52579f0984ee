"""Learners of every kind, and what exactly they are asked."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from people import make_people, selection_gap
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
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    DemographicParity,
    ExponentiatedGradient,
    FairClassifier,
    GridSearch,
    ResampledClassifier,
)
from equipoise.cells import Cells
from equipoise.oracles import RefitOracle

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
    return selection_gap(fair.predict_proba(X)[:, 1], A)


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
    """Labels 1{C1 < C0} and weights |C1 - C0| times the example's own, which sum to as much."""
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
    np.testing.assert_allclose(given, expected * weight.sum() / expected.sum(), rtol=1e-12)
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


def test_weights_really_arrive_through_a_search(spy):
    """A search gives each fold the weights of its own rows."""
    search = GridSearchCV(make_pipeline(StandardScaler(), spy()), {}, cv=SPLITS)
    FairClassifier(search, DemographicParity(eps=EPS)).fit(X, Y, sensitive_features=A)
    weights = [weight for _, _, weight in spy.seen]
    assert len(weights) > 2
    assert any(np.ptp(weight) > 0.01 for weight in weights)
    for in_fold, on_all in zip(weights[::2], weights[1::2], strict=True):
        np.testing.assert_array_equal(in_fold, on_all[SPLITS[0][0]])
