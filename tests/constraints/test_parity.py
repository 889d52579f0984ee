"""Parities, their references, forms and combinations, against raw arrays."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, Kind, random_crowd
from definitions import assert_optimal, assert_same, crowds
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of

import equipoise as eq
import equipoise.constraints
from equipoise.constraints import UtilityParity
from equipoise.constraints.base import Constraint

forms = st.fixed_dictionaries(
    {
        "reference": st.sampled_from(["overall", "pairwise"]),
        "ratio": st.sampled_from([1.0, 0.9, 0.8]),
        "how": st.sampled_from(["intersections", "margins", "both"]),
    }
)


def made(name: str, eps: float, reference: str, ratio: float, how: str) -> Constraint:
    return getattr(equipoise.constraints, name)(eps, reference=reference, ratio=ratio, groups=how)


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
        & getattr(equipoise.constraints, second)(0.05, on=on, reference="overall", ratio=1.0)
        & eq.SelectionRate(at_most=cap)
    )
    expected = (
        by_hand.parity(crowd, PARITIES[first], 0.1)
        | by_hand.parity(crowd, PARITIES[second], 0.05, on=on)
        | by_hand.selection_rate(crowd, None, cap)
    )
    assert_optimal(constraint, crowd, expected)


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
