"""How many people a proof takes: against simulated proofs of a classifier with known rates."""

import numpy as np
import pytest

from equipoise.constraints import BoundedGroupError, DemographicParity, EqualizedOdds
from equipoise.guarantees.exact_test import exact_p, score_p
from equipoise.guarantees.people_needed import people_needed

PAIR = np.array([1.0, -1.0])


@pytest.mark.parametrize(
    ("eps", "rate", "share"),
    [(0.05, 0.0, 0.1), (0.05, 0.01, 0.1), (0.05, 0.02, 0.5), (0.01, 0.005, 0.5), (0.06, 0.3, 0.4)],
)
def test_as_many_proofs_succeed_as_promised(eps, rate, share):
    """By the exact test on counts, of groups and rates for which standard errors are no guide."""
    rule = DemographicParity(eps, reference="pairwise")
    needed = people_needed(rule, {"F": share, "M": 1 - share}, rate)
    n = np.round(needed.proof_people * np.array([share, 1 - share])).astype(int)
    counts, times = np.unique(
        np.random.default_rng(0).binomial(n, rate, (200, 2)), axis=0, return_counts=True
    )
    proven = [
        all(score_p(x, n, a, eps) < 0.1 and exact_p(x, n, a, eps) <= 0.05 for a in (PAIR, -PAIR))
        for x in counts
    ]
    share_proven = times[proven].sum() / 200
    assert 0.72 <= share_proven <= (1.0 if rate < 0.005 else 0.95)


def test_nobody_selected_takes_59_people_of_the_smaller_group():
    """0.95 to the power of 59 is below 0.05, and not before."""
    needed = people_needed(DemographicParity(0.05, reference="pairwise"), {"F": 1, "M": 1}, 0.0)
    assert 58.5 <= needed.limiting_people <= 61


def test_twice_the_bound_takes_a_quarter_of_the_people():
    counts = {"F": (300, 200), "M": (400, 100)}
    small, large = (
        people_needed(EqualizedOdds(eps, reference="pairwise"), counts, 0.3) for eps in (0.05, 0.1)
    )
    assert small.people / large.people == pytest.approx(4, rel=0.12)
    assert small.limiting_people / small.proof_people == pytest.approx(0.1, rel=0.01)
    assert "label 1" in small.limiting
    assert small.factor == pytest.approx(small.people / 1000)
    assert small.fewest == "people of M with label 1"
    assert " more), " in str(small)
    assert "people of M with label 1 in the proof" in str(small)


def test_more_confidence_and_more_power_take_more_people():
    rule, counts = DemographicParity(0.05, reference="pairwise"), {"F": 1, "M": 1}
    usual = people_needed(rule, counts, 0.3).people
    assert people_needed(rule, counts, 0.3, confidence=0.99).people > usual
    assert people_needed(rule, counts, 0.3, power=0.95).people > usual


def test_no_number_is_enough_where_the_bound_is_broken():
    found = people_needed(
        DemographicParity(0.05, reference="pairwise"), {"F": 1, "M": 1}, {"F": 0.2, "M": 0.3}
    )
    assert found.people == np.inf
    assert "No number of people is enough" in str(found)
    assert found.to_dict()["people"] is None


def test_group_errors():
    found = people_needed(
        BoundedGroupError(0.25), {"F": (60, 40), "M": (50, 50)}, {"F": (0.2, 0.8), "M": (0.2, 0.8)}
    )
    assert found.room == pytest.approx(0.05, abs=1e-6)
    assert np.isfinite(found.people)


@pytest.mark.parametrize(
    ("counts", "rates", "words"),
    [
        ({"F": 1, "M": 1}, {"F": 0.3}, "rates has no 'M'"),
        ({"F": 1, "M": 1}, 1.3, "from 0 to 1"),
        ({"F": -1, "M": 1}, 0.3, "expected a number >= 0"),
        ({"F": (1, 2, 3), "M": 1}, 0.3, "label 0 and 1"),
    ],
)
def test_what_is_wrong_is_named(counts, rates, words):
    with pytest.raises(ValueError, match=words):
        people_needed(DemographicParity(0.05, reference="pairwise"), counts, rates)


def test_as_many_people_as_there_are():
    found = people_needed(DemographicParity(0.2, reference="pairwise"), {"F": 9000, "M": 9000}, 0.3)
    assert found.factor < 1
    assert str(found) == "By these rates, a proof succeeds in 80 % of cases with as many people."


def test_probabilities_are_checked():
    with pytest.raises(ValueError, match="confidence is 95"):
        people_needed(DemographicParity(0.05), {"F": 1}, 0.3, confidence=95)
