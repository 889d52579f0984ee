"""How many people a proof takes: against simulated proofs of a classifier with known rates."""

import numpy as np
import pytest

from equipoise.cells.table import CellTable
from equipoise.constraints import BoundedGroupError, DemographicParity, EqualizedOdds
from equipoise.guarantees.people_needed import people_needed
from equipoise.guarantees.tested_rows import TestedRows


def test_as_many_proofs_succeed_as_promised():
    """A fit leaves no gap among its own people; the gap in the population is its noise."""
    rule = DemographicParity(0.06, reference="pairwise")
    needed = people_needed(rule, {"F": 0.4, "M": 0.6}, 0.3)
    half = needed.people / 2
    n = np.round(half * np.array([0.4, 0.6])).astype(int)
    rng, found = np.random.default_rng(0), 0
    for _ in range(2000):
        fit = rng.binomial(n, 0.3) / n
        truth = 0.3 + (0.3 - fit)  # moved so that the fit measures equal rates
        table, _ = CellTable.from_sums([0, 0], {"g": ["F", "M"]}, {}, count=n.astype(float))
        s = rng.binomial(n, truth) / n.sum()
        found += TestedRows.of(rule, table).p_values(s[None]).max() <= 0.05
    assert 0.75 < found / 2000 < 0.85


def test_twice_the_bound_takes_a_quarter_of_the_people():
    counts = {"F": (300, 200), "M": (400, 100)}
    small, large = (
        people_needed(EqualizedOdds(eps, reference="pairwise"), counts, 0.3) for eps in (0.05, 0.1)
    )
    assert small.people / large.people == pytest.approx(4, rel=0.01)
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


def test_probabilities_are_checked():
    with pytest.raises(ValueError, match="confidence is 95"):
        people_needed(DemographicParity(0.05), {"F": 1}, 0.3, confidence=95)
