"""Baselines with three labels: two of them take these, two refuse them by name."""

from __future__ import annotations

import numpy as np
import pytest
from people import three_labels
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity
from equipoise.baselines import Relabeling, Reweighting, ThresholdOptimizer, Unconstrained
from equipoise.exceptions import EmptyCellWarning
from equipoise.metrics import demographic_parity_difference

X, Y, A = three_labels()
NAMES = np.array(["low", "mid", "top"])


def test_unconstrained_is_the_learner():
    ours = Unconstrained(LogisticRegression()).fit(X, Y)
    theirs = LogisticRegression().fit(X, Y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.score(X, Y) == theirs.score(X, Y)


@pytest.mark.parametrize("weighted", [False, True])
def test_reweighting_makes_group_and_label_independent(weighted, spy):
    own = np.random.default_rng(0).uniform(0.5, 2, len(Y)) if weighted else np.ones(len(Y))
    given = {"sample_weight": own} if weighted else {}
    model = Reweighting(spy()).fit(X, Y, sensitive_features=A, **given)
    for (group, label), weight in model.weights_.items():
        both = own[(group == A) & (label == Y)].sum()
        expected = own[group == A].sum() * own[label == Y].sum() / (both * own.sum())
        assert weight == pytest.approx(expected)
    assert len(model.weights_) == 6
    weight = np.array([model.weights_[pair] for pair in zip(A.tolist(), Y.tolist(), strict=True)])
    np.testing.assert_allclose(spy.weights[0], weight * own)
    shares = [np.bincount(np.searchsorted(NAMES, Y[a == A]), (weight * own)[a == A]) for a in "ab"]
    np.testing.assert_allclose(shares[0] / shares[0].sum(), shares[1] / shares[1].sum())


def test_reweighting_brings_rates_nearer():
    plain = LogisticRegression().fit(X, Y).predict(X)
    model = Reweighting(LogisticRegression()).fit(X, Y, sensitive_features=A)
    before, after = (
        demographic_parity_difference(Y, decided, sensitive_features=A)
        for decided in (plain, model.predict(X))
    )
    assert after < before


def test_a_label_that_nobody_of_a_group_has_is_named():
    few = ~((A == "a") & (Y == "mid"))
    with pytest.warns(EmptyCellWarning, match="nobody in the data belongs to a with label mid"):
        Reweighting(LogisticRegression()).fit(X[few], Y[few], sensitive_features=A[few])


@pytest.mark.parametrize(
    "model",
    [
        Relabeling(LogisticRegression()),
        ThresholdOptimizer(LogisticRegression(), DemographicParity(0.05)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_others_are_refused_by_name(model):
    says = f"{type(model).__name__} is for two labels, but there are 3: 'low', 'mid', 'top'"
    with pytest.raises(ValueError, match=says):
        model.fit(X, Y, sensitive_features=A)
