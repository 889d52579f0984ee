"""Identities: other values are told apart, the same ones are not."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from equipoise.estimators.identity import Identity
from equipoise.oracles import BestOf, Plugin, Refit


class Own(ClassifierMixin, BaseEstimator):
    """A learner that does not print what it is."""

    def __init__(self, value=None):
        self.value = value

    def __repr__(self):
        return "Own()"


def long_pipeline(depth):
    steps = [(f"a_rather_long_name_of_step_{i}", StandardScaler()) for i in range(12)]
    tree = ("tree", DecisionTreeClassifier(max_depth=depth))
    return Pipeline([*steps[:6], tree, *steps[6:]])  # its printed form leaves the tree out


def votes(depth):
    trees = [DecisionTreeClassifier(max_depth=depth if i == 5 else 1) for i in range(12)]
    return VotingClassifier([(f"a_rather_long_name_{i}", tree) for i, tree in enumerate(trees)])


def spike(at):
    array = np.zeros(3000)
    array[at] = 1.0
    return array


def adder(number):
    return lambda x: x + number


def halves(swap):
    order = np.arange(1500)
    if swap:
        order[[5, 1000]] = order[[1000, 5]]
    return [(order[:750], order[750:]), (order[750:], order[:750])]


def scaler(scale):
    return FrozenEstimator(StandardScaler().fit([[0.0], [scale]]))


def linked(value):
    learner = Own(value)
    learner.value = [value, learner]  # a cycle
    return learner


DIFFERENT = {
    "a step in the middle": (lambda: long_pipeline(2), lambda: long_pipeline(9)),
    "a voter": (lambda: votes(1), lambda: votes(9)),
    "own printed form": (lambda: Own(1), lambda: Own(2)),
    "a large array": (lambda: Own(spike(1500)), lambda: Own(spike(1501))),
    "types of arrays": (lambda: Own(np.zeros(3)), lambda: Own(np.zeros(3, dtype=int))),
    "shapes": (lambda: Own(np.zeros((2, 3))), lambda: Own(np.zeros((3, 2)))),
    "one and one": (lambda: Own(1), lambda: Own(1.0)),
    "number and text": (lambda: Own(1), lambda: Own("1")),
    "types": (DecisionTreeClassifier, lambda: Own()),
    "lists and tuples": (lambda: Own([1]), lambda: Own((1,))),
    "nesting": (lambda: Own([[1], 2]), lambda: Own([[1, 2]])),
    "keys": (lambda: Own({1: "a"}), lambda: Own({"1": "a"})),
    "code": (
        lambda: FunctionTransformer(lambda x: x + 1),
        lambda: FunctionTransformer(lambda x: x + 2),
    ),
    "closures": (
        lambda: FunctionTransformer(adder(1)),
        lambda: FunctionTransformer(adder(2)),
    ),
    "partial": (lambda: Own(partial(max, 1)), lambda: Own(partial(max, 2))),
    "functions": (lambda: FunctionTransformer(np.log), lambda: FunctionTransformer(np.exp)),
    "generators": (
        lambda: Own(np.random.RandomState(0)),
        lambda: Own(np.random.RandomState(1)),
    ),
    "splitters": (
        lambda: Refit(cv=KFold(3, shuffle=True, random_state=0)),
        lambda: Refit(cv=KFold(3, shuffle=True, random_state=1)),
    ),
    "folds": (lambda: Refit(cv=halves(False)), lambda: Refit(cv=halves(True))),
    "oracles": (lambda: BestOf(Plugin(cv=3)), lambda: BestOf(Plugin(cv=4))),
    "frozen": (lambda: scaler(1.0), lambda: scaler(2.0)),
    "cycles": (lambda: linked(1), lambda: linked(2)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_told_apart_and_what_is_equal_is_not(name):
    one, other = DIFFERENT[name]
    assert Identity(one()).digest == Identity(one()).digest
    assert Identity(other()).digest == Identity(other()).digest
    assert Identity(one()).digest != Identity(other()).digest


def test_what_fits_do_not_depend_on_does_not_count():
    fitted = LogisticRegression(C=2.0).fit([[0.0], [1.0]], [0, 1])  # fits work on a clone
    assert Identity(fitted).digest == Identity(LogisticRegression(C=2.0)).digest
    assert Identity(Own(np.int64(3))).digest == Identity(Own(3)).digest
    assert Identity(Own({"a": 1, "b": 2})).digest == Identity(Own({"b": 2, "a": 1})).digest
    assert Identity(Own({"x", "y", "z"})).digest == Identity(Own({"z", "y", "x"})).digest


def test_candidates_count_by_what_they_have_learned():
    one, other = (LogisticRegression().fit([[0.0], [1.0]], y) for y in ([0, 1], [1, 0]))
    assert Identity([one], fitted=True).digest != Identity([other], fitted=True).digest
    assert Identity([one]).digest == Identity([other]).digest


def test_the_code_of_a_class_without_a_version_counts():
    def kind(line):
        scope = {"__name__": "__main__", "BaseEstimator": BaseEstimator}
        exec(f"class Mine(BaseEstimator):\n    def fit(self, X, y):\n        {line}", scope)
        return scope["Mine"]

    one, same, other = kind("return 1"), kind("return 1"), kind("return 2")
    assert Identity(one()).digest == Identity(same()).digest
    assert Identity(one()).digest != Identity(other()).digest


def test_versions_of_the_libraries_that_were_met():
    lightgbm = pytest.importorskip("lightgbm")
    without, with_it = Identity(Own()), Identity(lightgbm.LGBMClassifier())
    assert "lightgbm" not in without.versions()
    assert with_it.versions()["lightgbm"] == lightgbm.__version__
    assert {"python", "equipoise", "numpy", "scipy", "sklearn"} <= set(without.versions())


def test_what_cannot_be_told_apart_is_refused():
    with pytest.raises(TypeError, match=r"holds a generator.*Leave checkpoint= out"):
        Identity(Own(value=(i for i in range(3))))
