"""The draw: how far the decisions drawn lie from their expectation, and who is warned of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equipoise
from equipoise import DemographicParity, ExponentiatedGradient, FairClassifier, Frontier
from equipoise.estimators import draws
from equipoise.exceptions import SharedDrawWarning
from equipoise.rows.hashing import draw_uniform

RULE = DemographicParity(eps=0.05, reference="pairwise")


def few_rows(n=4000, seed=0, labels=2):
    """Return people of two yes/no features, so of four distinct rows."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 2, n)
    X = (rng.random((n, 2)) < np.where(A, 0.7, 0.3)[:, None]).astype(float)
    y = (rng.random(n) < 0.2 + 0.3 * X.sum(axis=1)).astype(int)
    return X, y + (labels == 3) * (rng.random(n) < 0.3), A


def simulated(model, X, A, weight=None, keys=None, salts=400):
    """Return the standard deviation of the difference of selection rates, over salts."""
    classes, values = model.classes_, []
    mixture = model.classifier_
    for salt in range(salts):
        mixture.random_state = salt
        selected = model.predict(X, key=keys) == classes[-1]
        rates = [np.average(selected[a == A], weights=weight[a == A]) for a in (0, 1)]
        values.append(rates[1] - rates[0])
    return np.std(values)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_deviation_is_that_of_many_salts(weighted):
    X, y, A = few_rows()
    weight = np.random.default_rng(1).choice([0.5, 2.0], len(y)) if weighted else np.ones(len(y))
    model = FairClassifier(LogisticRegression(), RULE, random_state=0)
    with pytest.warns(SharedDrawWarning, match=r"Pass predict\(X, key=\.\.\.\)"):
        model.fit(X, y, sensitive_features=A, sample_weight=weight if weighted else None)
    draw = model.certificate_.draw
    assert draw.matters
    assert draw.is_of_sharing
    assert draw.shared == pytest.approx(simulated(model, X, A, weight), rel=0.15)
    by_key = simulated(model, X, A, weight, keys=np.arange(len(y)))
    assert draw.keyed == pytest.approx(by_key, rel=0.15)
    (line,) = (x for x in str(model.certificate_).splitlines() if x.startswith("draw"))
    assert f"{draw.shared:.4f}" in line
    assert model.certificate_.to_dict()["draw"]["shared"] == draw.shared


def test_more_than_two_labels():
    X, y, A = few_rows(labels=3)
    model = FairClassifier(LogisticRegression(), RULE, random_state=0)
    with pytest.warns(SharedDrawWarning):
        model.fit(X, y, sensitive_features=A)
    chance, distinct = model.predict_proba(X), np.unique(X, axis=0)
    rate = {a: [np.mean((X[a == A] == row).all(axis=1)) for row in distinct] for a in (0, 1)}
    apart = np.subtract(rate[1], rate[0])
    of_rows = np.array([chance[(row == X).all(axis=1)][0] for row in distinct])
    expected = np.sqrt((apart[:, None] ** 2 * of_rows * (1 - of_rows)).sum(axis=0))
    assert model.certificate_.draw.shared == pytest.approx(expected.max())


def test_rows_that_are_all_distinct_share_nothing():
    X, y, A = few_rows(n=2000)
    own = np.column_stack([X, np.arange(len(X)) / len(X)])
    model = FairClassifier(LogisticRegression(), RULE).fit(own, y, sensitive_features=A)
    draw = model.certificate_.draw
    assert len(model.classifier_.members) > 1
    assert draw.shared == pytest.approx(draw.keyed)
    assert not draw.is_of_sharing


def test_one_rule_draws_nobody():
    X, y, A = few_rows()
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.9))
    assert model.fit(X, y, sensitive_features=A).certificate_.draw is None
    assert "draw " not in str(model.certificate_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_estimators_warn(tmp_path):
    X, y, A = few_rows()
    with pytest.warns(SharedDrawWarning):
        ExponentiatedGradient(LogisticRegression(), RULE).fit(X, y, sensitive_features=A)
    frontier = Frontier(LogisticRegression(), RULE, bounds=[0.05, 0.9])
    frontier.fit(X, y, sensitive_features=A)
    assert frontier.points_[1].certificate.draw is None
    with pytest.warns(SharedDrawWarning):
        model = frontier.at(0.05)
    pytest.importorskip("skops")
    equipoise.save(model, tmp_path / "m")
    assert equipoise.load(tmp_path / "m").certificate_.draw == model.certificate_.draw


def test_a_key_keeps_the_bound():
    X, y, A = few_rows(n=8000)
    with pytest.warns(SharedDrawWarning):
        model = FairClassifier(LogisticRegression(), RULE).fit(X, y, sensitive_features=A)
    selected = model.predict(X, key=np.arange(len(y)))
    apart = abs(selected[A == 1].mean() - selected[A == 0].mean())
    assert apart <= 0.05 + 5 * model.certificate_.draw.keyed
    uniform = draw_uniform(X, salt=model.classifier_.random_state)
    assert len(np.unique(uniform)) == 4


@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_people_a_sample_tells_whether_they_share_draws(weighted, monkeypatch):
    X, y, A = few_rows()
    weight = np.random.default_rng(1).choice([0.5, 2.0], len(y)) if weighted else None

    def draw_of(X):
        model = FairClassifier(LogisticRegression(), RULE, random_state=0)
        return model.fit(X, y, sensitive_features=A, sample_weight=weight).certificate_.draw

    with pytest.warns(SharedDrawWarning):
        of_all = draw_of(X)
    monkeypatch.setattr(draws, "_SAMPLE", 1000)
    with pytest.warns(SharedDrawWarning):
        assert draw_of(X) == of_all
    apart = X + 1e-3 * np.random.default_rng(2).normal(size=X.shape)
    assert draw_of(apart) is None
