"""Decisions cut from a learner's scores."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people, selection_gap
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from equipoise import DemographicParity, FairClassifier
from equipoise.oracles import Refit
from equipoise.oracles.decisions import ThresholdedClassifier, scores
from equipoise.oracles.thresholds import has_scores, tuned


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
        selected = fair.predict_proba(people.X)[:, 1]
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
    np.testing.assert_array_equal(*(fair.predict_proba(people.X) for fair in fits))


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
