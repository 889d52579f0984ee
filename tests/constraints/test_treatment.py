"""Treatment equality, with tau given and with tau to be found."""

from __future__ import annotations

import warnings

import by_hand
import pytest
from by_hand import Crowd, random_crowd
from definitions import SOLVER, assert_optimal, assert_same, crowds
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome

from equipoise.constraints import TreatmentEquality
from equipoise.exceptions import InfeasibleWarning


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
