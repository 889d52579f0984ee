"""Reductions of a small crowd, with a learner and a bound unless others are given."""

from __future__ import annotations

from people import make_people
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, ExponentiatedGradient, FairClassifier, GridSearch

X, Y, A = make_people(400)
REDUCTIONS = [FairClassifier, ExponentiatedGradient, GridSearch]
RANDOMIZED = REDUCTIONS[:2]


def make(reduction=FairClassifier, learner=None, constraint=None, **parameters):
    learner = LogisticRegression() if learner is None else learner
    constraint = DemographicParity(eps=0.05) if constraint is None else constraint
    if reduction is GridSearch:
        parameters.setdefault("grid_size", 5)
    return reduction(learner, constraint, **parameters)


def fitted(reduction=FairClassifier, **parameters):
    return make(reduction, **parameters).fit(X, Y, sensitive_features=A)
