"""Learners that weigh labels themselves are seen before any work, wherever the parameter is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from people import SpyLearner, make_people
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    BalancedError,
    Costs,
    DemographicParity,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
)
from equipoise.exceptions import LabelWeightWarning
from equipoise.oracles.label_weights import label_weights

BALANCED = LogisticRegression(class_weight="balanced")


class Boosted:
    """A learner that is no scikit-learn estimator and keeps its parameters as attributes."""

    def __init__(self, scale_pos_weight):
        self.scale_pos_weight = scale_pos_weight


class Net:
    """A wrapper like skorch's, whose parameters have names of the user's own."""

    def __init__(self, **params):
        self.params = params

    def get_params(self, deep=True):
        return dict(self.params)


@pytest.mark.parametrize(
    ("learner", "name", "objective"),
    [
        (BALANCED, "class_weight", "BalancedError()"),
        (
            make_pipeline(StandardScaler(), BALANCED),
            "logisticregression__class_weight",
            "BalancedError()",
        ),
        (
            GridSearchCV(BaggingClassifier(BALANCED), {"n_estimators": [2]}),
            "estimator__estimator__class_weight",
            "BalancedError()",
        ),
        (
            DecisionTreeClassifier(class_weight={1: 5, 0: 2}),
            "class_weight",
            "Costs(false_positive=2, false_negative=5)",
        ),
        (Boosted(8), "scale_pos_weight", "Costs(false_negative=8)"),
        (Net(is_unbalance=True), "is_unbalance", "BalancedError()"),
        (Net(criterion__pos_weight=np.ones(1)), "criterion__pos_weight", "Costs(...)"),
        (Net(criterion__weight=[1.0, 2.0]), "criterion__weight", "Costs(...)"),
        (Net(module__weight=2, auto_class_weights="Balanced"), "auto_class_weights", "Balanced"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_where_the_parameter_is(learner, name, objective):
    (found,) = label_weights(learner)
    assert found.name == name
    assert found.objective.startswith(objective)


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        Boosted(1),
        Boosted(1.0),
        Boosted(None),
        Net(is_unbalance=False, auto_class_weights="None", module__weight=3),
        object(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_learners_that_leave_labels_as_they_are(learner):
    assert label_weights(learner) == []


@pytest.mark.parametrize(
    "estimator",
    [
        FairClassifier(BALANCED, DemographicParity(eps=0.05)),
        ExponentiatedGradient(BALANCED, DemographicParity(eps=0.05)),
        GridSearch(BALANCED, DemographicParity(eps=0.5), grid_size=3),
        Frontier(BALANCED, DemographicParity(), bounds=[0.05]),
        FairClassifier(BALANCED, DemographicParity(eps=0.05), oracle="plugin"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_warning_says_what_to_write_instead(estimator):
    X, y, A = make_people(400)
    with pytest.warns(LabelWeightWarning, match=r"class_weight='balanced'.*BalancedError\(\)"):
        estimator.fit(X, y, sensitive_features=A)


def test_it_comes_before_any_work():
    class Weighing(SpyLearner):
        def __init__(self, class_weight="balanced"):
            self.class_weight = class_weight

        def fit(self, X, y, sample_weight):
            raise AssertionError

    people = make_people(100)
    model = FairClassifier(Weighing(), DemographicParity(eps=0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LabelWeightWarning):
            model.fit(people.X, people.y, sensitive_features=people.A)


def test_labels_that_are_weighed_twice():
    X, y, A = make_people(400)
    for objective in (BalancedError(), Costs(false_negative=3)):
        model = FairClassifier(BALANCED, DemographicParity(eps=0.05), objective=objective)
        with pytest.warns(LabelWeightWarning, match="weighed twice"):
            model.fit(X, y, sensitive_features=A)


def test_a_list_of_classifiers_learns_nothing():
    X, y, A = make_people(400)
    fitted = [LogisticRegression(class_weight="balanced", C=C).fit(X, y) for C in (0.01, 1.0)]
    FairClassifier(fitted, DemographicParity(eps=0.5)).fit(X, y, sensitive_features=A)
