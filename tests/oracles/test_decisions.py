"""Decisions of classifiers, checked."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, ExponentiatedGradient, FairClassifier, Frontier, GridSearch
from equipoise.exceptions import DeploymentError
from equipoise.game.rounds import Pool, Response
from equipoise.oracles import BestOf, Plugin, Refit, RefitOracle
from equipoise.oracles.decisions import (
    TransformedClassifier,
    check_shares,
    decisions,
    predictions,
)
from equipoise.oracles.thresholds import ThresholdedClassifier


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


X, Y, A = make_people(400, seed=5)
BOUND = DemographicParity(eps=0.05)
REDUCTIONS = [FairClassifier, ExponentiatedGradient, Frontier, GridSearch]
ORACLES = [Refit(), Refit(threshold="learner"), Refit(cv=3), Plugin(cv=3), BestOf()]


class Noisy(ClassifierMixin, BaseEstimator):
    """Logistic regression whose predictions are drawn: those of two calls differ."""

    draws = np.random.default_rng(0)

    def fit(self, X, y, sample_weight=None):
        self.inner_ = LogisticRegression().fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        p = self.inner_.predict_proba(X)[:, 1] + self.draws.normal(size=len(X)) * 0.2
        p = np.clip(p, 0, 1)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_predictions_that_differ_from_call_to_call(reduction):
    fitted = reduction(Noisy(), BOUND)
    with pytest.raises(DeploymentError, match=r"Noisy does not decide as recorded.*random_state"):
        fitted.fit(X, Y, sensitive_features=A)
    with pytest.raises(NotFittedError):
        fitted.at(0.05) if reduction is Frontier else fitted.predict(X)


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_every_oracle_asks_twice(oracle):
    with pytest.raises(DeploymentError, match="Noisy does not"):
        FairClassifier(Noisy(), BOUND, oracle=oracle).fit(X, Y, sensitive_features=A)
    fine = FairClassifier(LogisticRegression(), BOUND, oracle=oracle)
    fine.fit(X, Y, sensitive_features=A)


def test_a_transformer_that_draws():
    draws = np.random.default_rng(0)
    noise = FunctionTransformer(lambda X: X + draws.normal(size=X.shape))
    clf = FairClassifier(make_pipeline(noise, LogisticRegression()), BOUND)
    with pytest.raises(DeploymentError, match="Pipeline with LogisticRegression does not decide"):
        clf.fit(X, Y, sensitive_features=A)


def test_a_list_of_candidates_is_asked_again():
    candidates = [LogisticRegression().fit(X, Y), Noisy().fit(X, 1 - Y), Noisy().fit(X, Y)]
    with pytest.raises(DeploymentError, match="does not decide as recorded"):
        FairClassifier(candidates[1:], BOUND).fit(X, Y, sensitive_features=A)
    FairClassifier(candidates[:1], DemographicParity(eps=1.0)).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_recorded_shares_of_another_classifier(reduction, monkeypatch):
    """As from a damaged checkpoint: half of what is recorded of every answer is made up."""
    honest = RefitOracle.best_response

    def lie(oracle, costs):
        classifier, s = honest(oracle, costs)
        return Response(classifier, 0.5 * s + 0.1 * oracle.cells.mass)

    monkeypatch.setattr(RefitOracle, "best_response", lie)
    with pytest.raises(DeploymentError, match="checkpoint that was damaged"):
        reduction(LogisticRegression(), BOUND).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("kind", [Frontier, GridSearch])
def test_classifiers_that_may_be_chosen_later_are_asked_too(kind, monkeypatch):
    """The last answer alone is recorded wrongly; `at` and `use` could choose it."""
    honest, fitted = Pool.add, kind(LogisticRegression(), BOUND)
    fitted.fit(X, Y, sensitive_features=A)
    last = len(fitted.pool_) - 1 if kind is Frontier else 2
    damaged = []

    def add(pool, classifier, s):
        if len(pool) == last:
            s = s + 1e-3 * (s < 0.1)
            damaged.append(s)
        return honest(pool, classifier, s)

    monkeypatch.setattr(Pool, "add", add)
    with pytest.raises(DeploymentError, match="does not decide as recorded"):
        kind(LogisticRegression(), BOUND).fit(X, Y, sensitive_features=A)
    assert damaged


def test_one_person_is_enough():
    s = np.full((2, 4), 0.1)
    check_shares(s, s + 1e-13, ["a", "b"])
    other = s.copy()
    other[1, 2] += 1e-6
    with pytest.raises(DeploymentError, match=r"40\.0000%.*40\.0001%"):
        check_shares(s, other, ["a", "b"])
    other[1, 2] = np.nan
    with pytest.raises(DeploymentError):
        check_shares(s, other, ["a", "b"])


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
