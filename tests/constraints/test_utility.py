"""Utilities of people and of cells, against raw arrays."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
from by_hand import Crowd, Kind, random_crowd
from definitions import assert_optimal, assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of

from equipoise.constraints import UtilityParity


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
