"""ONNX: onnxruntime gives the probabilities of the mixture, whatever its members are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
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
from equipoise.oracles.specs import Refit

onnxruntime = pytest.importorskip("onnxruntime", reason="needs equipoise[onnx]")
pytest.importorskip("skl2onnx", reason="needs equipoise[onnx]")


def run(graph, inputs):
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (probabilities,) = session.run(None, inputs)
    return probabilities


def by_hand(mixture, X):
    """Return the probability of being selected, member by member."""
    total = np.zeros(len(X))
    for member, weight in zip(mixture.members, mixture.weights, strict=True):
        total += weight * np.asarray(member.predict(X), dtype=float)
    return total


def lightgbm():
    pytest.importorskip("onnxmltools", reason="LightGBM needs onnxmltools")
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, num_leaves=4, verbose=-1)


def xgboost():
    pytest.importorskip("onnxmltools", reason="XGBoost needs onnxmltools")
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, max_depth=2)


LEARNERS = {
    "logistic": LogisticRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "tree": lambda: DecisionTreeClassifier(max_depth=3),
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("threshold", ["tuned", "learner"])
def test_probabilities_of_many_learners(name, threshold, people):
    fair = FairClassifier(
        LEARNERS[name](), DemographicParity(eps=0.02), oracle=Refit(threshold=threshold)
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


class Contrary(LogisticRegression):
    """Decides the other way round than the scores that skl2onnx knows about."""

    def predict(self, X):
        return 1 - super().predict(X)


def test_a_graph_that_decides_otherwise_is_refused(people):
    import skl2onnx

    logistic = Contrary().fit(people.X, people.y)
    converters = skl2onnx._supported_operators.sklearn_operator_name_map
    converters[Contrary] = converters[LogisticRegression]
    try:
        mixture = RandomizedClassifier([logistic], [1.0])
        with pytest.raises(ValueError, match=r"other probabilities than predict_pmf for 400 of"):
            to_onnx(mixture, people.X)
        to_onnx(mixture, people.X, allowed=1.0)
    finally:
        del converters[Contrary]


def test_what_cannot_be_converted_is_named(people):
    fair = FairClassifier(ResampledClassifier(SVC()), DemographicParity(eps=0.5), max_iter=3)
    fair.fit(people.X, people.y, sensitive_features=people.A)
    with pytest.raises(TypeError, match="cannot convert ResampledClassifier"):
        to_onnx(fair, people.X)
    with pytest.raises(TypeError, match="expected rows of numbers"):
        to_onnx(fair, np.array([["a", "b"]]))
