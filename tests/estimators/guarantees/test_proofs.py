"""Frontier.prove: the promise is kept in a population that is known, and refusals come by name."""

from copy import copy

import numpy as np
import pytest
from people import make_people
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, EqualizedOdds, FourFifthsRule, Frontier
from equipoise.estimators.guarantees.proofs import _PROVEN
from equipoise.exceptions import (
    NotProvenError,
    NotProvenWarning,
    ReusedPeopleWarning,
    SeenPeopleWarning,
)

PAIRS = DemographicParity(0.05, reference="pairwise")


@pytest.fixture(autouse=True)
def no_proofs_before():
    _PROVEN.clear()
    yield
    _PROVEN.clear()


@pytest.fixture(scope="module")
def traced():
    X, y, A = make_people(3000)
    return Frontier(LogisticRegression(), PAIRS).fit(X, y, sensitive_features=A)


@pytest.fixture
def frontier(traced):
    """A frontier by which nothing was proven before."""
    return copy(traced)


def others(n, seed=1):
    X, y, A = make_people(n, seed=seed)
    return X, y, {"sensitive_features": A}


def test_the_proof_is_about_the_classifier_returned(frontier):
    X, y, groups = others(3000)
    model = frontier.prove(X, y, eps=0.12, **groups)
    A = groups["sensitive_features"]
    selected = model.predict_proba(X)[:, 1]
    gap = abs(selected[A == 0].mean() - selected[A == 1].mean())
    assert model.proof_.holds
    assert gap < 0.12
    assert model.proof_.people == 3000
    assert model.proof_.limiting_people == min((A == 0).sum(), (A == 1).sum())
    assert model.proof_.is_exact
    assert model.proof_.p_value <= 0.05
    assert model.confidence == 0.95
    assert model.proof_.sentence in str(model.certificate_)
    assert model.certificate_.by_lot is not None
    assert model.constraint_.eps == 0.12


def test_more_confidence_is_dearer(frontier):
    errors = []
    for confidence in (0.6, 0.9, 0.999):
        X, y, groups = others(6000)
        _PROVEN.clear()
        frontier.proofs_ = {}
        model = frontier.prove(X, y, eps=0.1, confidence=confidence, **groups)
        errors.append(model.certificate_.error)
    assert errors == sorted(errors)


def test_the_lower_value_is_that_of_the_bound_as_written(frontier):
    X, y, groups = others(3000, seed=5)
    certificate = frontier.prove(X, y, eps=0.12, **groups).certificate_
    assert certificate.feasible
    assert certificate.bound == pytest.approx(np.full(2, 0.12))
    assert certificate.lower <= frontier.at(0.12).certificate_.upper + 1e-9
    certificate.check()


def test_not_proven_is_not_a_model(frontier):
    X, y, groups = others(300)
    with pytest.warns(NotProvenWarning, match="of them in the proof"):
        model = frontier.prove(X, y, eps=0.01, **groups)
    assert not model.proof_.holds
    assert model.proof_.needed.factor > 1
    for decide in (model.predict, model.predict_proba, model.decision_function, model.explain):
        with pytest.raises(NotProvenError, match="fallback='fairest'"):
            decide(X)


def test_the_fairest_decides_where_that_is_asked_for(frontier):
    X, y, groups = others(300)
    with pytest.warns(NotProvenWarning):
        model = frontier.prove(X, y, eps=0.01, fallback="fairest", **groups)
    A = groups["sensitive_features"]
    selected = model.predict_proba(make_people(3000)[0])[:, 1]
    A = make_people(3000)[2]
    assert abs(selected[A == 0].mean() - selected[A == 1].mean()) < 0.02


def test_few_people_are_tested_exactly(frontier):
    X, y, groups = others(300)
    proof = frontier.prove(X, y, eps=0.4, **groups).proof_
    assert proof.holds
    assert proof.is_exact


def test_the_same_people_twice(frontier):
    X, y, groups = others(1000, seed=7)
    frontier.prove(X, y, eps=0.3, **groups)
    frontier.prove(X, y, eps=0.3, **groups)  # the same proof again is no other
    with pytest.warns(ReusedPeopleWarning, match="another proof"):
        model = frontier.prove(
            X[::-1], y[::-1], eps=0.35, sensitive_features=groups["sensitive_features"][::-1]
        )
    assert model.proof_.reused


def test_people_who_were_learned_from(frontier):
    X, y, A = make_people(3000)
    with pytest.raises(ValueError, match="were learned from"):
        frontier.prove(X, y, sensitive_features=A)
    new, labels, groups = others(1000, seed=8)
    X, y = np.vstack([X[:300], new]), np.append(y[:300], labels)
    A = np.append(A[:300], groups["sensitive_features"])
    with pytest.warns(SeenPeopleWarning, match="300 of them"):
        proof = frontier.prove(X, y, sensitive_features=A, eps=0.4).proof_
    assert "Of these people, 300 of them were learned from" in str(proof)
    assert "nothing is promised" in proof.to_dict()["text"]


def test_a_group_without_people_cannot_be_proven():
    X, y, A = make_people(2000, groups=3)
    frontier = Frontier(LogisticRegression(), PAIRS, bounds=[0.1]).fit(X, y, sensitive_features=A)
    X, y, A = make_people(900, groups=3, seed=3)
    keep = A != 2
    with pytest.raises(ValueError, match="nothing can be proven about"):
        frontier.prove(X[keep], y[keep], sensitive_features=A[keep], eps=0.1)


def test_weights_and_overlapping_groups():
    X, y, A = make_people(3000)
    frontier = Frontier(LogisticRegression(), EqualizedOdds(), bounds=[0.1])
    frontier.fit(X, y, sensitive_features=A)
    X, y, groups = others(2000)
    assert frontier.prove(X, y, eps=0.3, **groups).proof_.is_exact
    X, y, groups = others(4000, seed=4)
    weight = np.random.default_rng(0).uniform(0.5, 1, 4000)
    proof = frontier.prove(X, y, eps=0.6, sample_weight=weight, **groups).proof_
    assert proof.holds
    assert "people who weigh at most" in proof.sentence
    assert "valid at any number of people" in proof.sentence


def test_people_of_unknown_groups(frontier):
    X, y, groups = others(3000, seed=5)
    group = groups["sensitive_features"].astype(object)
    group[::100] = None
    proof = frontier.prove(X, y, sensitive_features=group, eps=0.2, missing="worst").proof_
    assert "the 1 % are of who do not tell" in proof.sentence
    with pytest.raises(ValueError, match="missing is 'drop'"):
        frontier.prove(X, y, sensitive_features=group, missing="drop")


def test_four_fifths_by_its_own_bound():
    X, y, A = make_people(3000)
    frontier = Frontier(LogisticRegression(), FourFifthsRule(), bounds=[0.0])
    X2, y2, groups = others(3000)
    proof = frontier.fit(X, y, sensitive_features=A).prove(X2, y2, **groups).proof_
    assert proof.holds
    assert proof.bound == 0.0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"confidence": 95}, "confidence is 95"),
        ({"fallback": "any"}, "fallback is 'any'"),
        ({"sensitive_features": None}, "sensitive_features is missing"),
    ],
)
def test_what_is_wrong_is_named(frontier, wrong, words):
    X, y, groups = others(50)
    with pytest.raises(ValueError, match=words):
        frontier.prove(X, y, **(groups | wrong))


def test_bounds_by_group_need_one_for_all():
    X, y, A = make_people(400)
    rule = DemographicParity({0: 0.1, 1: 0.2})
    frontier = Frontier(LogisticRegression(), rule, bounds=[0.1]).fit(X, y, sensitive_features=A)
    X, y, groups = others(400)
    with pytest.raises(ValueError, match="give eps="):
        frontier.prove(X, y, **groups)
