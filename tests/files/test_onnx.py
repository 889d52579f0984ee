"""ONNX: onnxruntime gives the probabilities of the mixture, or the export is refused by name."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from graphs import LEARNERS, alone, lightgbm, run, xgboost
from saving import fitted
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
    RandomizedClassifier,
    ResampledClassifier,
)
from equipoise.files.onnx import export_onnx, to_onnx
from equipoise.oracles.decisions import TransformedClassifier
from equipoise.oracles.specs import Refit

onnxruntime = pytest.importorskip("onnxruntime", reason="needs equipoise[onnx]")
pytest.importorskip("skl2onnx", reason="needs equipoise[onnx]")


def by_hand(mixture, X):
    """Return the probability of being selected, member by member."""
    total = np.zeros(len(X))
    for member, weight in zip(mixture.members, mixture.weights, strict=True):
        total += weight * np.asarray(member.predict(X), dtype=float)
    return total


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("threshold", ["tuned", "learner"])
def test_probabilities_of_many_learners(name, threshold, people):
    fair = FairClassifier(
        LEARNERS[name](), DemographicParity(eps=0.02), oracle=Refit(threshold=threshold), nu=1e-7
    )
    fair.fit(people.X, people.y, sensitive_features=people.A)
    got = run(to_onnx(fair, people.X), {"X": people.X})
    assert len(fair.classifier_.members) > 1
    assert got.shape == (len(people.X), 2)
    np.testing.assert_allclose(got[:, 1], by_hand(fair.classifier_, people.X), atol=1e-12)
    np.testing.assert_allclose(got.sum(axis=1), 1.0, atol=1e-12)


def test_plug_in_members(people):
    fair = FairClassifier(LogisticRegression(), EqualizedOdds(eps=0.02), oracle="plugin")
    fair.fit(people.X, people.y, sensitive_features=people.A)
    got = run(to_onnx(fair, people.X), {"X": people.X})
    np.testing.assert_allclose(got[:, 1], by_hand(fair.classifier_, people.X), atol=1e-12)


def test_other_kinds_of_model(people):
    args = (people.X, people.y)
    names = np.array(["no", "yes"])[people.y]
    gradient = ExponentiatedGradient(LogisticRegression(), DemographicParity(eps=0.1), max_iter=20)
    grid = GridSearch(LogisticRegression(), DemographicParity(eps=0.1), grid_size=5)
    listed = [LogisticRegression(C=c).fit(people.X, names) for c in (0.001, 1.0)]
    candidates = FairClassifier(listed, DemographicParity(eps=0.12))
    gradient.fit(*args, sensitive_features=people.A)
    grid.fit(*args, sensitive_features=people.A)
    candidates.fit(people.X, names, sensitive_features=people.A)
    expected = [
        by_hand(gradient.classifier_, people.X),
        grid.best_estimator_.predict(people.X),
        by_hand(candidates.classifier_, people.X),
    ]
    for model, selected in zip([gradient, grid, candidates], expected, strict=True):
        got = run(to_onnx(model, people.X), {"X": people.X})
        np.testing.assert_allclose(got[:, 1], selected, atol=1e-12)


def test_a_frame_becomes_one_input_a_column(people):
    frame = pd.DataFrame({"age": people.X[:, 0], "children": (people.X[:, 1] * 2).astype(int)})
    frame["town"] = np.where(people.X[:, 2] > 0, "Rome", "Oslo")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), (StandardScaler(), ["age", "children"])
    )
    learner = make_pipeline(encode, LogisticRegression())
    fair = FairClassifier(learner, DemographicParity(eps=0.02))
    fair.fit(frame, people.y, sensitive_features=people.A)
    inputs = {
        "age": frame[["age"]].to_numpy(),
        "children": frame[["children"]].to_numpy(),
        "town": frame[["town"]].to_numpy(dtype=object),
    }
    got = run(to_onnx(fair, frame), inputs)
    np.testing.assert_allclose(got[:, 1], by_hand(fair.classifier_, frame), atol=1e-12)


def test_the_file_is_checked_and_nothing_is_overwritten(people, tmp_path):
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05])
    frontier.fit(people.X, people.y, sensitive_features=people.A)
    fair, path = frontier.at(0.05), tmp_path / "fair.onnx"
    export_onnx(fair, path, people.X)
    session = onnxruntime.InferenceSession(str(path))
    got = session.run(None, {"X": people.X})[0][:, 1]
    np.testing.assert_allclose(got, by_hand(fair.classifier_, people.X), atol=1e-12)
    with pytest.raises(FileExistsError):
        export_onnx(fair, path, people.X)
    with pytest.raises(TypeError, match=r"frontier.at\(eps"):
        export_onnx(frontier, tmp_path / "other.onnx", people.X)


def test_what_cannot_be_converted_is_named(people):
    fair = FairClassifier(ResampledClassifier(SVC()), DemographicParity(eps=0.5), max_iter=3)
    fair.fit(people.X, people.y, sensitive_features=people.A)
    with pytest.raises(TypeError, match="cannot convert ResampledClassifier"):
        to_onnx(fair, people.X)
    with pytest.raises(TypeError, match="expected rows of numbers"):
        to_onnx(fair, np.array([["a", "b"]]))
    squares = make_pipeline(PolynomialFeatures(2), LogisticRegression()).fit(people.X, people.y)
    with pytest.raises(
        TypeError, match=r"LogisticRegression after PolynomialFeatures: .*Use anoth"
    ):
        to_onnx(alone(squares), people.X)
    frame = pd.DataFrame({"x": people.X[:, 0], "day": pd.Timestamp("2020-01-01")})
    with pytest.raises(TypeError, match="column 'day' is of type Datetime"):
        to_onnx(alone(LogisticRegression()), frame)


# Missing values


def with_gaps(X):
    gaps = X.copy()
    gaps[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    return gaps


GAPS = {
    "imputed": lambda: make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "median": lambda: make_pipeline(SimpleImputer(strategy="median"), DecisionTreeClassifier()),
    "tree": lambda: DecisionTreeClassifier(max_depth=4),
    "forest": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "scaled lightgbm": lambda: make_pipeline(StandardScaler(), lightgbm()),
    "scaled tree": lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)),
}


@pytest.mark.parametrize("name", GAPS)
@pytest.mark.parametrize("seen", [True, False])
def test_missing_numbers(name, seen, people):
    """They go where the model sends them, whether or not there were any in the fit."""
    gaps = with_gaps(people.X)
    fair = FairClassifier(GAPS[name](), DemographicParity(eps=0.05), max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fair.fit(gaps if seen else people.X, people.y, sensitive_features=people.A)
    got = run(to_onnx(fair, people.X), {"X": gaps})[:, 1]
    np.testing.assert_allclose(got, by_hand(fair.classifier_, gaps), atol=1e-12)


def test_no_answer_where_the_model_has_none(people):
    model = alone(make_pipeline(StandardScaler(), LogisticRegression()).fit(people.X, people.y))
    graph = to_onnx(model, people.X)
    bad = people.X[:4].copy()
    bad[0, 1], bad[1, 0], bad[2, 2] = np.nan, np.inf, -np.inf
    got = run(graph, {"X": bad})
    assert np.isnan(got[:3]).all()
    np.testing.assert_allclose(got[3], model.predict_proba(bad[3:])[0])
    told = {entry.key: entry.value for entry in graph.metadata_props}["unanswered"]
    assert "missing values of column 1" in told
    assert "infinite values of column 2" in told


@pytest.fixture(scope="module")
def jobs():
    rng = np.random.default_rng(0)
    n, sex = 600, rng.choice(["F", "M"], 600)
    job = pd.Series(rng.choice(["a", "b", "c"], n)).mask(rng.random(n) < 0.2)
    X = pd.DataFrame({"job": job, "income": rng.normal(size=n) + (sex == "M")})
    y = (X.income + 2 * X.job.isna() + rng.logistic(size=n) > 1).astype(int)
    return X, y, sex


ENCODERS = {
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "one-hot, strict": OneHotEncoder,
}


def encoded(name, learner):
    encode = make_column_transformer((ENCODERS[name](), ["job"]), remainder="passthrough")
    return make_pipeline(encode, learner)


def inputs(X):
    text = X[["job"]].fillna("").to_numpy(dtype=object)
    return {"job": text, "income": X[["income"]].to_numpy()}


@pytest.mark.parametrize("name", ENCODERS)
def test_missing_texts_are_refused_by_name(name, jobs):
    X, y, sex = jobs
    fair = FairClassifier(encoded(name, lightgbm()), DemographicParity(eps=0.02), max_iter=4)
    fair.fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"no value in job.*X.fillna\('unknown'\)"):
        to_onnx(fair, X)
    with pytest.raises(ValueError, match=r"job with missing values: onnxruntime gives"):
        to_onnx(fair, X.dropna())  # no row of the user's tells


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(
    ("filled", "library"), [("unknown", "pandas"), ("", "pandas"), ("unknown", "polars")]
)
def test_filled_texts(name, filled, library, jobs):
    X, y, sex = jobs
    X = X.fillna({"job": filled})
    if library == "polars" and sklearn.__version__.startswith("1.7."):
        pytest.skip("column transformers of scikit-learn 1.7 cannot take columns of this Polars")
    table = X if library == "pandas" else pytest.importorskip("polars").from_pandas(X)
    fair = FairClassifier(encoded(name, lightgbm()), DemographicParity(eps=0.02), max_iter=4)
    fair.fit(table, y, sensitive_features=sex)
    graph = to_onnx(fair, table)
    np.testing.assert_allclose(run(graph, inputs(X))[:, 1], by_hand(fair.classifier_, table))
    unseen = X.assign(job="z")
    if name == "one-hot, strict":
        with pytest.raises(Exception, match="Unknown Category"):
            run(graph, inputs(unseen))
    elif library == "pandas":
        got = run(graph, inputs(unseen))[:, 1]
        np.testing.assert_allclose(got, by_hand(fair.classifier_, unseen))


def test_texts_that_a_step_fills_in_are_refused(jobs):
    X, y, _ = jobs
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    encode = make_column_transformer((filled, ["job"]), remainder="passthrough")
    model = alone(make_pipeline(encode, LogisticRegression()).fit(X, y))
    with pytest.raises(TypeError, match=r"it fills in texts, and ONNX has no missing text"):
        to_onnx(model, X)


def test_indicators_of_missing_values_are_refused(people):
    learner = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression())
    learner.fit(with_gaps(people.X), people.y)
    with pytest.raises(TypeError, match=r"SimpleImputer: only .* add_indicator=False"):
        to_onnx(alone(learner), people.X)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram"])
def test_categories_of_frames_are_refused_by_name(name, jobs):
    X, y, _ = jobs
    learners = {
        "lightgbm": lightgbm,
        "xgboost": lambda: xgboost().set_params(enable_categorical=True),
        "histogram": lambda: HistGradientBoostingClassifier(max_iter=3),
    }
    frame = X.assign(job=X.job.astype("category"))
    model = alone(learners[name]().fit(frame, y))
    with pytest.raises(TypeError, match=r"Classifier was trained on categorical columns.*OneHotEn"):
        to_onnx(model, frame)


def test_nullable_integers_are_numbers(jobs):
    X, y, _ = jobs
    frame = pd.DataFrame({"job": pd.Series(pd.factorize(X.job)[0], dtype="Int64")})
    frame["income"] = X.income
    frame.loc[frame.job == -1, "job"] = pd.NA
    model = alone(lightgbm().fit(frame, y))
    given = {name: frame[[name]].astype(float).to_numpy() for name in frame}
    got = run(to_onnx(model, frame), given)[:, 1]
    np.testing.assert_allclose(got, by_hand(model, frame))


# Members behind a transformer


def test_members_behind_a_shared_transformer(people):
    scaler = StandardScaler().fit(people.X)
    rows = scaler.transform(people.X)
    members = [
        TransformedClassifier(scaler, LogisticRegression(C=0.001).fit(rows, people.y)),
        TransformedClassifier(scaler, DecisionTreeClassifier(max_depth=2).fit(rows, people.y)),
    ]
    mixture = RandomizedClassifier(members, [0.25, 0.75])
    graph = to_onnx(mixture, people.X)
    got = run(graph, {"X": people.X})[:, 1]
    np.testing.assert_allclose(got, by_hand(mixture, people.X), atol=1e-12)
    assert [node.op_type for node in graph.graph.node].count("Sub") == 2  # the scaler, and 1 - p


def test_rows_of_other_columns_are_answered_as_by_predict(people):
    model = fitted(LogisticRegression(), people)
    for wrong, words in ((people.X[:, :1], "has 1 features"), (people.X[:0], "0 sample")):
        with pytest.raises(ValueError, match=words):
            to_onnx(model, wrong)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "bool"])
def test_small_whole_numbers(kind, people):
    age = np.random.default_rng(0).integers(0, 2 if kind == "bool" else 90, len(people.y))
    frame = pd.DataFrame({"age": age.astype(kind), "pay": people.X[:, 0]})
    fair = fitted(LogisticRegression(max_iter=500), people._replace(X=frame))
    given = {"age": age.astype(np.int64)[:, None], "pay": frame[["pay"]].to_numpy()}
    np.testing.assert_allclose(run(to_onnx(fair, frame), given), fair.predict_proba(frame))


def test_whole_numbers_that_converters_mix_up_are_named(people):
    frame = pd.DataFrame({"age": (people.X[:, 0] * 10).astype(int), "pay": people.X[:, 1]})
    frame["town"] = np.where(people.X[:, 2] > 0, "Rome", "Oslo")
    encoder = make_column_transformer(
        (StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["town"])
    )
    fair = FairClassifier(make_pipeline(encoder, LogisticRegression()), DemographicParity(0.1))
    fair.fit(frame, people.y, sensitive_features=people.A)
    with pytest.raises(TypeError, match=r"X\.astype\(\{'age': float\}\)"):
        to_onnx(fair, frame)
    floats = frame.astype({"age": float})
    fair.fit(floats, people.y, sensitive_features=people.A)
    to_onnx(fair, floats)


@pytest.mark.parametrize("threshold", ["tuned", "learner"])
@pytest.mark.parametrize("learner", [LinearSVC(), RidgeClassifier()], ids=repr)
def test_learners_of_scores_alone(learner, threshold, people):
    pipeline = make_pipeline(StandardScaler(), learner)
    fair = FairClassifier(pipeline, DemographicParity(0.05), oracle=Refit(threshold=threshold))
    fair.fit(people.X, people.y, sensitive_features=people.A)
    expected = fair.predict_proba(people.X)
    np.testing.assert_allclose(run(to_onnx(fair, people.X), {"X": people.X}), expected, atol=1e-9)
