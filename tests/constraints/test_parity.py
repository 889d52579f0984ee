"""Parities, their references, forms and combinations, against raw arrays."""

from __future__ import annotations

import by_hand
import pytest
from by_hand import PARITIES, Crowd, random_crowd
from definitions import assert_optimal, assert_same, crowds
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.constraints.base import Constraint

forms = st.fixed_dictionaries(
    {
        "reference": st.sampled_from(["overall", "pairwise"]),
        "ratio": st.sampled_from([1.0, 0.9, 0.8]),
        "how": st.sampled_from(["intersections", "margins", "both"]),
    }
)


def made(name: str, eps: float, reference: str, ratio: float, how: str) -> Constraint:
    return getattr(eq, name)(eps, reference=reference, ratio=ratio, groups=how)


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
        & getattr(eq, second)(0.05, on=on, reference="overall", ratio=1.0)
        & eq.SelectionRate(at_most=cap)
    )
    expected = (
        by_hand.parity(crowd, PARITIES[first], 0.1)
        | by_hand.parity(crowd, PARITIES[second], 0.05, on=on)
        | by_hand.selection_rate(crowd, None, cap)
    )
    assert_optimal(constraint, crowd, expected)
