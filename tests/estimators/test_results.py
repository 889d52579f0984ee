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
    assert model.predict_proba(np.zeros((5, 1)))[:, 1] == pytest.approx(label)


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


@pytest.mark.parametrize(
    "constraint",
    [
        DemographicParity(eps=0.3),
        BoundedGroupError(bound=0.5),
        DemographicParity(eps={0: 0.3, 1: 2.0}),
    ],
)
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


def test_no_inequality_is_left():
    with pytest.warns(EquipoiseWarning) as caught:
        fit(DemographicParity(eps=0.05, min_size=1000))
    assert [warning.category for warning in caught][-1] is NothingComparedWarning
    assert "no inequality is left: nothing is compared" in str(caught[-1].message)


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


def test_one_of_two_columns_has_a_single_value():
    groups = {"sex": A, "here": np.zeros(400)}
    with pytest.warns(NothingComparedWarning, match="value of 'here': no groups differ in it"):
        model = fit(DemographicParity(eps=0.05), groups=groups)
    assert model.certificate_.binding  # the groups of the other one are compared


def test_a_group_without_weight_is_compared_with_nobody():
    weight = np.where(A == 1, 0.0, 1.0)
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    with pytest.warns(EquipoiseWarning) as caught:
        model.fit(X, Y, sensitive_features=A, sample_weight=weight)
    told = [str(warning.message) for warning in caught]
    assert "nobody with weight in the data belongs to 1" in told[0]
    assert [warning.category for warning in caught][1:] == [NothingComparedWarning]
    assert "(nothing was compared" in str(model.certificate_)
    with pytest.warns(EquipoiseWarning, match="nobody with weight"):
        assert not model.report()["training"].met


def test_bounds_loosened_beforehand_are_not_called_met_as_given():
    model = FairClassifier(LogisticRegression(), DemographicParity(0.01), sampling_slack=0.5)
    model.fit(X, Y, sensitive_features=A)
    excess = model.report()["training"].excess.estimate
    assert excess > 0.01
    assert model.violations_["train"] == pytest.approx(excess, abs=1e-12)
    found, h = model.certificate_, model.predict_proba(X)[:, 1]
    fewest = min(np.bincount(A))
    assert found.sampling_slack == pytest.approx(0.5 * (fewest**-0.5 + 400**-0.5))
    text = str(found)
    assert "as loosened by sampling_slack, by up to" in text.splitlines()[0]
    assert "largest excess over a bound as loosened" in text
    traced = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.01], sampling_slack=0.5)
    point = traced.fit(X, Y, sensitive_features=A).at(0.01)
    apart = max(abs(h[a == A].mean() - h.mean()) for a in (0, 1))
    assert excess == pytest.approx(apart - 0.01)
    assert point.violations_["train"] == pytest.approx(point.report()["training"].excess.estimate)


def test_what_is_by_weight_is_said_to_be():
    rng = np.random.default_rng(1)
    for weight in (None, np.full(400, 3.0), rng.choice([0.0, 1.0, 5.0], 400)):
        model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
        model.fit(X, Y, sensitive_features=A, sample_weight=weight)
        (line,) = (x for x in str(model.certificate_).splitlines() if x.startswith("random"))
        assert ("by weight" in line) == (weight is not None and bool(np.ptp(weight) > 0))


def test_a_frontier_on_other_people_makes_models_that_report():
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05])
    frontier.fit(X[:200], Y[:200], sensitive_features=A[:200])
    model = frontier.recertify(X[200:], Y[200:], sensitive_features=A[200:]).at(0.05)
    report = model.report(X[:200], Y[:200], sensitive_features=A[:200])
    assert [entry.data for entry in report] == ["recertified", "test"]
    assert set(report.switched) == {"recertified", "test"}
    assert model.violations_ == {"recertified": pytest.approx(0.0, abs=1e-9)}


@pytest.mark.parametrize("other", ["fewer", "relabelled", "moved"])
def test_a_frontier_is_refined_on_its_own_people(other):
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05])
    frontier.fit(X, Y, sensitive_features=A)
    given = {"fewer": (X[1:], Y[1:]), "relabelled": (X, 1 - Y), "moved": (X + 1e-3, Y)}[other]
    with pytest.raises(ValueError, match="expected its data again"):
        frontier.refine(0.01, *given, sensitive_features=A[-len(given[0]) :])
    assert frontier.at(0.05).certificate_.feasible  # it is as it was
    assert frontier.refine(0.01, X, Y, sensitive_features=A).certificate_.feasible
    assert frontier.people_.rows == 400


def test_the_fingerprint_follows_what_a_frontier_learned_from():
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05])
    frontier.fit(X[:200], Y[:200], sensitive_features=A[:200])
    again = frontier.recertify(X[200:300], Y[200:300], sensitive_features=A[200:300])
    for model, expected in ((frontier, 200), (again, 300), (frontier.at(0.05), 200)):
        assert model.report(X, Y, sensitive_features=A).overlap.estimate == expected
