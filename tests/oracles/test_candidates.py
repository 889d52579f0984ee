"""Lists of fitted classifiers, searched in full."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from people import SpyLearner, make_people, selection_gap
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    GridSearch,
)
from equipoise.cells import Cells
from equipoise.game.evidence import Scope
from equipoise.oracles.candidates import BestOfOracle, ExactOracle
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.specs import BestOf, Plugin, Refit

X, Y, A = make_people(300, seed=2)


def test_list_of_fitted_classifiers(spy):
    words = np.array(["no", "yes"])[Y]
    candidates = [LogisticRegression(C=C).fit(X[:, :], words) for C in (1e-4, 1.0)]
    candidates += [
        DecisionTreeClassifier(max_depth=2).fit(X[:, 1:] @ [[0, 1, 0], [0, 0, 1]], words)
    ]
    fair = FairClassifier(candidates, DemographicParity(eps=0.05))
    fair.fit(X, words, sensitive_features=A)
    assert fair.certificate_.scope is Scope.WHOLE_CLASS
    pmf = fair.predict_proba(X)[:, 1]
    assert selection_gap(pmf, A) <= 0.05 + 1e-7
    assert set(fair.predict(X)) <= {"no", "yes"}
    # No mixture of the three on a fine lattice that meets the bound errs less.
    table = np.array([c.predict(X) == "yes" for c in candidates])
    best = 1.0
    for p in np.linspace(0, 1, 41):
        for q in np.linspace(0, 1 - p, 41):
            mixed = p * table[0] + q * table[1] + (1 - p - q) * table[2]
            if selection_gap(mixed, A) <= 0.05:
                best = min(best, np.mean(np.where(Y == 1, 1 - mixed, mixed)))
    assert fair.certificate_.error <= best + 1e-9
    assert fair.certificate_.error == pytest.approx(np.mean(np.where(Y == 1, 1 - pmf, pmf)))


@pytest.mark.parametrize("reduction", [ExponentiatedGradient, GridSearch])
def test_list_of_fitted_classifiers_in_the_other_reductions(reduction):
    candidates = [LogisticRegression(C=C).fit(X, Y) for C in (1e-4, 1e-2, 1.0)]
    candidates.append(SpyLearner.fresh()().fit(X[:, [1, 1, 1]], Y))
    fair = reduction(candidates, DemographicParity(eps=0.2)).fit(X, Y, sensitive_features=A)
    assert fair.predict(X).shape == Y.shape
    assert "LogisticRegression" in fair._repr_html_()


def test_list_of_frozen_classifiers_can_be_cloned():
    candidates = [FrozenEstimator(LogisticRegression(C=C).fit(X, Y)) for C in (1e-4, 1.0)]
    fair = sklearn.base.clone(FairClassifier(candidates, DemographicParity(eps=0.2)))
    assert fair.fit(X, Y, sensitive_features=A).certificate_.scope is Scope.WHOLE_CLASS


def test_bad_lists():
    for empty in ([], ()):
        with pytest.raises(ValueError, match="empty list"):
            FairClassifier(empty, DemographicParity()).fit(X, Y, sensitive_features=A)
    strange = [LogisticRegression().fit(X, np.array(["a", "b"])[Y])]
    with pytest.raises(ValueError, match=r"LogisticRegression predicts \['a', 'b'\].*\[0, 1\]"):
        FairClassifier(strange, DemographicParity()).fit(X, Y, sensitive_features=A)


def test_exact_oracle_is_an_argmin():
    rng = np.random.default_rng(0)
    predictions = rng.integers(0, 2, size=(20, len(Y)))
    cells = Cells.from_columns(Y, {"a": A})
    oracle = ExactOracle.from_predictions(predictions, cells)
    for _ in range(10):
        costs = rng.normal(size=cells.n_cells)
        of_row = cells.spread(costs)
        assert oracle.best_response(costs).classifier == np.argmin(predictions @ of_row)
    with pytest.raises(ValueError, match="2 classifiers but shares of 3"):
        ExactOracle(["a", "b"], np.zeros((3, 2)))


def test_the_better_answer_is_taken(people):
    cells = Cells.from_columns(people.y, {"A": people.A})
    plugin = PluginOracle(GaussianNB(), people.X, cells, cv=3)
    refit = CrossFittedOracle(LogisticRegression(), people.X, cells, cv=3)
    both = BestOfOracle(plugin, refit)
    winners = set()
    for costs in np.random.default_rng(0).normal(size=(30, 4)):
        each = [float(oracle.best_response(costs).s @ costs) for oracle in (plugin, refit)]
        assert float(both.best_response(costs).s @ costs) == min(each)
        winners.add(int(np.argmin(each)))
    assert winners == {0, 1}


def test_the_best_of_both_is_no_worse_than_either(people):
    error = {}
    plugin, refit = Plugin(cv=4), Refit(cv=4)
    specs = {"plugin": plugin, "refit": refit, "both": BestOf(plugin, refit)}
    for oracle, spec in specs.items():
        clf = FairClassifier(LogisticRegression(), EqualizedOdds(eps=0.02), oracle=spec)
        clf.fit(people.X, people.y, sensitive_features=people.A)
        assert clf.certificate_.violation < 1e-7
        error[oracle] = clf.certificate_.error
    assert error["both"] <= min(error["plugin"], error["refit"]) + clf.nu_


def test_shares_must_be_measured_alike(people):
    cells = Cells.from_columns(people.y, {"A": people.A})
    unseen = PluginOracle(GaussianNB(), people.X, cells, cv=3)
    seen = ExactOracle(["nobody"], np.zeros((1, 4)))
    assert BestOfOracle(unseen, unseen).out_of_fold
    assert not BestOfOracle(seen).out_of_fold
    with pytest.raises(ValueError, match=r"ExactOracle \(out_of_fold=False\).*measure.*alike"):
        BestOfOracle(unseen, seen)
    with pytest.raises(ValueError, match="got no oracle"):
        BestOfOracle()


class Noting(ExactOracle):
    """Notes from where it was told to start."""

    started = None

    def start_from(self, classifier):
        self.started = classifier


def test_all_oracles_are_told_where_to_start():
    oracles = [Noting(["a"], np.zeros((1, 2))) for _ in range(2)]
    BestOfOracle(*oracles).start_from("an earlier answer")
    assert [oracle.started for oracle in oracles] == ["an earlier answer"] * 2
