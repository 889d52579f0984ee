"""Specs of oracles: parameters that can be cloned, searched and checked."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from people import People, make_people
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from equipoise.cells import Cells
from equipoise.oracles.candidates import BestOfOracle, LabelAdapter
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.specs import BestOf, Plugin, Refit, read_oracle

PEOPLE = make_people(300, seed=2)
COSTS = np.array([1.0, -0.7, 1.4, -0.2])


class Table:
    """The least that specs ask of an engine: rows in memory."""

    def __init__(self, people: People) -> None:
        self.X = people.X
        self.cells = Cells.from_columns(people.y, {"A": people.A})
        self.classes = np.array([0, 1])
        self.asked: list[tuple] = []

    def refit(self, learner, threshold, cv):
        self.asked.append(("refit", learner, threshold, cv))
        if cv is None:
            return RefitOracle(learner, self.X, self.cells, threshold)
        return CrossFittedOracle(learner, self.X, self.cells, threshold, cv)

    def plugin(self, learner, cv, aware):
        self.asked.append(("plugin", learner, cv, aware))
        return PluginOracle(learner, self.X, self.cells, cv, aware)

    def shares(self, members):
        self.asked.append(("shares", members))
        return np.array([self.cells.sum(m.predict(self.X)) for m in members])


@pytest.mark.parametrize(
    ("word", "kind", "params"),
    [
        ("refit", Refit, {"threshold": "auto", "cv": None, "shared_trees": 0.0}),
        ("plugin", Plugin, {"cv": 5, "aware": False}),
    ],
)
def test_words_are_shorthand_for_specs_with_their_defaults(word, kind, params):
    spec = read_oracle(word)
    assert type(spec) is kind
    assert spec.get_params() == params
    assert read_oracle(spec) is spec


def test_best_of_is_made_of_two_specs_measured_alike():
    params = read_oracle("best_of").get_params()
    assert {name: params[name] for name in params if "__" in name} == {
        "plugin__cv": 5,
        "plugin__aware": False,
        "refit__threshold": "auto",
        "refit__cv": 5,
        "refit__shared_trees": 0.0,
    }


@pytest.mark.parametrize(("value", "error"), [("magic", ValueError), ("both", ValueError)])
def test_unknown_words_are_told_what_there_is(value, error):
    with pytest.raises(error, match=rf"oracle is '{value}'; expected 'refit', 'plugin' or 'best_"):
        read_oracle(value)


@pytest.mark.parametrize("value", [None, Refit, 5, LogisticRegression()])
def test_other_things_are_told_what_there_is(value):
    with pytest.raises(TypeError, match=r"oracle is .*expected 'refit'.*Refit\(threshold="):
        read_oracle(value)


@pytest.mark.parametrize(
    "spec",
    [
        Refit("tuned", KFold(3)),
        Plugin(cv=3, aware=True),
        BestOf(Plugin(cv=2), Refit("learner", cv=4)),
    ],
)
def test_specs_are_cloned_and_pickled_with_their_parameters(spec):
    for copy in (clone(spec), pickle.loads(pickle.dumps(spec))):
        assert copy is not spec
        assert repr(copy) == repr(spec)
        ours, theirs = copy.get_params(), spec.get_params()
        assert list(ours) == list(theirs)
        assert all(repr(ours[name]) == repr(theirs[name]) for name in ours)


def test_a_parameter_of_one_default_is_not_that_of_all():
    BestOf().set_params(plugin__cv=9, refit__threshold="learner")
    assert BestOf().plugin.cv == 5
    assert BestOf().refit.threshold == "auto"


class Host(BaseEstimator):
    """An estimator with an oracle among its parameters."""

    def __init__(self, oracle="refit"):
        self.oracle = oracle


def test_a_search_reaches_the_parameters_of_a_spec():
    assert Host(Refit()).set_params(oracle__cv=3).oracle.cv == 3
    host = clone(Host(BestOf())).set_params(oracle__plugin__cv=7, oracle__refit__cv=KFold(2))
    assert host.oracle.plugin.cv == 7
    assert host.oracle.refit.cv.n_splits == 2
    with pytest.raises(ValueError, match="Invalid parameter 'aware' for estimator Refit"):
        Host(Refit()).set_params(oracle__aware=True)


# Errors before any work


@pytest.mark.parametrize(
    ("spec", "learner", "weighted", "error", "message"),
    [
        (Refit(threshold="best"), GaussianNB(), False, ValueError, "threshold is 'best'"),
        (Refit(cv=1), GaussianNB(), False, ValueError, "cv is 1"),
        (Refit(cv=True), GaussianNB(), False, ValueError, "cv is True"),
        (Refit(), KNeighborsClassifier(), False, TypeError, "takes no sample_weight"),
        (Refit(), LogisticRegression, False, TypeError, "expected a classifier object"),
        (Plugin(cv=1), GaussianNB(), False, ValueError, "cv is 1"),
        (Plugin(cv=None), GaussianNB(), False, ValueError, r"cv is None.*Plugin\(cv=5\)"),
        (Plugin(), LinearSVC(), False, TypeError, "LinearSVC has no predict_proba"),
        (Plugin(), KNeighborsClassifier(), True, TypeError, "takes no sample_weight"),
        (BestOf(), LinearSVC(), False, TypeError, "LinearSVC has no predict_proba"),
        (BestOf(), KNeighborsClassifier(), False, TypeError, "takes no sample_weight"),
        (BestOf(refit=Refit()), GaussianNB(), False, ValueError, r"refit is Refit\(\).*cv=5"),
        (BestOf(Plugin(cv=0)), GaussianNB(), False, ValueError, "cv is 0"),
        (
            BestOf("plugin"),
            GaussianNB(),
            False,
            TypeError,
            r"plugin is 'plugin'; expected Plugin\(",
        ),
        (
            BestOf(refit=Plugin()),
            GaussianNB(),
            False,
            TypeError,
            r"refit is Plugin\(\); expected R",
        ),
    ],
)
def test_what_cannot_work_is_refused(spec, learner, weighted, error, message):
    with pytest.raises(error, match=message):
        spec.check(learner, weighted)


@pytest.mark.parametrize(
    ("spec", "learner", "weighted"),
    [
        (Refit(), LinearSVC(), True),
        (Refit(cv=KFold(3)), GaussianNB(), False),
        (Plugin(), KNeighborsClassifier(), False),  # needs no weights where there are none
        (Plugin(), GaussianNB(), True),
        (BestOf(), GaussianNB(), True),
    ],
)
def test_what_can_work_is_not(spec, learner, weighted):
    spec.check(learner, weighted)


@pytest.mark.parametrize("spec", [Refit(cv=3), Plugin(), BestOf()])
def test_fitted_classifiers_are_not_to_be_trained(spec):
    fitted = [GaussianNB().fit(PEOPLE.X, PEOPLE.y)]
    with pytest.raises(ValueError, match=r"list of fitted classifiers, but oracle=\w+\("):
        spec.check(fitted, False)
    Refit().check(fitted, False)


# Oracles over an engine


def test_refit_asks_the_engine_for_what_it_says():
    table, learner = Table(PEOPLE), LogisticRegression()
    oracle = Refit("tuned").over(table, learner)
    assert table.asked == [("refit", learner, "tuned", None)]
    assert not oracle.out_of_fold
    expected = RefitOracle(learner, PEOPLE.X, table.cells, "tuned").best_response(COSTS)
    np.testing.assert_array_equal(oracle.best_response(COSTS).s, expected.s)
    assert Refit(cv=3).over(table, learner).out_of_fold


def test_plugin_asks_the_engine_for_what_it_says():
    table, learner = Table(PEOPLE), GaussianNB()
    oracle = Plugin(cv=4).over(table, learner)
    assert table.asked == [("plugin", learner, 4, False)]
    assert oracle.out_of_fold


def test_best_of_asks_for_both():
    table, learner = Table(PEOPLE), GaussianNB()
    oracle = BestOf(Plugin(cv=3), Refit("learner", cv=2)).over(table, learner)
    assert table.asked == [("plugin", learner, 3, False), ("refit", learner, "learner", 2)]
    assert isinstance(oracle, BestOfOracle)
    least = min(o.best_response(COSTS).s @ COSTS for o in oracle.oracles)
    assert oracle.best_response(COSTS).s @ COSTS == least


def test_a_list_of_fitted_classifiers_is_searched():
    fitted = [GaussianNB().fit(PEOPLE.X, PEOPLE.y), LogisticRegression().fit(PEOPLE.X, PEOPLE.y)]
    oracle = Refit().over(Table(PEOPLE), fitted)
    assert oracle.exact
    classifier, s = oracle.best_response(COSTS)
    assert isinstance(classifier, LabelAdapter)
    cost_of_row = COSTS[2 * PEOPLE.A + PEOPLE.y] / len(PEOPLE.y)
    costs = [model.predict(PEOPLE.X) @ cost_of_row for model in fitted]
    assert s @ COSTS == pytest.approx(min(costs))
    assert classifier.classifier is fitted[int(np.argmin(costs))]


def test_learners_that_are_trained_at_a_time_share_the_cores():
    greedy = RandomForestClassifier(3, max_depth=2, n_jobs=-1, random_state=0)
    table = Table(PEOPLE)
    BestOf(Plugin(cv=2), Refit(cv=2)).over(table, greedy, at_a_time=10_000)
    # Probabilities are learned before anything runs in parallel.
    assert [(name, learner.n_jobs) for name, learner, *_ in table.asked] == [
        ("plugin", -1),
        ("refit", 1),
    ]
