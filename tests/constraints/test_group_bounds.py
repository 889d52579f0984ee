"""Group errors and selection rates held to a number, against raw arrays."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, Inequalities, random_crowd
from definitions import SOLVER, assert_optimal, assert_same, crowds
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome

import equipoise as eq
from equipoise.constraints.base import Constraint


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
