"""scikit-learn's common estimator checks."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from equipoise import (
    DemographicParity,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
    ResampledClassifier,
)
from equipoise.oracles.specs import Refit
from equipoise.rows.hashing import hash_uniform


class SensitiveFromX:
    """Supplies the sensitive features, which the checks do not know of.

    The group is a function of the row alone, so that shuffling, repeating or dropping rows does not
    move anybody to another group.
    """

    def fit(self, X, y=None, sample_weight=None):
        try:
            A = hash_uniform(X) < 0.5
        except TypeError:  # rows of dictionaries and the like, which the learner is to refuse
            A = np.arange(len(X)) % 2
        return super().fit(X, y, sensitive_features=A, sample_weight=sample_weight)


class Fair(SensitiveFromX, FairClassifier):
    pass


class Exponentiated(SensitiveFromX, ExponentiatedGradient):
    pass


class Grid(SensitiveFromX, GridSearch):
    pass


class Traced(SensitiveFromX, Frontier):
    """A frontier has no predict: it is no classifier, and the checks treat it as none."""


ESTIMATORS = [
    Fair(LogisticRegression(), DemographicParity(eps=0.1)),
    Fair(LogisticRegression(), DemographicParity(eps=0.1), nu=1e-3),
    Fair(
        LogisticRegression(), DemographicParity(eps=0.1), nu=1e-3, oracle=Refit(threshold="learner")
    ),
    Exponentiated(LogisticRegression(), DemographicParity(eps=0.1)),
    # One classifier alone cannot always be as even on the few rows that some checks use.
    Grid(LogisticRegression(), DemographicParity(eps=0.5), grid_size=5),
    Traced(LogisticRegression(), DemographicParity(), bounds=[0.1]),
    ResampledClassifier(LogisticRegression()),
]


# Draws are a hash of the row, so even the checks that call predict twice, on subsets or in another
# order pass.
@parametrize_with_checks(ESTIMATORS)
def test_common_checks(estimator, check):
    check(estimator)
