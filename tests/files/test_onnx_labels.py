"""ONNX of three labels: onnxruntime gives the probability of every decision."""

import numpy as np
import pytest
from graphs import LEARNERS, run
from people import three_labels
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier, GridSearch, RandomizedClassifier
from equipoise.files.onnx import Runtime, to_onnx
from equipoise.oracles import Plugin
from equipoise.oracles.trainers.base import constant_classifier

X, Y, A = three_labels(200)
NAMES = np.array(["low", "mid", "top"])
CODES = np.searchsorted(NAMES, Y)


def by_hand(mixture, X):
    """Return the probability of each decision, member by member."""
    pmf = np.zeros((len(X), 3))
    for member, weight in zip(mixture.members, mixture.weights, strict=True):
        pmf[np.arange(len(X)), np.asarray(member.predict(X), dtype=int)] += weight
    return pmf


@pytest.mark.parametrize("name", LEARNERS)
def test_mixtures_of_learners_of_all_labels_of_two_and_of_one(name):
    """A learner that met labels 0 and 2 only decides 0 or 2, and not 0 or 1."""
    members = [LEARNERS[name]().fit(X, CODES), constant_classifier(1, 3)]
    if name != "xgboost":  # which takes labels 0 to V - 1 only
        some = CODES != 1
        members.append(LEARNERS[name]().fit(X[some], CODES[some]))
    mixture = RandomizedClassifier(members, np.arange(1.0, len(members) + 1), NAMES)
    graph = to_onnx(mixture, X)
    expected = by_hand(mixture, X)
    assert (expected.max(axis=0) > 0).all()
    np.testing.assert_allclose(run(graph, {"X": X}), expected, atol=1e-12)
    told = {entry.key: entry.value for entry in graph.metadata_props}
    assert told["classes"] == "low, mid, top"


@pytest.mark.parametrize("oracle", ["refit", Plugin(cv=2)])
def test_fitted_models(oracle):
    constraint = DemographicParity(0.05, reference="pairwise")
    fair = FairClassifier(LogisticRegression(), constraint, oracle=oracle, nu=0.02)
    fair.fit(X, Y, sensitive_features=A)
    assert len(fair.classifier_.members) > 1
    got = run(to_onnx(fair, X), {"X": X})
    np.testing.assert_allclose(got, by_hand(fair.classifier_, X), atol=1e-12)


def test_grids_and_candidates_of_labels_that_are_texts():
    grid = GridSearch(LogisticRegression(), DemographicParity(0.2, decisions=["top"]), grid_size=3)
    listed = [LogisticRegression(C=c).fit(X, Y) for c in (1e-3, 1.0)]
    searched = FairClassifier(listed, DemographicParity(0.3))
    for model in (grid, searched):
        decided = model.fit(X, Y, sensitive_features=A)
        got = run(to_onnx(model, X), {"X": X})
        if model is grid:
            expected = (decided.predict(X)[:, None] == NAMES).astype(float)
        else:
            expected = by_hand(model.classifier_, X)
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_a_graph_that_decides_otherwise_is_refused(monkeypatch):
    mixture = RandomizedClassifier([LogisticRegression().fit(X, CODES)], [1.0], NAMES)
    honest = Runtime.run
    monkeypatch.setattr(Runtime, "run", lambda self, rows: honest(self, rows)[:, [0, 2, 1]])
    said = r"first for row \d+: [01], [01], [01] and not [01], [01], [01]\."
    with pytest.raises(ValueError, match=said):
        to_onnx(mixture, X)
