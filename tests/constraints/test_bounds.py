"""eps as a number, a mapping and a list."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, random_crowd
from definitions import assert_same
from listed import cells_of

import equipoise as eq


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
