"""What is easily overlooked is warned of, and nothing else is."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from equipoise import (
    BoundedGroupError,
    BoundedGroupLoss,
    DemographicParity,
    EqualizedOdds,
    FairClassifier,
    FairRegressor,
    Frontier,
    GridSearch,
)
from equipoise.exceptions import (
    AbsentGroupWarning,
    ConstantDecisionWarning,
    EquipoiseWarning,
    NothingComparedWarning,
)

RNG = np.random.default_rng(0)
A = RNG.integers(0, 2, 400)
X = np.column_stack([A + RNG.normal(size=400), RNG.normal(size=400)])
Y = (X.sum(axis=1) + RNG.normal(size=400) > 0.5).astype(int)


def fit(constraint, y=Y, groups=A, X=X):
    model = FairClassifier(LogisticRegression(), constraint)
    return model.fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize("label", [0, 1])
def test_nobody_or_everybody_selected(label):
    rare = np.where(np.arange(400) < 12, 1 - label, label)
    with pytest.warns(ConstantDecisionWarning, match=["nobody", "everybody"][label]):
        model = fit(DemographicParity(eps=0.01), rare, X=np.zeros((400, 1)))
    assert model.predict_pmf(np.zeros((5, 1)))[:, 1] == pytest.approx(label)


def test_a_single_group():
    with pytest.warns(NothingComparedWarning, match="everybody has the same value of 'group'"):
        model = fit(DemographicParity(eps=0.01), groups=np.zeros(400))
    assert "(nothing was compared" in str(model.certificate_).splitlines()[0]
    assert "nothing was compared" not in str(fit(DemographicParity(eps=0.3)).certificate_)
    with pytest.warns(NothingComparedWarning, match="everybody has the same value of 'group'"):
        Frontier(LogisticRegression(), DemographicParity(), bounds=[0.1]).fit(
            X, Y, sensitive_features=np.zeros(400)
        )


@pytest.mark.parametrize("constraint", [DemographicParity(eps=2), EqualizedOdds(eps=1)])
def test_a_bound_that_cannot_bind(constraint):
    with pytest.warns(NothingComparedWarning, match="no decisions whatsoever could exceed"):
        fit(constraint)


@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.3), BoundedGroupError(bound=0.5)])
def test_a_bound_that_is_met_by_the_unconstrained_model_can_bind(constraint):
    with warnings.catch_warnings():
        warnings.simplefilter("error", EquipoiseWarning)
        fit(constraint)


GRID = GridSearch(LogisticRegression(), DemographicParity(eps=0.3), grid_size=3)
NUMBERS = FairRegressor(LinearRegression(), DemographicParity(eps=0.3), thresholds=3)
LOSSES = FairRegressor(LinearRegression(), BoundedGroupLoss(9.0))
TRACED = Frontier(LinearRegression(), DemographicParity(), bounds=[0.3], thresholds=3)


@pytest.mark.parametrize("model", [GRID, NUMBERS, LOSSES, TRACED])
def test_every_estimator_makes_these_remarks(model):
    """One value of the sensitive column, a result that tells nobody from anybody else."""
    with pytest.warns(NothingComparedWarning, match="everybody has the same value of 'group'"):
        clone(model).fit(X, Y, sensitive_features=np.zeros(400))
    with pytest.warns(ConstantDecisionWarning, match="everybody") as caught:
        clone(model).fit(np.zeros((400, 1)), Y, sensitive_features=A)
    assert [warning.category for warning in caught] == [ConstantDecisionWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error", EquipoiseWarning)
        clone(model).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("model", [GRID, NUMBERS, TRACED])
def test_every_estimator_warns_of_bounds_that_cannot_bind(model):
    change = {"bounds": [1.0]} if model is TRACED else {"constraint__eps": 1.0}
    with pytest.warns(NothingComparedWarning, match="whatsoever could exceed the bounds"):
        clone(model).set_params(**change).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("traced", [False, True])
def test_a_group_that_is_absent_from_the_people_measured(traced):
    model = fit(DemographicParity(eps=0.05))
    if traced:
        model = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05])
        model.fit(X, Y, sensitive_features=A)
    ones = A == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = model.report(X[ones], Y[ones], sensitive_features=A[ones])
    (warning,) = caught  # and no second one about the same group
    assert warning.category is AbsentGroupWarning
    assert "belongs to 0, a group of the fit: no bound on it is checked" in str(warning.message)
    entry = report["test"][0] if traced else report["test"]
    assert not entry.met  # one group is left, so nothing is compared
    assert entry.worst is None
    assert "not known" in str(report)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EquipoiseWarning)
        model.report(X[:50], Y[:50], sensitive_features=A[:50])


def test_the_fingerprint_follows_what_a_frontier_learned_from():
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05])
    frontier.fit(X[:200], Y[:200], sensitive_features=A[:200])
    again = frontier.recertify(X[200:300], Y[200:300], sensitive_features=A[200:300])
    for model, expected in ((frontier, 200), (again, 300), (frontier.at(0.05), 200)):
        assert model.report(X, Y, sensitive_features=A).overlap.estimate == expected
