"""The best answer of several oracles."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from equipoise import EqualizedOdds, FairClassifier
from equipoise.cells import Cells
from equipoise.oracles.best_of import BestOfOracle
from equipoise.oracles.candidates import ExactOracle
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.specs import BestOf, Plugin, Refit


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
