"""Every entry, reference, form and combination, against definitions written from raw arrays."""

from __future__ import annotations

import pickle
import warnings

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, Inequalities, Kind, random_crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome
from numpy.testing import assert_allclose
from sklearn.base import clone

import equipoise as eq
from equipoise.constraints import (
    BoundedGroupLoss,
    Calibration,
    Constraint,
    ErrorRateParity,
    PredictiveParity,
    TreatmentEquality,
    TruePositiveRateParity,
    UtilityParity,
)
from equipoise.constraints.base import Constraint
from equipoise.exceptions import EmptyCellWarning, InfeasibleWarning, SmallGroupWarning

SOLVER = 1e-6

crowds = st.builds(
    random_crowd,
    st.integers(0, 10**6),
    columns=st.integers(1, 2),
    n_groups=st.integers(2, 3),
    control=st.booleans(),
    weighted=st.booleans(),
    counts=st.sampled_from(["both", "error"]),
    soft=st.booleans(),
)
forms = st.fixed_dictionaries(
    {
        "reference": st.sampled_from(["overall", "pairwise"]),
        "ratio": st.sampled_from([1.0, 0.9, 0.8]),
        "how": st.sampled_from(["intersections", "margins", "both"]),
    }
)


def made(name: str, eps: float, reference: str, ratio: float, how: str) -> Constraint:
    return getattr(eq, name)(eps, reference=reference, ratio=ratio, groups=how)


def assert_same(constraint: Constraint, crowd: Crowd, expected: Inequalities) -> None:
    """The compiled M mu <= c has these inequalities and no others."""
    cells = cells_of(crowd)
    moments = constraint.moments(cells)
    gamma = np.array([moments.M @ moments.mu(cells.sum(h)) for h in crowd.H])
    assert len({str(row) for row in moments.rows}) == len(moments.rows)
    for k, row in enumerate(moments.rows):
        value, bound = expected[str(row)]
        assert_allclose(gamma[:, k], value, rtol=0, atol=1e-12, err_msg=str(row))
        assert moments.c[k] == bound
    pairs = any("pairwise" in str(v) for v in constraint.get_params().values())
    assert len(moments.rows) == (len(expected) // 2 if pairs else len(expected))


def assert_optimal(
    constraint: Constraint, crowd: Crowd, expected: Inequalities, nu: float = 1e-4
) -> None:
    """The fit has the error of the brute-force LP, or of the one with the least slack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        clf = fitted(crowd, constraint, nu=nu)
    best, slack = by_hand.least_error(crowd.error(), expected), 0.0
    if best is None:
        slack = by_hand.least_slack(expected)
        assert clf.certificate_.least_slack == pytest.approx(slack, abs=nu)
        best = by_hand.least_error(crowd.error(), expected, clf.certificate_.least_slack + 1e-8)
        assert best is not None
    # At the least slack there is little room, and the error is sensitive to the solver's own.
    leeway = nu + SOLVER if slack == 0 else 1e-3
    assert clf.certificate_.error == pytest.approx(best.value, abs=leeway)
    assert clf.certificate_.lower <= best.value + (SOLVER if slack == 0 else leeway)
    assert outcome(clf, crowd).error()[0] == pytest.approx(clf.certificate_.error, abs=1e-9)


# --- the compiled constraints ---------------------------------------------------------------------


@pytest.mark.parametrize("name", PARITIES)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(crowd=crowds, form=forms, eps=st.floats(0, 0.3))
def test_parities_compile_to_their_definitions(name: str, crowd: Crowd, form, eps: float) -> None:
    expected = by_hand.parity(crowd, PARITIES[name], eps, **form)
    assert_same(made(name, eps, **form), crowd, expected)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6), ratio=st.sampled_from([1.0, 0.8]), name=st.sampled_from([*PARITIES])
)
def test_a_group_can_be_the_reference(seed: int, ratio: float, name: str) -> None:
    crowd = random_crowd(seed, n_groups=3, control=True)
    form = {"reference": "b", "ratio": ratio}
    expected = by_hand.parity(crowd, PARITIES[name], 0.05, **form)
    assert_same(made(name, 0.05, how="intersections", **form), crowd, expected)


def test_constraints_on_one_of_several_columns() -> None:
    crowd = random_crowd(1, columns=2, weighted=True)
    for on in ("sex", "race", ["race"], ["race", "sex"]):
        expected = by_hand.parity(crowd, PARITIES["EqualizedOdds"], 0.05, on=on)
        assert_same(eq.EqualizedOdds(0.05, on=on), crowd, expected)


def test_slices_are_groups_without_their_complements() -> None:
    crowd = random_crowd(2, columns=3, slices=True)
    expected = by_hand.parity(crowd, PARITIES["DemographicParity"], 0.05, how="slices")
    assert set(expected) == {
        f"demographic parity: {name} {side} overall"
        for name in crowd.columns
        for side in ("above", "below")
    }
    assert_same(eq.DemographicParity(0.05, groups="slices"), crowd, expected)


def test_slices_must_be_yes_or_no() -> None:
    with pytest.raises(ValueError, match="'sex' has the values 'a', 'b'"):
        eq.DemographicParity(groups="slices").moments(cells_of(random_crowd(2)))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(crowd=crowds, tau=st.floats(0.1, 4), how=st.sampled_from(["intersections", "both"]))
def test_treatment_equality_compiles_to_its_definition(crowd: Crowd, tau: float, how: str) -> None:
    expected = by_hand.treatment(crowd, tau, 0.02, how)
    assert_same(TreatmentEquality(0.02, tau=tau, groups=how), crowd, expected)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(crowd=crowds, how=st.sampled_from(["intersections", "margins", "both"]))
def test_group_error_compiles_to_its_definition(crowd: Crowd, how: str) -> None:
    expected = by_hand.group_error(crowd, 0.3, "bounded group error", how)
    assert_same(eq.BoundedGroupError(0.3, groups=how), crowd, expected)
    expected = by_hand.group_error(crowd, 0.0, "worst group error", how)
    assert_same(eq.MinimaxGroupError(groups=how), crowd, expected)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(crowd=crowds, group=st.sampled_from([None, "each"]), floor=st.booleans())
def test_selection_rate_compiles_to_its_definition(crowd: Crowd, group, floor: bool) -> None:
    at_least = 0.2 if floor else None
    expected = by_hand.selection_rate(crowd, at_least, 0.6, group)
    assert_same(eq.SelectionRate(at_least, 0.6, group=group), crowd, expected)


def test_selection_rate_of_one_group() -> None:
    crowd = random_crowd(0)
    expected = by_hand.selection_rate(crowd, 0.2, None, "a")
    assert_same(eq.SelectionRate(0.2, group="a"), crowd, expected)
    with pytest.raises(ValueError, match="group='z' is neither None, 'each' nor a group"):
        eq.SelectionRate(0.2, group="z").moments(cells_of(crowd))


@pytest.mark.parametrize("labels", [None, (1,), (0, 1)])
@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    soft=st.booleans(),
    counts=st.sampled_from(["both", "error"]),
)
def test_personal_utilities(labels, seed: int, weighted: bool, soft: bool, counts: str) -> None:
    crowd = random_crowd(seed, weighted=weighted, counts=counts, soft=soft, utility=True, columns=2)
    kind = Kind("utility parity", by_hand.personal, labels or (None,))
    expected = by_hand.parity(crowd, kind, 0.05, reference="pairwise")
    constraint = UtilityParity(0.05, utility="utility", labels=labels, reference="pairwise")
    assert_same(constraint, crowd, expected)


@pytest.mark.parametrize("table", [[[0, 1], [0.3, 0.9]], [[1, 0.5], [0.25, 0]]])
def test_utilities_of_cells(table: list) -> None:
    crowd = random_crowd(5, weighted=True, control=True)
    g = np.array(table)

    def value(crowd: Crowd) -> np.ndarray:
        return (1 - crowd.H) * g[crowd.y, 0] + crowd.H * g[crowd.y, 1]

    expected = by_hand.parity(crowd, Kind("utility parity", value, (None,)), 0.05)
    assert_same(UtilityParity(0.05, utility=table), crowd, expected)
    by_function = UtilityParity(0.05, utility=lambda a, y, h: g[y, h])
    assert_same(by_function, crowd, expected)


def test_utilities_must_be_within_zero_and_one() -> None:
    with pytest.raises(ValueError, match=r"values from 0\.0 to 2\.0; expected numbers in"):
        UtilityParity(utility=[[0, 1], [0, 2]]).moments(cells_of(random_crowd(0)))


# --- eps -----------------------------------------------------------------------------------------


def test_eps_by_group() -> None:
    crowd = random_crowd(3, n_groups=3)
    eps = {"a": 0.01, "b": 0.02, "c": 0.03}
    for reference in ("overall", "pairwise", "b"):
        expected = by_hand.parity(
            crowd,
            PARITIES["DemographicParity"],
            lambda words, a, b: min(eps[g] for g in (a, b) if g in eps),
            reference=reference,
        )
        assert_same(eq.DemographicParity(eps, reference=reference), crowd, expected)


def test_eps_by_event_and_by_both() -> None:
    crowd = random_crowd(3, control=True)
    eps = {"label=1": 0.01, ("a", "label=1"): 0.02, "old, label=0": 0.03, "else": 0.04}

    def by_event(words: str, a: str, b: str) -> float:
        if "label 1" in words:
            return 0.02 if a == "a" else 0.01
        return 0.03 if "old" in words else 0.04

    expected = by_hand.parity(crowd, PARITIES["EqualizedOdds"], by_event)
    assert_same(eq.EqualizedOdds(eps), crowd, expected)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_eps_by_row(kind) -> None:
    cells = cells_of(random_crowd(3))
    moments = eq.EqualizedOdds(kind([0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08])).moments(
        cells
    )
    assert moments.c.tolist() == [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]


@pytest.mark.parametrize(
    ("eps", "message"),
    [
        (-0.1, "eps of DemographicParity is -0.1"),
        (float("nan"), "is nan"),
        ("0.1", "is '0.1'"),
        ({"a": -1, "b": 0}, "is -1 for 'a'"),
        ({"a": 0.1}, "says nothing about 'b'.*'else'"),
        ({"a": 0.1, "b": 0.1, "z": 0.1}, "entry for 'z', which is no group or event"),
        ([0.1, 0.1], "2 entries for 4 rows"),
        ([0.1] * 5, "5 entries for 4 rows"),
    ],
)
def test_bad_eps_is_named(eps, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        eq.DemographicParity(eps).moments(cells_of(random_crowd(0)))


# --- small groups --------------------------------------------------------------------------------


def uneven() -> Crowd:
    rng = np.random.default_rng(0)
    race = np.repeat(["big", "mid", "tiny", "wee"], [30, 12, 4, 3])
    return Crowd(y=np.arange(49) % 2, H=rng.integers(0, 2, (4, 49)) * 1.0, columns={"race": race})


def test_small_groups_are_left_out_with_a_warning() -> None:
    with pytest.warns(SmallGroupWarning, match=r"tiny \(4\), wee \(3\); left unconstrained"):
        moments = eq.DemographicParity(min_size=10).moments(cells_of(uneven()))
    assert {row.group for row in moments.rows} == {"big", "mid"}


def test_small_groups_are_merged_with_a_warning() -> None:
    crowd = uneven()
    with pytest.warns(SmallGroupWarning, match=r"tiny \(4\), wee \(3\); merged into"):
        moments = eq.DemographicParity(min_size=5, small="merge").moments(cells_of(crowd))
    merged = {
        name: "rest" if name in ("tiny", "wee") else name for name in ("big", "mid", "tiny", "wee")
    }
    renamed = np.array([merged[name] for name in crowd.columns["race"]])
    expected = by_hand.parity(
        Crowd(crowd.y, crowd.H, {"race": renamed}), PARITIES["DemographicParity"], 0.01
    )
    cells = cells_of(crowd)
    for k, row in enumerate(moments.rows):
        words = str(row).replace("small groups together", "rest")
        gamma = [(moments.M @ moments.mu(cells.sum(h)))[k] for h in crowd.H]
        assert_allclose(gamma, expected[words][0], atol=1e-12)


def test_too_few_even_together() -> None:
    with pytest.warns(SmallGroupWarning, match="even together they are too few"):
        moments = eq.DemographicParity(min_size=8, small="merge").moments(cells_of(uneven()))
    assert {row.group for row in moments.rows} == {"big", "mid"}


def test_size_counts_within_the_event() -> None:
    # 12 people of "mid" are 6 with each label.
    with pytest.warns(SmallGroupWarning) as caught:
        moments = eq.EqualizedOdds(min_size=7).moments(cells_of(uneven()))
    assert len(caught) == 2
    assert {row.group for row in moments.rows} == {"big"}


def test_empty_groups_are_named() -> None:
    crowd = uneven()
    y = np.where(crowd.columns["race"] == "wee", 0, crowd.y)
    with pytest.warns(EmptyCellWarning, match="nobody in the data belongs to 'wee' given label 1"):
        eq.EqualOpportunity().moments(cells_of(Crowd(y, crowd.H, crowd.columns)))


@pytest.mark.parametrize(("name", "value"), [("min_size", 0), ("min_size", 2.5), ("small", "hide")])
def test_bad_group_parameters(name: str, value) -> None:
    with pytest.raises(ValueError, match=f"{name} of DemographicParity is {value!r}"):
        eq.DemographicParity(**{name: value}).moments(cells_of(random_crowd(0)))


# --- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARITIES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(crowd=crowds, form=forms, eps=st.sampled_from([0.02, 0.05, 0.1, 0.2]))
def test_parities_are_solved_to_optimality(name: str, crowd: Crowd, form, eps: float) -> None:
    expected = by_hand.parity(crowd, PARITIES[name], eps, **form)
    assert_optimal(made(name, eps, **form), crowd, expected)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    crowd=crowds,
    first=st.sampled_from([*PARITIES]),
    second=st.sampled_from([*PARITIES]),
    on=st.sampled_from([None, "last"]),
    cap=st.sampled_from([0.5, 0.7, 1.0]),
)
def test_combinations_are_solved_to_optimality(crowd, first, second, on, cap) -> None:
    on = [*crowd.columns][-1] if on and crowd.columns else None
    constraint = (
        made(first, 0.1, "overall", 1.0, "intersections")
        & getattr(eq, second)(0.05, on=on, reference="overall", ratio=1.0)
        & eq.SelectionRate(at_most=cap)
    )
    expected = (
        by_hand.parity(crowd, PARITIES[first], 0.1)
        | by_hand.parity(crowd, PARITIES[second], 0.05, on=on)
        | by_hand.selection_rate(crowd, None, cap)
    )
    assert_optimal(constraint, crowd, expected)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(crowd=crowds, tau=st.sampled_from([0.5, 1.0, 2.0]), eps=st.sampled_from([0.02, 0.1]))
def test_treatment_equality_is_solved_to_optimality(crowd: Crowd, tau: float, eps: float) -> None:
    expected = by_hand.treatment(crowd, tau, eps)
    assert_optimal(TreatmentEquality(eps, tau=tau), crowd, expected)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(crowd=crowds, bound=st.sampled_from([0.2, 0.3, 0.4]))
def test_bounded_group_error_is_solved_to_optimality(crowd: Crowd, bound: float) -> None:
    expected = by_hand.group_error(crowd, bound, "bounded group error")
    assert_optimal(eq.BoundedGroupError(bound), crowd, expected)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    soft=st.booleans(),
    counts=st.sampled_from(["both", "error"]),
)
def test_personal_utilities_are_solved_to_optimality(seed, weighted, soft, counts) -> None:
    crowd = random_crowd(seed, weighted=weighted, counts=counts, soft=soft, utility=True, columns=2)
    kind = Kind("utility parity", by_hand.personal, (None,))
    expected = by_hand.parity(crowd, kind, 0.03)
    assert_optimal(UtilityParity(0.03, utility="utility"), crowd, expected)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(crowd=crowds, parity=st.booleans())
def test_minimax_group_error_is_the_least_worst(crowd: Crowd, parity: bool) -> None:
    rows = by_hand.group_error(crowd, 0.0, "worst group error")
    constraint: Constraint = eq.MinimaxGroupError()
    hard: Inequalities = {}
    if parity:
        hard = by_hand.parity(crowd, PARITIES["DemographicParity"], 0.1)
        constraint = eq.DemographicParity(0.1) & constraint
        if by_hand.least_error(crowd.error(), hard) is None:
            return
    directions = np.array([[0.0]] * len(hard) + [[1.0]] * len(rows))
    level = by_hand.least_slack(hard | rows, directions)
    clf = fitted(crowd, constraint, nu=1e-4)
    assert clf.certificate_.feasible
    low, high = clf.certificate_.level
    assert low - SOLVER <= level <= high + SOLVER
    assert high - low <= 1e-4
    # The classifier is at that level, and among those the one of least overall error.
    after = outcome(clf, crowd)
    worst = max(v[0] for v, _ in by_hand.group_error(after, 0, "worst group error").values())
    assert worst == pytest.approx(level, abs=1e-4)
    loosen = np.append(np.zeros(len(hard)), np.full(len(rows), high)) + 1e-8
    best = by_hand.least_error(crowd.error(), hard | rows, loosen)
    assert after.error()[0] == pytest.approx(best.value, abs=1e-3)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_tau_is_found_without_more_error_than_any_other(seed: int, weighted: bool) -> None:
    crowd = random_crowd(seed, weighted=weighted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        clf = fitted(crowd, TreatmentEquality(0.02))
    tau = clf.constraint_.tau
    assert clf.constraint.tau is None
    if not clf.certificate_.feasible:
        return
    for value, bound in by_hand.treatment(outcome(clf, crowd), tau, 0.02).values():
        assert value[0] <= bound + SOLVER
    pool = by_hand.least_error(crowd.error(), by_hand.treatment(crowd, tau, 0.02))
    assert clf.certificate_.error == pytest.approx(pool.value, abs=2e-4)


def test_tau_beats_a_fixed_one() -> None:
    gains = []
    for seed in range(8):
        crowd = random_crowd(seed, n=60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfeasibleWarning)
            found, fixed = (fitted(crowd, TreatmentEquality(0.02, tau=t)) for t in (None, 1.0))
        if found.certificate_.feasible and fixed.certificate_.feasible:
            gains.append(fixed.certificate_.error - found.certificate_.error)
    assert len(gains) >= 4
    assert min(gains) >= -2e-3
    assert max(gains) > 0.005


def test_an_open_tau_cannot_be_compiled() -> None:
    with pytest.raises(ValueError, match="tau of TreatmentEquality is open"):
        TreatmentEquality().moments(cells_of(random_crowd(0)))
    with pytest.raises(ValueError, match="tau of TreatmentEquality is -1"):
        TreatmentEquality(tau=-1).moments(cells_of(random_crowd(0)))


# --- names and habits ----------------------------------------------------------------------------


def test_names_of_fairlearn() -> None:
    assert TruePositiveRateParity is eq.EqualOpportunity
    assert ErrorRateParity is eq.AccuracyEquality
    assert BoundedGroupLoss is eq.BoundedGroupError


@pytest.mark.parametrize("refused", [PredictiveParity, Calibration])
def test_what_is_not_linear_is_refused(refused) -> None:
    with pytest.raises(ValueError, match="require the event to depend on h"):
        refused(eps=0.02)


ENTRIES = [
    *(getattr(eq, name)(0.03, min_size=2) for name in PARITIES),
    UtilityParity(0.03, utility=[[0, 1], [1, 0]]),
    TreatmentEquality(0.03, tau=1.5),
    eq.BoundedGroupError({"a": 0.3, "b": 0.4}),
    eq.MinimaxGroupError(on="sex"),
    eq.SelectionRate(0.1, 0.5, group="a"),
    eq.DemographicParity(0.02) & eq.EqualOpportunity(0.05, on="sex"),
    Constraint.from_moments([None], [[0, 1], [0, 1]], [[1.0]], [0.5]),
    eq.rate("tpr", sex="a") - eq.rate("tpr", sex="b") <= 0.02,
]


@pytest.mark.parametrize("constraint", ENTRIES, ids=lambda c: type(c).__name__)
def test_entries_can_be_cloned_pickled_and_shown(constraint: Constraint) -> None:
    cells = cells_of(random_crowd(0, n=60))
    moments = constraint.moments(cells)
    for copy in (clone(constraint), pickle.loads(pickle.dumps(constraint))):
        again = copy.moments(cells)
        assert again.rows == moments.rows
        assert_allclose(again.M @ again.U, moments.M @ moments.U)
        assert again.c.tolist() == moments.c.tolist()
        assert repr(copy) == repr(constraint)


def test_parameters_are_reached_through_the_estimator() -> None:
    constraint = eq.DemographicParity(0.02) & eq.EqualOpportunity(0.05)
    clf = eq.FairClassifier(None, constraint).set_params(constraint__1__eps=0.1)
    assert clf.get_params()["constraint__1__eps"] == 0.1
    assert clf.constraint.moments(cells_of(random_crowd(0))).c.tolist() == [0.02] * 4 + [0.1] * 4
    with pytest.raises(ValueError, match="FourFifthsRule has no parameter 'epsilon'"):
        eq.FourFifthsRule().set_params(epsilon=0.1)


def test_a_constraint_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="Write a & b"):
        eq.DemographicParity() and eq.EqualizedOdds()


@pytest.mark.parametrize("name", PARITIES)
def test_every_entry_says_what_it_asks_and_when_it_fits(name: str) -> None:
    text = getattr(eq, name).__doc__
    assert "``" in text
    assert ">>>" in text


def test_every_public_constraint_has_a_docstring_with_formula_names_and_use() -> None:
    for name in eq.__all__:
        entry = getattr(eq, name)
        is_constraint = isinstance(entry, type) and issubclass(entry, Constraint)
        if is_constraint and entry is not Constraint:
            for part in ("``", "Other names", "Parameters", ">>>"):
                assert part in entry.__doc__, (name, part)
