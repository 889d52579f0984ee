"""A large price says what decisions that see the group would pay, as an estimate without a fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equipoise
from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
)
from equipoise.baselines import ThresholdOptimizer
from equipoise.cells import Cells
from equipoise.estimators import seen_groups
from equipoise.estimators.seen_groups import GroupThresholds
from equipoise.exceptions import LargePriceWarning

RULE = DemographicParity(eps=0.02, reference="pairwise")


class Counting(LogisticRegression):
    """Logistic regression that counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


def loans(n=2000, seed=0):
    """Return people whose one strong feature also tells the group."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    income = rng.normal(50, 12, n) + 6 * (sex == "M")
    y = (income + rng.normal(0, 12, n) > 55).astype(int)
    return np.column_stack([(income - 50) / 12, rng.normal(size=n)]), y, {"sex": sex}


@pytest.mark.parametrize("oracle", ["refit", "plugin"])
def test_the_figure_is_what_a_learner_that_sees_the_group_pays(oracle):
    X, y, groups = loans()
    blind = FairClassifier(LogisticRegression(), RULE, oracle=oracle)
    with pytest.warns(LargePriceWarning, match=r"see 'sex' too would pay about 0\.0"):
        blind.fit(X, y, sensitive_features=groups)
    found = blind.certificate_
    seen = np.column_stack([X, groups["sex"] == "M"])
    aware = FairClassifier(LogisticRegression(), RULE, oracle=oracle)
    aware.fit(seen, y, sensitive_features=groups)
    assert aware.certificate_.seen is None  # its price is small
    assert found.error - found.free_error > 0.1
    assert found.seen.error == pytest.approx(aware.certificate_.error, abs=0.01)
    text = str(found)
    assert "decisions that see 'sex' too would pay a price of about" in text
    assert "a question for a lawyer" in text
    assert found.to_dict()["seen"]["error"] == found.seen.error


def test_the_estimate_is_that_of_thresholds_by_group():
    """The same linear program as the baseline's, on the scores of the same learner."""
    X, y, groups = loans()
    for rule in (RULE, EqualizedOdds(eps=0.02, reference="pairwise")):
        model = FairClassifier(LogisticRegression(), rule, nu=1e-5)
        model.fit(X, y, sensitive_features=groups)
        own = ThresholdOptimizer(LogisticRegression(), rule)
        own.fit(X, y, sensitive_features=groups)
        assert model.certificate_.seen.error == pytest.approx(own.error_, abs=1e-4)


def test_it_takes_no_fit():
    X, y, groups = loans(n=1000)
    model = FairClassifier(Counting(), RULE)
    Counting.fits = 0
    model.fit(X, y, sensitive_features=groups)
    assert model.certificate_.seen is not None
    assert Counting.fits <= model.n_calls_


def test_a_small_price_is_not_looked_into():
    X, y, groups = loans()
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.2, reference="pairwise"))
    found = model.fit(X, y, sensitive_features=groups).certificate_
    assert found.seen is None
    assert "lawyer" not in str(found)


def test_nothing_is_said_where_seeing_the_group_saves_little():
    rng = np.random.default_rng(0)
    _, _, groups = loans()
    label = (groups["sex"] == "M") & (rng.random(2000) < 0.9)
    X = np.column_stack([groups["sex"] == "M", rng.normal(size=2000)]).astype(float)
    model = FairClassifier(LogisticRegression(), RULE).fit(X, label, sensitive_features=groups)
    found = model.certificate_
    assert found.error - found.free_error > 0.1
    assert found.seen is not None
    assert not found.saves_if_seen
    assert "lawyer" not in str(found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_estimators_and_files(tmp_path):
    X, y, groups = loans(n=1000)
    with pytest.warns(LargePriceWarning):
        ExponentiatedGradient(LogisticRegression(), RULE).fit(X, y, sensitive_features=groups)
    frontier = Frontier(LogisticRegression(), RULE, bounds=[0.02, 0.25])
    frontier.fit(X, y, sensitive_features=groups)
    assert frontier.points_[1].certificate.seen is None
    with pytest.warns(LargePriceWarning):
        model = frontier.at(0.02)
    pytest.importorskip("skops")
    equipoise.save(model, tmp_path / "m")
    assert equipoise.load(tmp_path / "m").certificate_.seen == model.certificate_.seen


def test_best_responses_of_thresholds_by_group():
    """Against all pairs of thresholds, with ties and weights."""
    rng = np.random.default_rng(1)
    scores, label = rng.integers(0, 5, 40) / 5, rng.integers(0, 2, 40)
    group, weight = rng.choice(["a", "b"], 40), rng.choice([1.0, 3.0], 40)
    cells = Cells.from_columns(label, {"group": group}, weight=weight)
    oracle = GroupThresholds(scores, cells)
    for _ in range(20):
        costs = rng.normal(size=4)
        answer = oracle.best_response(costs).s
        cuts = [-1.0, *np.unique(scores)]
        all_costs = [
            costs @ cells.sum(scores > np.where(group == "a", first, second))
            for first, second in product(cuts, cuts)
        ]
        assert costs @ answer == pytest.approx(min(all_costs))


@pytest.mark.parametrize("oracle", ["refit", "plugin"])
def test_of_many_people_a_sample_tells_the_figure(oracle, monkeypatch):
    X, y, groups = loans(6000)

    def figure():
        model = FairClassifier(LogisticRegression(), RULE, oracle=oracle)
        with pytest.warns(LargePriceWarning):
            model.fit(X, y, sensitive_features=groups)
        return model.certificate_.seen.error

    of_all = figure()
    monkeypatch.setattr(seen_groups, "_MOST_PEOPLE", 3000)
    of_sample = figure()
    assert of_sample != of_all
    assert of_sample == pytest.approx(of_all, abs=0.02)


def test_a_search_that_was_stopped_has_no_price():
    X, y, groups = loans()
    with pytest.warns(LargePriceWarning):
        model = FairClassifier(LogisticRegression(), RULE).fit(X, y, sensitive_features=groups)
    found = model.certificate_
    assert found.saves_if_seen
    nothing_proven = replace(found, lower=found.free_error)
    assert not nothing_proven.saves_if_seen
    assert "pay a price" not in str(nothing_proven)
