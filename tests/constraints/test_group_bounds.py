"""Group errors and selection rates held to a number, against raw arrays."""

from __future__ import annotations

import warnings

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, Inequalities, random_crowd
from definitions import SOLVER, assert_optimal, assert_same, crowds
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome

import equipoise as eq
from equipoise.constraints import TreatmentEquality
from equipoise.constraints.base import Constraint
from equipoise.exceptions import InfeasibleWarning


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


@settings(max_examples=40, deadline=None, derandomize=True)
@given(crowd=crowds, bound=st.sampled_from([0.2, 0.3, 0.4]))
def test_bounded_group_error_is_solved_to_optimality(crowd: Crowd, bound: float) -> None:
    expected = by_hand.group_error(crowd, bound, "bounded group error")
    assert_optimal(eq.BoundedGroupError(bound), crowd, expected)


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
    low, high = clf.certificate_.worst_rate
    assert low - SOLVER <= level <= high + SOLVER
    assert high - low <= 1e-4
    # The classifier is at that level, and among those the one of least overall error.
    after = outcome(clf, crowd)
    worst = max(v[0] for v, _ in by_hand.group_error(after, 0, "worst group error").values())
    assert worst == pytest.approx(level, abs=1e-4)
    loosen = np.append(np.zeros(len(hard)), np.full(len(rows), high)) + 1e-8
    best = by_hand.least_error(crowd.error(), hard | rows, loosen)
    assert after.error()[0] == pytest.approx(best.value, abs=1e-3)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(crowd=crowds, tau=st.floats(0.1, 4), how=st.sampled_from(["intersections", "both"]))
def test_treatment_equality_compiles_to_its_definition(crowd: Crowd, tau: float, how: str) -> None:
    expected = by_hand.treatment(crowd, tau, 0.02, how)
    assert_same(TreatmentEquality(0.02, tau=tau, groups=how), crowd, expected)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(crowd=crowds, tau=st.sampled_from([0.5, 1.0, 2.0]), eps=st.sampled_from([0.02, 0.1]))
def test_treatment_equality_is_solved_to_optimality(crowd: Crowd, tau: float, eps: float) -> None:
    expected = by_hand.treatment(crowd, tau, eps)
    assert_optimal(TreatmentEquality(eps, tau=tau), crowd, expected)


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
