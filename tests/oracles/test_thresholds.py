"""Decisions cut from a learner's scores."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people, selection_gap
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, ExponentiatedGradient, FairClassifier, Frontier, GridSearch
from equipoise.oracles import Plugin, Refit
from equipoise.oracles.thresholds import (
    Guard,
    ThresholdedClassifier,
    fresh,
    has_scores,
    read_only,
    scores,
    tuned,
)


@pytest.mark.parametrize("learner", [LogisticRegression(), LinearSVC(), RandomForestClassifier(5)])
@pytest.mark.parametrize("seed", range(5))
def test_no_cut_of_the_scores_costs_less(learner, seed):
    people = make_people(300, seed=seed)
    rng = np.random.default_rng(seed)
    label, weight = rng.integers(0, 2, 300), rng.uniform(0, 2, 300)
    trained = learner.fit(people.X, people.y)
    cut, decisions = tuned(trained, people.X, label, weight)
    given = scores(trained, people.X)
    costs = [(weight * ((given > t) != label)).sum() for t in [-np.inf, *np.unique(given)]]
    assert (weight * (decisions != label)).sum() == pytest.approx(min(costs), abs=1e-6)
    np.testing.assert_array_equal(cut.predict(people.X), decisions)


def test_the_learners_own_cut_wins_ties():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    trained = LogisticRegression().fit(X, y)
    cut, decisions = tuned(trained, X, y, np.ones(4))
    np.testing.assert_array_equal(decisions, trained.predict(X))
    assert cut.threshold == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("answer", [0, 1])
def test_everybody_or_nobody_may_be_selected(answer):
    people = make_people(50)
    trained = LogisticRegression().fit(people.X, people.y)
    cut, decisions = tuned(trained, people.X, np.full(50, answer), np.ones(50))
    assert set(decisions) == set(cut.predict(people.X)) == {answer}


def test_learners_without_scores_are_recognised():
    people = make_people(50)
    assert has_scores(LogisticRegression().fit(people.X, people.y))
    assert not has_scores(ThresholdedClassifier(None, 0.0))


def test_tuned_fits_err_less_and_stay_within_the_constraint():
    people = make_people(2000)
    fits = {
        threshold: FairClassifier(
            LogisticRegression(C=0.01),
            DemographicParity(eps=0.02),
            oracle=Refit(threshold=threshold),
        ).fit(people.X, people.y, sensitive_features=people.A)
        for threshold in ("tuned", "learner")
    }
    errors = {}
    for threshold, fair in fits.items():
        selected = fair.predict_pmf(people.X)[:, 1]
        errors[threshold] = np.where(people.y == 1, 1 - selected, selected).mean()
        assert selection_gap(selected, people.A) <= 0.02 + 1e-7
    assert errors["tuned"] < errors["learner"]


@pytest.mark.parametrize(
    ("learner", "like"),
    [
        (LogisticRegression(), "tuned"),
        (make_pipeline(StandardScaler(), LinearSVC()), "tuned"),
        (RandomForestClassifier(5, random_state=0), "learner"),
    ],
    ids=["linear", "a pipeline", "a forest"],
)
def test_by_default_linear_classifiers_alone_are_tuned(learner, like):
    people = make_people(500)
    fits = [
        FairClassifier(learner, DemographicParity(eps=0.02), **how).fit(
            people.X, people.y, sensitive_features=people.A
        )
        for how in ({}, {"oracle": Refit(threshold=like)})
    ]
    tuned_members = [isinstance(m, ThresholdedClassifier) for m in fits[0].classifier_.members]
    assert set(tuned_members) == {like == "tuned"}
    np.testing.assert_array_equal(*(fair.predict_pmf(people.X) for fair in fits))


def test_unknown_threshold_is_an_error():
    people = make_people(50)
    with pytest.raises(ValueError, match="'auto', 'tuned' or 'learner'"):
        FairClassifier(
            LogisticRegression(), DemographicParity(), oracle=Refit(threshold="best")
        ).fit(people.X, people.y, sensitive_features=people.A)


def test_rows_without_weight_have_no_say():
    """Whoever counts for nothing must not move the cut, and nobody at all leaves the learner's."""
    people = make_people(200)
    trained = LogisticRegression().fit(people.X, people.y)
    rng = np.random.default_rng(0)
    label, weight = rng.integers(0, 2, 200), rng.integers(0, 3, 200).astype(float)
    rows = np.repeat(np.arange(200), weight.astype(int))
    by_weight, decisions = tuned(trained, people.X, label, weight)
    by_rows, _ = tuned(trained, people.X[rows], label[rows], np.ones(len(rows)))
    assert by_weight.threshold == by_rows.threshold
    assert decisions.shape == (200,)
    idle, decisions = tuned(trained, people.X, label, np.zeros(200))
    assert idle.threshold == 0.0
    np.testing.assert_array_equal(decisions, trained.predict(people.X))


def test_own_cut_is_kept_exactly_where_it_is_among_the_best():
    people = make_people(200)
    trained = LogisticRegression().fit(people.X, people.y)
    cut, _ = tuned(trained, people.X, trained.predict(people.X), np.ones(200))
    assert cut.threshold == 0.0
    forest = RandomForestClassifier(5, random_state=0).fit(people.X, people.y)
    cut, _ = tuned(forest, people.X, forest.predict(people.X), np.ones(200))
    assert cut.threshold == 0.5


class Scored:
    """A classifier that has scores, and nothing else."""

    classes_ = (0, 1)

    def __init__(self, score):
        self.score = score

    def decision_function(self, X):
        return self.score


@pytest.mark.parametrize("spread", ["normal", "heavy tails", "ties", "two values", "constant"])
@pytest.mark.parametrize("answer", ["mixed", "all", "nobody"])
def test_only_some_rows_of_many_are_sorted_and_no_cut_costs_less(spread, answer):
    rng = np.random.default_rng(7)
    n = 40_000
    score = {
        "normal": rng.normal(size=n),
        "heavy tails": rng.standard_cauchy(n) ** 3,
        "ties": rng.normal(size=n).round(2),
        "two values": rng.integers(0, 2, n) - 0.25,
        "constant": np.full(n, 1.5),
    }[spread]
    good = {
        "mixed": score + rng.logistic(size=n) > 0.7,
        "all": score > -1e30,
        "nobody": score > 1e30,
    }
    label = good[answer].astype(int)
    weight = rng.uniform(0, 1, n) * (rng.random(n) < 0.9)
    _, decisions = tuned(Scored(score), None, label, weight)
    _, group = np.unique(score, return_inverse=True)
    costs = np.bincount(group, np.where(label == 1, -weight, weight))
    least = min(0.0, np.cumsum(costs[::-1]).min())
    assert np.where(label == 1, -weight, weight)[decisions].sum() == pytest.approx(least, abs=1e-6)
    assert decisions[np.argsort(score, kind="stable")].tolist() == sorted(decisions.tolist())


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
    p = clf.predict_pmf(X)[:, 1]
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
