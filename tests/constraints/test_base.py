"""Constraints written by hand, layers of cells, and agreement with fairlearn."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from by_hand import Crowd, random_crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

import equipoise as eq
import equipoise.constraints
from equipoise.cells.layered import LayeredCells
from equipoise.cells.rows import Cells
from equipoise.constraints import (
    Calibration,
    Constraint,
    PredictiveParity,
    TreatmentEquality,
    UtilityParity,
)

NAMES = {
    "DemographicParity": "DemographicParity",
    "EqualizedOdds": "EqualizedOdds",
    "EqualOpportunity": "TruePositiveRateParity",
    "FalsePositiveRateParity": "FalsePositiveRateParity",
    "AccuracyEquality": "ErrorRateParity",
}


# --- fairlearn -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("ratio", "control"), list(product([None, 0.8], [False, True])))
@pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn", "ignore:Setting a")
@pytest.mark.parametrize("name", NAMES)
def test_gamma_is_that_of_fairlearn(name: str, ratio, control: bool, seed: int) -> None:
    reductions = pytest.importorskip("fairlearn.reductions")
    crowd = random_crowd(seed, n=80, n_groups=3, control=control, n_classifiers=4)
    bound = {"difference_bound": 0.05} if ratio is None else {"ratio_bound": ratio}
    theirs = getattr(reductions, NAMES[name])(**bound)
    more = {"control_features": pd.Series(crowd.control)} if control else {}
    X = pd.DataFrame({"row": np.arange(crowd.n)})
    theirs.load_data(
        X, pd.Series(crowd.y), sensitive_features=pd.Series(crowd.columns["sex"]), **more
    )
    cells = cells_of(crowd)
    eps = 0.05 if ratio is None else 0.0
    moments = getattr(equipoise.constraints, name)(eps, ratio=ratio or 1.0).moments(cells)
    for h in crowd.H:
        # With control features, fairlearn 0.15 also makes events of the label that TPR and FPR
        # parity leave out, called "control=old,nan".
        gamma = {k: v for k, v in theirs.gamma(lambda X, h=h: h).items() if "nan" not in k[1]}
        ours = moments.M @ moments.mu(cells.sum(h))
        assert len(ours) == len(gamma)
        for value, row in zip(ours, moments.rows, strict=True):
            # Their index is (sign, event, group), the event such as "control=old,label=1".
            sign = "+" if row.side > 0 else "-"
            stratum, label, _ = row.event
            (found,) = (
                value
                for (s, event, group), value in gamma.items()
                if s == sign
                and group == row.group
                and (stratum is None or stratum in event)
                and (label is None or f"label={label}" in event)
            )
            assert value == pytest.approx(found, abs=1e-10)
    assert set(moments.c) == set(theirs.bound())


# --- the user's own M, g, events and c -----------------------------------------------------------


def test_demographic_parity_written_by_hand() -> None:
    crowd = random_crowd(4, weighted=True)
    cells = cells_of(crowd)
    by_letters = Constraint.from_moments(
        events=[{"sex": "a"}, {"sex": "b"}, None],
        g=[[0, 1], [0, 1]],
        M=[[1, 0, -1], [-1, 0, 1], [0, 1, -1], [0, -1, 1]],
        c=[0.05] * 4,
    ).moments(cells)
    named = eq.DemographicParity(0.05).moments(cells)
    assert_allclose((by_letters.M @ by_letters.U).toarray(), (named.M @ named.U).toarray())
    assert_allclose(by_letters.M @ by_letters.offset, named.M @ named.offset)
    assert_allclose(by_letters.c, named.c)


def test_events_by_list_function_and_control_feature() -> None:
    crowd = random_crowd(4, n_groups=3, control=True)
    cells = cells_of(crowd)
    h = crowd.H[0]
    moments = Constraint.from_moments(
        events=[
            {"sex": ["a", "c"], "label": 1},
            lambda who: who["sex"] != "b" and who["label"] == 0,
            {"stratum": "old"},
        ],
        g=[[[0, 1], [0, 1]], lambda who, label, prediction: 0.5 * prediction, [[0, 1], [1, 0]]],
        M=np.eye(3),
        c=[0.5, 0.6, 0.7],
        names=["first", "second", "third"],
    ).moments(cells)
    not_b = crowd.columns["sex"] != "b"
    old = crowd.control == "old"
    expected = [
        h[not_b & (crowd.y == 1)].mean(),
        0.5 * h[not_b & (crowd.y == 0)].mean(),
        (h != crowd.y)[old].mean(),
    ]
    assert_allclose(moments.M @ moments.mu(cells.sum(h)), expected, atol=1e-12)
    assert [str(row) for row in moments.rows] == [
        "custom: first",
        "custom: second",
        "custom: third",
    ]


def test_a_personal_utility_by_name() -> None:
    crowd = random_crowd(4, utility=True, weighted=True)
    cells = cells_of(crowd)
    moments = Constraint.from_moments([{"sex": "a"}], "utility", [[1]], [0.5]).moments(cells)
    a = crowd.columns["sex"] == "a"
    for h in crowd.H:
        got = np.where(h == 1, crowd.utility[:, 1], crowd.utility[:, 0])
        expected = np.average(got[a], weights=crowd.weight[a])
        assert (moments.M @ moments.mu(cells.sum(h)))[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"M": [[1, 2]]}, "M of shape"),
        ({"c": [np.inf]}, "expected finite numbers"),
        ({"names": ["a", "b"]}, "2 names for 1 rows"),
        ({"events": [{"gender": "a"}]}, "no column is called 'gender'; there are 'label', 'sex'"),
        ({"events": [{"sex": "z"}]}, "'sex' is never 'z'; its values are 'a', 'b'"),
        ({"events": [lambda who: False]}, "event 0 of from_moments, .*, is empty"),
        ({"g": [[[0, 1], [0, 1]]] * 2}, "2 utilities g for 1 events"),
        ({"g": [[0, 1, 2]]}, "utility g has shape"),
        ({"g": "profit"}, "no utility is called 'profit': there are none"),
    ],
)
def test_mistakes_in_from_moments_are_named(change: dict, message: str) -> None:
    given = {"events": [{"sex": "a"}], "g": [[0, 1], [0, 1]], "M": [[1.0]], "c": [0.5]} | change
    with pytest.raises(ValueError, match=message):
        Constraint.from_moments(**given).moments(cells_of(random_crowd(0)))


# --- layers --------------------------------------------------------------------------------------

layered_crowds = st.builds(
    random_crowd,
    st.integers(0, 10**6),
    columns=st.integers(1, 2),
    weighted=st.just(True),
    counts=st.sampled_from(["both", "error"]),
    soft=st.booleans(),
    utility=st.just(True),
)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(crowd=layered_crowds, seed=st.integers(0, 99))
def test_signed_costs_are_the_adjoint_of_sum(crowd: Crowd, seed: int) -> None:
    cells = cells_of(crowd)
    assert isinstance(cells, LayeredCells)
    s = cells.sum(crowd.H[0])
    costs = np.random.default_rng(seed).normal(size=s.shape)
    each = cells.signed_costs(costs)
    assert s @ costs == pytest.approx(crowd.H[0] @ each, abs=1e-12)
    label, weight = cells.relabel_rows(costs)
    assert (label == (each < 0)).all()
    assert_allclose(weight / weight.sum(), np.abs(each) / np.abs(each).sum())
    low, high = cells.limits()
    for h in crowd.H:
        assert (cells.sum(h) >= low - 1e-12).all()
        assert (cells.sum(h) <= high + 1e-12).all()
    assert_allclose(cells.sum(each < 0) @ costs, np.minimum(each, 0).sum(), atol=1e-12)


def test_plain_cells_stay_plain() -> None:
    for weighted in (False, True):
        cells = cells_of(random_crowd(0, weighted=weighted))
        assert type(cells) is Cells
        assert cells.code.dtype == np.uint8
    # Without weights both semantics are the same.
    assert type(cells_of(random_crowd(0, counts="error"))) is Cells


@pytest.mark.parametrize("kind", [{}, {"soft": True}, {"utility": True, "counts": "error"}])
def test_cells_without_rows_compile_the_same_and_hold_nobody(kind: dict) -> None:
    sizes = []
    for n in (100, 1000):
        crowd = random_crowd(0, n=n, weighted=True, **kind)
        cells = cells_of(crowd)
        bare = cells.table()
        constraint = eq.EqualizedOdds(0.1)
        one, other = constraint.moments(cells), constraint.moments(bare)
        assert_allclose((one.M @ one.U).toarray(), (other.M @ other.U).toarray())
        sizes.append(len(pickle.dumps(bare)))
    assert abs(sizes[1] - sizes[0]) < 100


def test_certain_probabilities_are_groups() -> None:
    crowd = random_crowd(3, n=60, weighted=True, control=True)
    sure = np.column_stack([crowd.columns["sex"] == v for v in ("a", "b")]).astype(float)
    soft = Crowd(crowd.y, crowd.H, {}, crowd.control, crowd.weight, probability=sure)
    constraint = eq.EqualizedOdds(0.1, reference="pairwise")
    one, other = (fitted(c, constraint).certificate_ for c in (crowd, soft))
    assert one.error == pytest.approx(other.error, abs=2e-4)
    assert [str(r).replace("g0", "a").replace("g1", "b") for r in other.rows] == [
        str(r) for r in one.rows
    ]


def test_weights_in_the_error_only() -> None:
    rng = np.random.default_rng(0)
    crowd = random_crowd(8, n=80, weighted=True)
    crowd = Crowd(crowd.y, crowd.H, crowd.columns, weight=rng.uniform(0.1, 9, crowd.n))
    gaps = {}
    for counts in ("both", "error"):
        asked = Crowd(crowd.y, crowd.H, crowd.columns, weight=crowd.weight, counts=counts)
        after = outcome(fitted(asked, eq.DemographicParity(0.0, reference="pairwise")), asked)
        a = crowd.columns["sex"] == "a"
        h = after.H[0]
        gaps[counts] = (
            abs(
                np.average(h[a], weights=crowd.weight[a])
                - np.average(h[~a], weights=crowd.weight[~a])
            ),
            abs(h[a].mean() - h[~a].mean()),
        )
    assert gaps["both"][0] < 1e-6 < gaps["both"][1]
    assert gaps["error"][1] < 1e-6 < gaps["error"][0]


# --- through scikit-learn, with a learner --------------------------------------------------------


def simulated(n: int = 400):
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, n)
    X = np.column_stack([A + rng.normal(size=n), rng.normal(size=n)])
    y = (X.sum(axis=1) + rng.normal(size=n) > 0.5).astype(int)
    guess = np.clip(0.15 + 0.7 * A + rng.normal(scale=0.1, size=n), 0, 1)
    return X, y, A, np.column_stack([1 - guess, guess]), rng.uniform(size=(n, 2))


def test_uncertain_groups_with_a_learner() -> None:
    X, y, _, guess, _ = simulated()
    frame = pd.DataFrame(guess, columns=["F", "M"])
    clf = eq.FairClassifier(LogisticRegression(), eq.DemographicParity(0.01, reference="pairwise"))
    clf.fit(X, y, sensitive_features=eq.Probabilities(frame, name="sex"))
    h = clf.predict_proba(X)[:, 1]
    rates = [h @ guess[:, k] / guess[:, k].sum() for k in (0, 1)]
    assert abs(rates[0] - rates[1]) <= 0.01 + 1e-7
    free = LogisticRegression().fit(X, y).predict(X)
    assert abs(np.subtract(*[free @ guess[:, k] / guess[:, k].sum() for k in (0, 1)])) > 0.1


def test_personal_utilities_with_a_learner() -> None:
    X, y, A, _, utility = simulated()
    constraint = UtilityParity(0.005, utility="care", reference="pairwise")
    frame = pd.DataFrame(utility, columns=["care_0", "care_1"])
    clf = eq.FairClassifier(LogisticRegression(), constraint)
    clf.fit(X, y, sensitive_features=A, utilities=frame)
    h = clf.predict_proba(X)[:, 1]
    got = (1 - h) * utility[:, 0] + h * utility[:, 1]
    assert abs(got[A == 0].mean() - got[A == 1].mean()) <= 0.005 + 1e-7


def test_uncertain_groups_and_utilities_are_split_by_cross_validation(routing) -> None:
    X, y, _, guess, utility = simulated(300)
    constraint = UtilityParity(0.05, utility="utility") & eq.DemographicParity(0.05)
    clf = eq.FairClassifier(LogisticRegression(), constraint)
    clf.set_fit_request(sensitive_features=True, utilities=True)
    params = {"sensitive_features": eq.Probabilities(guess), "utilities": utility}
    cv = KFold(3)
    scores = cross_validate(
        clf, X, y, params=params, cv=cv, error_score="raise", return_estimator=True
    )
    for (train, _), fitted_clf in zip(cv.split(X), scores["estimator"], strict=True):
        h = fitted_clf.predict_proba(X[train])[:, 1]
        members = guess[train]
        rates = h @ members / members.sum(axis=0)
        assert np.abs(rates - h.mean()).max() <= 0.05 + 1e-7
    search = GridSearchCV(clf, {"constraint__1__eps": [0.01, 0.1]}, cv=cv, error_score="raise")
    search.fit(X, y, **params)
    assert search.best_params_.keys() == {"constraint__1__eps"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.5, 0.6]], "row 0 sums to 1.1, and 1 rows"),
        ([[1.2, -0.2]], "row 0 is"),
        ([0.5, 0.5], "1 dimensions"),
    ],
)
def test_bad_probabilities(table, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        eq.Probabilities(table)


def test_two_uncertain_features_need_their_joint_probabilities() -> None:
    X, y, _, guess, _ = simulated()
    both = {"sex": eq.Probabilities(guess), "race": eq.Probabilities(guess)}
    with pytest.raises(ValueError, match="probabilities of their combinations"):
        eq.FairClassifier(LogisticRegression(), eq.DemographicParity()).fit(
            X, y, sensitive_features=both
        )


@pytest.mark.parametrize(
    ("utilities", "message"),
    [
        (pd.DataFrame({"care_0": [0.0] * 400}), "'care_0' without its partner"),
        (np.full((400, 2), 3.0), "values from 3.0 to 3.0"),
        (np.zeros((399, 2)), "utilities has 399"),
    ],
)
def test_bad_utilities(utilities, message: str) -> None:
    X, y, A, _, _ = simulated()
    with pytest.raises(ValueError, match=message):
        eq.FairClassifier(LogisticRegression(), UtilityParity(utility="utility")).fit(
            X, y, sensitive_features=A, utilities=utilities
        )


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(6))
def test_two_constraints_with_a_learner_are_certified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 1000
    A = {"sex": rng.choice(["F", "M"], n), "race": rng.choice(["b", "w"], n, p=[0.2, 0.8])}
    X = rng.normal(size=(n, 3)) + np.column_stack([A["sex"] == "M", A["race"] == "w", np.zeros(n)])
    y = (X.sum(axis=1) + rng.normal(size=n) > 1.2).astype(int)
    both = eq.DemographicParity(0.02, on="sex") & eq.EqualOpportunity(0.05, on="race")
    clf = eq.FairClassifier(LogisticRegression(), both).fit(X, y, sensitive_features=A)
    assert clf.certificate_.is_optimal()
    h = clf.predict_proba(X)[:, 1]
    assert abs(h[A["sex"] == "F"].mean() - h.mean()) <= 0.02 + 1e-7
    good = y == 1
    assert abs(h[good & (A["race"] == "b")].mean() - h[good].mean()) <= 0.05 + 1e-7


# The best tau of mixtures may be met by none of the single classifiers of a grid search.
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize("estimator", [eq.ExponentiatedGradient, eq.GridSearch])
def test_other_estimators_take_the_same_constraints(estimator) -> None:
    X, y, A, _, utility = simulated()
    constraint = UtilityParity(0.05, utility="utility") & TreatmentEquality(0.05)
    clf = estimator(LogisticRegression(), constraint, constraint_weights=False)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    clf.fit(X, y, sensitive_features=A, utilities=utility, sample_weight=weight)
    assert clf.predict(X).shape == y.shape


@pytest.mark.parametrize("estimator", [eq.ExponentiatedGradient, eq.GridSearch])
def test_only_the_fair_classifier_finds_a_level(estimator) -> None:
    X, y, A, _, _ = simulated()
    with pytest.raises(TypeError, match="Use FairClassifier, or BoundedGroupError"):
        estimator(LogisticRegression(), eq.MinimaxGroupError()).fit(X, y, sensitive_features=A)


def test_minimax_with_a_learner_beats_the_unconstrained_worst_group() -> None:
    X, y, A, _, _ = simulated(1000)
    flip = (A == 1) & (np.random.default_rng(2).uniform(size=1000) < 0.25)
    y = np.where(flip, 1 - y, y)
    free = LogisticRegression().fit(X, y).predict(X)
    clf = eq.FairClassifier(LogisticRegression(), eq.MinimaxGroupError())
    h = clf.fit(X, y, sensitive_features=A).predict_proba(X)[:, 1]
    both = (A == 0, A == 1)
    worst = max(np.abs(h - y)[group].mean() for group in both)
    assert worst <= max((free != y)[group].mean() for group in both) + 1e-9
    assert worst == pytest.approx(clf.certificate_.worst_rate[1], abs=1e-6)
    assert "worst group" in str(clf.certificate_)


@pytest.mark.parametrize("refused", [PredictiveParity, Calibration])
def test_what_is_not_linear_is_refused(refused) -> None:
    with pytest.raises(ValueError, match="require the event to depend on h"):
        refused(eps=0.02)
