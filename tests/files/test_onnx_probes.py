"""Exported graphs are tried on rows made for the purpose, and how near to a cut they may err."""

import numpy as np
import pytest
from graphs import LEARNERS, alone, lightgbm, run
from sklearn.linear_model import LogisticRegression

from equipoise.files.onnx import to_onnx

onnxruntime = pytest.importorskip("onnxruntime", reason="needs equipoise[onnx]")
pytest.importorskip("skl2onnx", reason="needs equipoise[onnx]")


class Contrary(LogisticRegression):
    """Decides the other way round than the scores that skl2onnx knows about."""

    def predict(self, X):
        return 1 - super().predict(X)


class ContraryAtZero(LogisticRegression):
    """Decides the other way round where the first value is 0, which no row of the user's is."""

    def predict(self, X):
        return super().predict(X) ^ (X[:, 0] == 0)


@pytest.fixture
def known_to_skl2onnx():
    """Let skl2onnx take the contrary learners for logistic regression."""
    import skl2onnx

    converters = skl2onnx._supported_operators.sklearn_operator_name_map
    for kind in (Contrary, ContraryAtZero):
        converters[kind] = converters[LogisticRegression]
    yield
    for kind in (Contrary, ContraryAtZero):
        del converters[kind]


def test_a_graph_that_decides_otherwise_is_refused(people, known_to_skl2onnx):
    contrary = alone(Contrary().fit(people.X, people.y))
    other = r"for 400 of 400 rows.*400 of them are not next to a threshold: .*of Contrary does not"
    with pytest.raises(ValueError, match=other):
        to_onnx(contrary, people.X)
    with pytest.raises(ValueError, match=r"column 0 with .* onnxruntime gives"):
        to_onnx(contrary, people.X, allowed=1.0)  # rows made for the purpose are always compared


def test_rows_made_for_the_purpose_are_compared(people, known_to_skl2onnx):
    model = alone(ContraryAtZero().fit(people.X, people.y))
    with pytest.raises(ValueError, match=r"column 0 with zeros: onnxruntime gives"):
        to_onnx(model, people.X)


@pytest.mark.parametrize(
    ("name", "distance"),
    [
        *(("logistic", 1e-12), ("pipeline", 1e-12), ("lightgbm", 1e-7)),
        *(("tree", 0.0), ("forest", 0.0), ("xgboost", 0.0)),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_how_near_to_a_threshold_decisions_may_flip(name, distance, scale, people):
    """Rows on either side of the boundary, moved away by so much of one value, never flip."""
    X = people.X * scale
    learner = LEARNERS[name]().fit(X, people.y)
    graph = to_onnx(alone(learner), X)
    selected = learner.predict(X).astype(bool)
    rng = np.random.default_rng(0)
    low, high = (rng.choice(np.flatnonzero(side), 200) for side in (~selected, selected))
    below, above = X[low], X[high].copy()
    for column in range(X.shape[1]):  # walk from one to the other, a column at a time
        step = below.copy()
        step[:, column] = above[:, column]
        crossed = learner.predict(step) == 1
        below, above = (
            np.where(crossed[:, None], below, step),
            np.where(crossed[:, None], step, above),
        )
        start, end = below.copy(), step.copy()
        for _ in range(80):
            middle = (start + end) / 2
            over = (learner.predict(middle) == 1)[:, None]
            start, end = np.where(over, start, middle), np.where(over, middle, end)
        away = np.sign(end - start) * np.abs(end) * distance
        for rows in (start[crossed] - away[crossed], end[crossed] + away[crossed]):
            got = run(graph, {"X": rows})[:, 1] if len(rows) else np.empty(0)
            np.testing.assert_array_equal(got, learner.predict(rows) if len(rows) else got)


def test_rows_next_to_a_threshold_are_called_so():
    learner = lightgbm().set_params(min_child_samples=1, min_data_in_bin=1)
    X = np.arange(40.0)[:, None] + 2.0**25
    learner.fit(X, np.arange(40) >= 22)
    with pytest.raises(ValueError, match=r"They are next to a threshold.*allowed="):
        to_onnx(alone(learner), X)
