"""Models that are fitted already: refused before work, or seen by their answers."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    DemographicParity,
    ExponentiatedGradient,
    FairClassifier,
    FairRegressor,
    Frontier,
    GridSearch,
    ResampledClassifier,
)
from equipoise.baselines import ThresholdOptimizer
from equipoise.exceptions import FrozenLearnerWarning
from equipoise.game.rounds import Pool
from equipoise.oracles.candidates import ExactOracle
from equipoise.oracles.learners import check_trains

X, Y, A = make_people(1000, seed=4)
RULE = DemographicParity(eps=0.02, reference="pairwise")
MODEL = LogisticRegression().fit(X, Y)
FROZEN = FrozenEstimator(MODEL)


class Stubborn(ClassifierMixin, BaseEstimator):
    """Keeps the model that it was given, whatever it is fitted to."""

    def __init__(self, model=None):
        self.model = model

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)


@pytest.mark.parametrize(
    "learner",
    [
        FROZEN,
        make_pipeline(StandardScaler(), FROZEN),
        ResampledClassifier(FROZEN),
        make_pipeline(StandardScaler(), BaggingClassifier(FROZEN)),
        GridSearchCV(FROZEN, {}),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.parametrize("oracle", ["refit", "plugin"])
def test_frozen_learners_are_refused(learner, oracle):
    model = FairClassifier(learner, RULE, oracle=oracle)
    with pytest.raises(TypeError, match=r"frozen.*ThresholdOptimizer.*\[model, other\]"):
        model.fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize(
    "estimator",
    [
        ExponentiatedGradient(FROZEN, RULE),
        GridSearch(FROZEN, RULE),
        Frontier(FROZEN, DemographicParity()),
        FairRegressor(FrozenEstimator(LinearRegression().fit(X, Y)), DemographicParity(0.1)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_refuses_them(estimator):
    with pytest.raises(TypeError, match="which is frozen"):
        estimator.fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(FrozenEstimator(StandardScaler().fit(X)), LogisticRegression()),
        CalibratedClassifierCV(FROZEN),
        LogisticRegression(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_what_learns_is_not_refused(learner):
    check_trains(learner)


def test_what_the_error_names_works():
    own = ThresholdOptimizer(FROZEN, RULE).fit(X, Y, sensitive_features=A)
    assert (own.predict_proba(X, sensitive_features=A)[:, 1] > 0).any()
    other = LogisticRegression(C=1e-3).fit(X, Y)
    mixed = FairClassifier([FROZEN, other], DemographicParity(eps=0.5))
    assert mixed.fit(X, Y, sensitive_features=A).certificate_.feasible
    scored = np.column_stack([X, MODEL.decision_function(X)])
    fair = FairClassifier(LogisticRegression(), RULE).fit(scored, Y, sensitive_features=A)
    assert fair.certificate_.feasible


@pytest.mark.parametrize(
    "estimator",
    [
        FairClassifier(Stubborn(FROZEN), RULE),
        ExponentiatedGradient(Stubborn(FROZEN), RULE),
        Frontier(Stubborn(FROZEN), DemographicParity(), bounds=[0.02]),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_one_answer_to_all_queries_is_warned_of(estimator):
    with pytest.warns(FrozenLearnerWarning, match="does not seem to use the labels and weights"):
        estimator.fit(X, Y, sensitive_features=A)


def test_the_same_probabilities_of_label_and_group_are_refused():
    model = FairClassifier(Stubborn(FROZEN), RULE, oracle="plugin")
    with pytest.raises(ValueError, match="the label and the group the same probabilities"):
        model.fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("depth", [1, 2, None])
def test_weak_learners_are_not_warned_of(depth):
    learner = DecisionTreeClassifier(max_depth=depth, random_state=0)
    FairClassifier(learner, RULE).fit(X, Y, sensitive_features=A)


def test_one_answer_to_queries_of_other_labels():
    mass = np.array([0.5, 0.5])
    pool = Pool()
    pool.add("nobody", np.array([0.0, 0.0]))
    pool.add("everybody", np.array([0.5, 0.5]))
    stubborn = ExactOracle(["stubborn"], [[0.4, 0.1]])
    pool.ask(stubborn, np.array([-1.0, 1.0]))
    assert not pool.ignores_labels(mass, 2)  # one query
    pool.ask(stubborn, np.array([-1.0, 0.5]))
    assert not pool.ignores_labels(mass, 2)  # of the same labels
    pool.ask(stubborn, np.array([-1.0, -0.1]))
    assert not pool.ignores_labels(mass, 2)  # nearly the same
    pool.ask(stubborn, np.array([0.5, -1.0]))
    assert pool.ignores_labels(mass, 2)
    pool.ask(ExactOracle(["other"], [[0.2, 0.0]]), np.array([0.3, 0.2]))
    assert not pool.ignores_labels(mass, 2)  # it has answered otherwise
