"""Which groups are compared: columns, slices, small and empty groups."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, random_crowd
from definitions import assert_same
from listed import cells_of
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.exceptions import EmptyCellWarning, SmallGroupWarning


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
