"""scikit-learn's common checks of regressors."""

from __future__ import annotations

from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from equipoise import DemographicParity, FairRegressor, MinimaxGroupLoss
from tests.estimators.test_estimator_checks import SensitiveFromX


class Fair(SensitiveFromX, FairRegressor):
    pass


@parametrize_with_checks(
    [
        Fair(LinearRegression(), DemographicParity(eps=0.5), thresholds=5),
        Fair(LinearRegression(), MinimaxGroupLoss()),
    ]
)
def test_common_checks(estimator, check):
    check(estimator)
