from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.cells.values import UNKNOWN
from equipoise.rows.bins import bin_names, edges_for, in_bins, quantile_edges, read_bins
from equipoise.rows.people import read_groups


@given(
    st.lists(st.integers(-20, 20), min_size=2, max_size=60).filter(lambda v: len(set(v)) > 1),
    st.integers(2, 8),
)
def test_edges_are_quantiles(values: list[int], bins: int) -> None:
    column = np.array(values, dtype=float)
    found = quantile_edges(*np.unique(column, return_counts=True), bins)
    expected = np.unique(np.quantile(column, np.arange(1, bins) / bins))
    np.testing.assert_allclose(found, expected[expected > column.min()], atol=1e-12)


def test_values_are_put_where_the_edges_say() -> None:
    age = np.array([17, 25, 39.9, 40, 80, np.nan])
    groups, rules = read_groups({"age": age}, 6, "ignore", {"age": [25, 40]})
    assert groups["age"].tolist() == [
        "under 25",
        "25 to under 40",
        "25 to under 40",
        "40 and over",
        "40 and over",
        UNKNOWN,
    ]
    assert rules.bins == {"age": [25.0, 40.0]}
    # Read by the same rules, groups stay what they are.
    again, _ = read_groups(groups, 6, rules.missing, rules.bins)
    assert again["age"].tolist() == groups["age"].tolist()
    assert sorted(set(again["age"][:5])) == bin_names([25, 40])


def test_bins_of_equal_size_leave_the_unknown_out() -> None:
    age = np.array([*range(100), *[None] * 50], dtype=object)
    column = read_groups({"age": age}, 150, "ignore")[0]["age"]
    assert edges_for(column, 4, "age") == np.quantile(np.arange(100), [0.25, 0.5, 0.75]).tolist()


def test_names_of_bins_differ() -> None:
    assert len(set(bin_names([1.00000001, 1.00000002, 1.00000003]))) == 4
    assert bin_names([]) == ["all"]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"age": 1}, "from 2 to 100"),
        ({"age": 101}, "from 2 to 100"),
        ({"age": [40, 25]}, "edges that increase"),
        ({"age": [25, np.inf]}, "edges that increase"),
        ({"age": "four"}, "a number of bins"),
        ({"age": True}, "a number of bins"),
        ({"height": 4}, "names the column 'height'; expected sensitive features: 'age', 'sex'"),
        (4, "expected a column for each, such as bins={'age': 4}"),
    ],
)
def test_bins_that_are_none_are_refused(given: object, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        read_bins(given, ["age", "sex"])


@pytest.mark.parametrize(
    "column", [["a", "b"], [b"x", b"y"], np.array(["2020-01-01"] * 2, "M8[D]")]
)
def test_only_numbers_have_bins(column: object) -> None:
    with pytest.raises(ValueError, match="expected numbers"):
        in_bins(np.asarray(column), [0.5], "age")
