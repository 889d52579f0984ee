"""Decisions of classifiers, checked, on rows that nobody writes to."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, ExponentiatedGradient, FairClassifier, Frontier, GridSearch
from equipoise.oracles import Plugin, Refit
from equipoise.oracles.decisions import (
    Guard,
    ThresholdedClassifier,
    TransformedClassifier,
    decisions,
    fresh,
    predictions,
    read_only,
)


@pytest.mark.parametrize(
    "given", [[0, 1, 1], [0.0, 1.0, 1.0], [False, True, True], [[0], [1], [1]]]
)
def test_predictions_that_are_binary(given):
    class Model:
        def predict(self, X):
            return np.array(given)

    np.testing.assert_array_equal(predictions(Model(), None), [0, 1, 1])


@pytest.mark.parametrize(
    "given", [[0.5, 1], [-1, 1], [0, 2], ["0", "1"], [np.nan, 1], [[0, 1], [1, 0]]]
)
def test_predictions_that_are_not_binary(given):
    class Model:
        def predict(self, X):
            return np.array(given)

    with pytest.raises(ValueError, match=r"Model\.predict returned.*expected one 0 or 1 per row"):
        predictions(Model(), None)


def test_pipelines_share_the_work_of_their_transformers():
    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8) > 3
    calls = []
    transformer = FunctionTransformer(lambda X: calls.append(1) or X + 1).fit(X)
    parts = [LogisticRegression(C=C).fit(X + 1, y * 1) for C in (0.01, 1.0)]
    pipelines = [Pipeline([("t", transformer), ("l", part)]) for part in parts]
    members = [*pipelines, ThresholdedClassifier(pipelines[1], -0.5), parts[0]]
    found = list(decisions(members, X))
    assert len(calls) == 1
    for h, member in zip(found, members, strict=True):
        np.testing.assert_array_equal(h, member.predict(X) == 1)


class Halved:
    def __init__(self):
        self.calls = 0

    def transform(self, X):
        self.calls += 1
        return X / 2


def test_a_transformer_that_is_shared_is_called_once():
    stumps = [DecisionTreeClassifier().fit([[0.0], [cut]], [0, 1]) for cut in (2.0, 6.0)]
    halved, other = Halved(), Halved()
    members = [TransformedClassifier(halved, stump) for stump in stumps]
    members += [stumps[0], TransformedClassifier(other, stumps[0])]
    X = np.array([[1.0], [3.0], [7.0]])
    found = np.array(list(decisions(members, X)))
    assert (halved.calls, other.calls) == (1, 1)
    # A stump cuts halfway: at 1 and at 3, of half the value where it is halved.
    expected = [X > 2, X > 6, X > 1, X > 2]
    np.testing.assert_array_equal(found, np.hstack(expected).T)
    np.testing.assert_array_equal(members[1].predict(X), [0, 0, 1])


X, Y, A = make_people(600, seed=3)
X = 5 * X + 10  # scaling twice is not scaling once
EPS = 0.02


class Writing(ClassifierMixin, BaseEstimator):
    """Logistic regression that writes into its input when it is done with it, or before."""

    def __init__(self, writes=""):
        self.writes = writes

    def fit(self, X, y, sample_weight=None):
        if "before" in self.writes:
            X -= X.mean(axis=0)
        self.inner_ = LogisticRegression().fit(X, y, sample_weight=sample_weight)
        self.classes_, self.coef_ = self.inner_.classes_, self.inner_.coef_
        if "y" in self.writes:
            y[:] = 1 - y
        if "w" in self.writes:
            sample_weight[:] = 0
        if "X" in self.writes:
            if issparse(X):
                X.data[:] = 0
            elif hasattr(X, "iloc"):
                X.iloc[:, 0] = 0.0
                X *= 0.0
            else:
                X[:] = 0
        return self

    def predict(self, X):
        decided = self.inner_.predict(X)
        if "predict" in self.writes:
            X[:] = 0
        return decided

    def decision_function(self, X):
        return self.inner_.decision_function(X)


class InPlaceScaler(TransformerMixin, BaseEstimator):
    """A transformer of the user's own, in place."""

    def fit(self, X, y=None):
        self.mean_, self.std_ = X.mean(axis=0), X.std(axis=0)
        return self

    def transform(self, X):
        X -= self.mean_
        X /= self.std_
        return X


def raw(clf, X=X):
    """Return error and difference of the deployed classifier, from raw arrays."""
    p = clf.predict_proba(X)[:, 1]
    return np.abs(p - Y).mean(), abs(p[A == 0].mean() - p[A == 1].mean())


def fair(learner, **params):
    return FairClassifier(learner, DemographicParity(eps=EPS, reference="pairwise"), **params)


def check(clf, table):
    """Fit; the certificate is that of raw predictions, and the table is as it was."""
    before = fresh(table)
    clf.fit(table, Y, sensitive_features=A)
    error, difference = raw(clf, table)
    assert (before != table).sum().sum() == 0
    if "out of fold" not in clf.tallies_:  # else the certificate speaks of other models
        assert clf.certificate_.error == pytest.approx(error, abs=1e-9)
        assert difference <= EPS + clf.certificate_.violation + 1e-9
    return error, difference


@pytest.mark.parametrize("writes", ["y", "w", "X", "X y w", "predict"])
@pytest.mark.parametrize("threshold", ["auto", "learner"])
def test_learners_that_write(writes, threshold):
    expected = check(fair(Writing(), oracle=Refit(threshold=threshold)), X)
    found = check(fair(Writing(writes), oracle=Refit(threshold=threshold)), X.copy())
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["pandas", "csr", "coo", "fortran"])
def test_learners_that_write_into_other_tables(kind):
    if kind == "pandas":
        table = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"][: X.shape[1]])
    else:
        table = {"csr": csr_array, "coo": coo_array, "fortran": np.asfortranarray}[kind](X)
    assert check(fair(Writing("X")), table) == pytest.approx(check(fair(Writing()), table))


IN_PLACE = {
    "standard": (lambda copy: StandardScaler(copy=copy), LogisticRegression()),
    "minmax and tree": (
        lambda copy: MinMaxScaler(copy=copy),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ),
    "function": (
        lambda copy: FunctionTransformer(lambda X: X - 7 if copy else X.__isub__(7)),
        LogisticRegression(),
    ),
    "own": (lambda copy: StandardScaler() if copy else InPlaceScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("oracle", [Refit(), Refit(cv=3), Plugin(cv=3)], ids=str)
def test_transformers_in_place_do_as_copying_ones(name, oracle):
    scaler, learner = IN_PLACE[name]
    found, expected = (
        check(fair(make_pipeline(scaler(copy), learner), oracle=oracle), X.copy())
        for copy in (False, True)
    )
    assert found == pytest.approx(expected)


def test_a_pipeline_with_memory(tmp_path):
    def pipe(copy, memory):
        steps = [("s", StandardScaler(copy=copy)), ("l", LogisticRegression())]
        return fair(Pipeline(steps, memory=memory))

    expected = check(pipe(True, None), X)
    assert check(pipe(False, str(tmp_path)), X.copy()) == pytest.approx(expected)
    assert check(pipe(False, str(tmp_path)), X.copy()) == pytest.approx(expected)  # from the cache


@pytest.mark.parametrize(
    "reduction",
    [
        lambda learner: ExponentiatedGradient(learner, DemographicParity(eps=EPS), max_iter=10),
        lambda learner: Frontier(learner, DemographicParity(), bounds=[EPS]),
        lambda learner: GridSearch(learner, DemographicParity(eps=0.5), grid_size=5),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_all_reductions(reduction):
    decided = []
    for copy in (True, False):
        table = X.copy()
        fitted = reduction(make_pipeline(StandardScaler(copy=copy), LogisticRegression()))
        fitted.fit(table, Y, sensitive_features=A)
        clf = fitted.at(EPS) if isinstance(fitted, Frontier) else fitted
        decided.append(clf.predict(table))
        np.testing.assert_array_equal(table, X)
    np.testing.assert_array_equal(*decided)


def test_a_learner_that_only_reads_gets_the_rows_themselves(spy):
    table = X.copy()
    fair(spy(), oracle=Refit(threshold="learner")).fit(table, Y, sensitive_features=A)
    assert spy.seen
    for seen, label, weight in spy.seen:
        assert np.shares_memory(seen, table)
        assert not any(array.flags.writeable for array in (seen, label, weight))
    assert table.flags.writeable


def test_other_errors_come_through_and_writers_are_known():
    calls = []

    def write(array):
        calls.append(array.flags.writeable)
        array[0] = 1

    guard, rows = Guard(), np.zeros(2)
    guard(write, rows)
    guard(write, rows)
    assert calls == [False, True, True]
    assert rows.tolist() == [0, 0]
    with pytest.raises(ValueError, match="of its own"):
        Guard()(lambda array: (_ for _ in ()).throw(ValueError("of its own")), rows)


def test_tables_of_other_kinds_are_passed_on():
    assert read_only([[1.0]]) == [[1.0]]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0]})
    read_only(frame)[0, "a"] = 2.0
    assert frame["a"].to_list() == [1.0]


@pytest.mark.parametrize("kind", ["array", "frame", "scaled"])
def test_ensembles_are_asked_about_each_distinct_row_once(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (900, 2)).astype(float)
    y = (X.sum(axis=1) + rng.normal(size=900) > 9).astype(int)
    table = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"]) if kind == "frame" else X
    made = [RandomForestClassifier(5, random_state=seed) for seed in range(3)]
    made.append(LogisticRegression())
    if kind == "scaled":
        head = StandardScaler().fit(X)
        forests = [Pipeline([("s", head), ("f", f.fit(head.transform(X), y))]) for f in made]
    else:
        forests = [forest.fit(table, y) for forest in made]
    expected, asked = [forest.predict(table).astype(bool) for forest in forests], []
    predict = RandomForestClassifier.predict
    monkeypatch.setattr(
        RandomForestClassifier, "predict", lambda self, X: asked.append(len(X)) or predict(self, X)
    )
    monkeypatch.setattr("equipoise.oracles.decisions._ASKED_AT_ONCE", 64)
    np.testing.assert_array_equal(list(decisions(forests, table)), expected)
    assert sum(asked) == 3 * len(np.unique(X, axis=0))
    asked.clear()
    assert (next(decisions(forests[:1], table)) == expected[0]).all()
    assert asked == [900]  # for one alone nothing is sorted
