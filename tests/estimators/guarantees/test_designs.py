"""FairClassifier(confidence=...): one call, three designs, and a finite population as the truth."""

import warnings

import numpy as np
import pytest
from people import make_people
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from equipoise import BoundedGroupError, DemographicParity, FairClassifier, MinimaxGroupError
from equipoise.constraints import TreatmentEquality
from equipoise.estimators.guarantees.proofs import _PROVEN
from equipoise.exceptions import (
    ConstantDecisionWarning,
    LotteryWarning,
    NothingComparedWarning,
    NotProvenError,
    NotProvenWarning,
    RegardlessWarning,
    ReusedPeopleWarning,
)
from equipoise.oracles import Refit

PAIRS = DemographicParity(0.15, reference="pairwise")


@pytest.fixture(autouse=True)
def no_proofs_before():
    _PROVEN.clear()
    yield
    _PROVEN.clear()


@pytest.mark.parametrize("design", ["split", "cross_fit", "margin"])
def test_a_fit_with_proof(design):
    X, y, A = make_people(3000)
    model = FairClassifier(LogisticRegression(), PAIRS, confidence=0.95, proof=design)
    model.fit(X, y, sensitive_features=A)
    proof = model.proof_
    assert proof.holds
    assert proof.design == design
    assert proof.people == (1500 if design == "split" else 3000)
    assert proof.method == ("score" if design == "split" else "asymptotic")
    selected = model.predict_proba(X)[:, 1]
    assert abs(selected[A == 0].mean() - selected[A == 1].mean()) < 0.15
    model.certificate_.check()
    assert model.people_.rows == (1500 if design == "split" else 3000)


@pytest.mark.simulation
def test_the_promise_is_kept_in_a_finite_population():
    """25 fits of 600 people out of 10,000; plain fits break the bound in about half of them."""
    X, y, A = make_people(10_000, seed=9)
    rng = np.random.default_rng(0)
    broken = {None: 0, 0.9: 0}
    for _ in range(25):
        drawn = rng.integers(0, len(y), 600)
        for confidence in broken:
            model = FairClassifier(
                LogisticRegression(),
                PAIRS,
                confidence=confidence,
                fallback="fairest",
                nu=0.01,
                max_iter=10,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X[drawn], y[drawn], sensitive_features=A[drawn])
            selected = model.predict_proba(X)[:, 1]
            gap = abs(selected[A == 0].mean() - selected[A == 1].mean())
            proven = confidence is None or model.proof_.holds
            broken[confidence] += proven and gap > 0.15
    assert broken[None] >= 7
    assert broken[0.9] <= 6  # of 25 at 10 %: more has a chance of 0.01


def test_without_confidence_nothing_is_promised():
    X, y, A = make_people(400)
    model = FairClassifier(LogisticRegression(), PAIRS, confidence=0.5)
    model.fit(X, y, sensitive_features=A)
    model.set_params(confidence=None).fit(X, y, sensitive_features=A)
    assert not hasattr(model, "proof_")


def test_group_errors_are_proven_without_a_frontier():
    X, y, A = make_people(3000)
    model = FairClassifier(LogisticRegression(), BoundedGroupError(0.4), confidence=0.95)
    assert model.fit(X, y, sensitive_features=A).proof_.holds


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.NotProvenWarning")
def test_parameters_of_the_constraint_are_found_first():
    X, y, A = make_people(600)
    ratio = TreatmentEquality(0.05)
    plain = FairClassifier(LogisticRegression(), ratio).fit(X, y, sensitive_features=A)
    model = FairClassifier(LogisticRegression(), ratio, confidence=0.9, proof="margin")
    model.fit(X, y, sensitive_features=A)
    assert model.constraint_.tau == plain.constraint_.tau != 1.0


def test_nothing_proven():
    X, y, A = make_people(400)
    rule = DemographicParity(0.01, reference="pairwise")
    model = FairClassifier(LogisticRegression(), rule, confidence=0.95)
    with pytest.warns(NotProvenWarning):
        model.fit(X, y, sensitive_features=A)
    with pytest.raises(NotProvenError):
        model.predict(X)
    assert 2 < model.proof_.needed.factor < 10_000


@pytest.mark.parametrize("design", ["split", "cross_fit", "margin"])
def test_with_too_few_people_some_are_decided_by_lot(design):
    X, y, A = make_people(700)
    rule = DemographicParity(0.06, reference="pairwise")
    model = FairClassifier(LogisticRegression(), rule, confidence=0.95, proof=design)
    with pytest.warns(RegardlessWarning, match="regardless of who it is"):
        model.fit(X, y, sensitive_features=A)
    proof = model.proof_
    assert proof.holds
    assert 0 < proof.regardless <= 0.75
    assert proof.needed.factor > 1
    X, _, A = make_people(20_000, seed=2)
    selected = model.predict_proba(X)[:, 1]
    # Nobody is above or below what the lot leaves open.
    assert np.ptp(selected) <= 1 - proof.regardless + 1e-6
    assert abs(selected[A == 0].mean() - selected[A == 1].mean()) < 0.06


def test_errors_of_groups_are_not_known_for_sure():
    """Who selects nobody errs about everybody with label 1: how many there are is not known."""
    X, y, A = make_people(700)
    model = FairClassifier(LogisticRegression(), BoundedGroupError(0.25), confidence=0.95)
    with pytest.warns(NotProvenWarning):
        model.fit(X, y, sensitive_features=A)
    assert model.proof_.regardless == 0


def test_one_rule_is_proven():
    X, y, A = make_people(6000)
    model = FairClassifier(LogisticRegression(), PAIRS, confidence=0.95, deterministic=True)
    model.fit(X, y, sensitive_features=A)
    assert model.proof_.holds
    assert model.proof_.n_points > 3
    X, _, A = make_people(20_000, seed=2)
    assert set(model.predict_proba(X)[:, 1]) == {0.0, 1.0}
    selected = model.predict(X)
    assert abs(selected[A == 0].mean() - selected[A == 1].mean()) < 0.15


class DecideOnly(ClassifierMixin, BaseEstimator):
    """Decides, and gives no scores that could be cut elsewhere."""

    def fit(self, X, y, sample_weight=None):
        self.inner_ = LogisticRegression().fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_mixtures_are_proven_where_there_is_no_rule():
    X, y, A = make_people(3000)
    model = FairClassifier(
        DecideOnly(), PAIRS, confidence=0.9, deterministic=True, oracle=Refit(threshold="learner")
    )
    with pytest.warns(LotteryWarning, match="The proof is about mixtures"):
        model.fit(X, y, sensitive_features=A)
    assert model.proof_.holds


def test_another_learner_on_the_same_people_is_another_test():
    X, y, A = make_people(1000)
    for C in (1.0, 1.0):
        model = FairClassifier(LogisticRegression(C=C), PAIRS, confidence=0.5)
        model.fit(X, y, sensitive_features=A)
    with pytest.warns(ReusedPeopleWarning):
        FairClassifier(LogisticRegression(C=9), PAIRS, confidence=0.5).fit(
            X, y, sensitive_features=A
        )


def test_the_margin_is_for_linear_learners():
    X, y, A = make_people(400)
    for learner, oracle in (
        (RandomForestClassifier(5, random_state=0), "refit"),
        (LogisticRegression(), Refit(cv=2)),
    ):
        model = FairClassifier(learner, PAIRS, oracle=oracle, confidence=0.9, proof="margin")
        with pytest.raises(ValueError, match="linear learners"):
            model.fit(X, y, sensitive_features=A)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"confidence": 2.0}, "confidence is 2.0"),
        ({"proof": "half"}, "proof is 'half'"),
        ({"fallback": "best"}, "fallback is 'best'"),
        ({"B": 3.0}, "Leave B out"),
        ({"proof": "margin", "deterministic": True}, "Use proof='split'"),
        ({"constraint": MinimaxGroupError()}, "no bound"),
        ({"constraint_weights": False}, "more than one way"),
    ],
)
def test_what_is_wrong_is_named(wrong, words):
    X, y, A = make_people(100)
    weight = np.linspace(1, 2, 100) if "constraint_weights" in wrong else None
    given = {"constraint": PAIRS, "confidence": 0.9} | wrong
    with pytest.raises((ValueError, TypeError), match=words):
        FairClassifier(LogisticRegression(), **given).fit(
            X, y, sensitive_features=A, sample_weight=weight
        )


def test_a_proof_that_selects_nobody_or_asks_nothing_says_so():
    rng = np.random.default_rng(0)
    A, X = rng.choice(["F", "M"], 600), rng.normal(size=(600, 2))
    rare = (np.arange(600) % 120 == 0).astype(int)
    clf = FairClassifier(LogisticRegression(), DemographicParity(eps=0.3), confidence=0.95)
    with pytest.warns(ConstantDecisionWarning, match="selects nobody"):
        clf.fit(X, rare, sensitive_features=A)
    loose = FairClassifier(LogisticRegression(), DemographicParity(eps=2), confidence=0.95)
    with pytest.warns(NothingComparedWarning, match="they ask nothing"):
        loose.fit(X, (X[:, 0] > 0).astype(int), sensitive_features=A)


def test_a_search_that_was_stopped_says_so():
    X, y, A = make_people(3000)
    model = FairClassifier(LogisticRegression(), PAIRS, confidence=0.95, max_iter=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=A)
    said = [str(warning.message) for warning in caught]
    assert not model.certificate_.is_optimal()
    assert sum(text.startswith("stopped by max_iter") for text in said) == 1
