"""Learners whose mixtures are exported as graphs, and onnxruntime, which runs these."""

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    RandomizedClassifier,
)

onnxruntime = pytest.importorskip("onnxruntime", reason="needs equipoise[onnx]")
pytest.importorskip("skl2onnx", reason="needs equipoise[onnx]")


def run(graph, inputs):
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (probabilities,) = session.run(None, inputs)
    return probabilities


def lightgbm():
    pytest.importorskip("onnxmltools", reason="LightGBM needs onnxmltools")
    kind = pytest.importorskip("lightgbm").LGBMClassifier
    return kind(n_estimators=5, num_leaves=4, verbose=-1, n_jobs=1)


def xgboost():
    pytest.importorskip("onnxmltools", reason="XGBoost needs onnxmltools")
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1)


LEARNERS = {
    "logistic": LogisticRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "tree": lambda: DecisionTreeClassifier(max_depth=3),
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}


def alone(member):
    return RandomizedClassifier([member], [1.0])
