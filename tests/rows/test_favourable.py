"""The favourable one of two labels: plain words say it, and the order of letters says nothing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

from equipoise import DemographicParity, FairClassifier, FourFifthsRule, Frontier, GridSearch
from equipoise import metrics as m
from equipoise.baselines import Relabeling, ThresholdOptimizer, Unconstrained
from equipoise.rows.favourable import favourable_label


@pytest.mark.parametrize(
    ("first", "second", "favourable"),
    [
        ("approved", "denied", "approved"),
        ("Hired", "Rejected", "Hired"),
        ("no", "yes", "yes"),
        ("Ja", "Nein", "Ja"),
        ("bad", "good", "good"),
        ("admitted", "not_admitted", "admitted"),
        ("not paid", "paid", "paid"),
        ("default", "no default", "no default"),
        ("non", "oui", "oui"),
        ("não", "sim", "sim"),
        ("accordé", "refusé", "accordé"),
        ("No", "Sí", "Sí"),
        ("F", "T", "T"),
        ("10", "9", "10"),
        ("0", "1", "1"),
        ("one", "two", "two"),
        (0, 1, 1),
        (-1, 1, 1),
        (1, 2, 2),
        (False, True, True),
        ("A", "B", None),
        ("<=50K", ">50K", None),
        ("F", "M", None),
        ("approved", "pending", None),
        ("accepted", "approved", None),
        ("approved", "good", None),
    ],
)
def test_plain_words_and_numbers_say_which_label_is_favourable(first, second, favourable):
    assert favourable_label([first, second]) == favourable


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 2, n)
    X = np.column_stack([A + rng.normal(size=n), rng.normal(size=n)])
    return X, (X.sum(axis=1) + rng.normal(size=n) > 1.0).astype(int), A


ESTIMATORS = {
    "fair": lambda **more: FairClassifier(LogisticRegression(), FourFifthsRule(), **more),
    "grid": lambda **more: GridSearch(
        LogisticRegression(), DemographicParity(0.2), grid_size=3, **more
    ),
    "optimizer": lambda **more: ThresholdOptimizer(
        LogisticRegression(), DemographicParity(0.05), **more
    ),
    "relabeling": lambda **more: Relabeling(LogisticRegression(), **more),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_approved_is_favourable_although_denied_sorts_last(kind):
    X, y, A = people()
    words = np.array(["denied", "approved"])[y]
    model = ESTIMATORS[kind]().fit(X, words, sensitive_features=A)
    numbers = ESTIMATORS[kind]().fit(X, y, sensitive_features=A)
    assert model.classes_.tolist() == ["denied", "approved"]
    groups = {"sensitive_features": A} if kind == "optimizer" else {}
    chance, expected = model.predict_proba(X, **groups), numbers.predict_proba(X, **groups)
    assert chance == pytest.approx(expected)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_other_texts_need_positive(kind):
    X, y, A = people()
    words = np.array(["A", "B"])[y]
    with pytest.raises(ValueError, match="Pass positive='A' or positive='B'") as error:
        ESTIMATORS[kind]().fit(X, words, sensitive_features=A)
    assert "y has the labels 'A' and 'B'" in str(error.value)
    model = ESTIMATORS[kind](positive="B").fit(X, words, sensitive_features=A)
    assert model.classes_.tolist() == ["A", "B"]
    model = ESTIMATORS[kind](positive="A").fit(X, words, sensitive_features=A)
    assert model.classes_.tolist() == ["B", "A"]
    with pytest.raises(ValueError, match="positive is 'C', but y has the labels 'A' and 'B'"):
        ESTIMATORS[kind](positive="C").fit(X, words, sensitive_features=A)


def test_the_four_fifths_rule_is_about_approvals():
    """Its ratio of refusals would be met where the ratio of approvals is far from it."""
    X, y, A = people(2000)
    words = np.array(["denied", "approved"])[y]
    model = FairClassifier(LogisticRegression(), FourFifthsRule()).fit(
        X, words, sensitive_features=A
    )
    chance = model.predict_proba(X)[:, model.classes_.tolist().index("approved")]
    rates = [chance[group == A].mean() for group in (0, 1)]
    assert min(rates) / max(rates) >= 0.8 - 1e-6


def test_a_frontier_knows_the_label_on_other_people_too():
    X, y, A = people()
    words = np.array(["A", "B"])[y]
    traced = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05, 0.2], positive="A")
    traced.fit(X, words, sensitive_features=A)
    assert traced.classes_.tolist() == ["B", "A"]
    other = people(seed=1)
    traced.report(other[0], np.array(["A", "B"])[other[1]], sensitive_features=other[2])
    proven = FairClassifier(
        LogisticRegression(), DemographicParity(0.3), positive="A", confidence=0.9
    )
    proven.fit(X, words, sensitive_features=A)
    assert proven.classes_.tolist() == ["B", "A"]


def test_more_than_two_labels_are_named_in_the_constraint():
    X, y, A = people()
    words = np.array(["low", "mid", "top"])[y + (X[:, 1] > 1)]
    model = FairClassifier(LogisticRegression(), DemographicParity(0.1), positive="top")
    with pytest.raises(ValueError, match="for two labels, but y has 3"):
        model.fit(X, words, sensitive_features=A)


def test_baselines_without_a_favourable_label_take_any_texts():
    X, y, _ = people()
    words = np.array(["A", "B"])[y]
    assert Unconstrained(LogisticRegression()).fit(X, words).classes_.tolist() == ["A", "B"]


def test_metrics_ask_which_label_is_favourable():
    true, decided = ["A", "B", "A", "B"], ["A", "A", "A", "B"]
    with pytest.raises(ValueError, match="Pass pos_label='A' or pos_label='B'"):
        m.selection_rate(true, decided)
    assert m.selection_rate(true, decided, pos_label="A") == 0.75
    words = {"A": "approved", "B": "denied"}
    true, decided = ([words[label] for label in labels] for labels in (true, decided))
    assert m.selection_rate(true, decided) == 0.75


def test_rankings_of_scikit_learn_are_about_the_label_that_sorts_last():
    """The documented pitfall of ``classes_``, and its remedy."""
    X, y, A = people(1000)
    words = np.array(["denied", "approved"])[y]
    model = FairClassifier(LogisticRegression(), DemographicParity(0.5))
    model.fit(X, words, sensitive_features=A)
    of_words = get_scorer("roc_auc")(model, X, words)
    model.fit(X, words == "approved", sensitive_features=A)
    of_truth = get_scorer("roc_auc")(model, X, words == "approved")
    assert of_truth > 0.7
    assert of_words == pytest.approx(1 - of_truth)
