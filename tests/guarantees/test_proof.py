"""The fixed sequence and the words of a proof."""

import json

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.constraints import DemographicParity, rate
from equipoise.guarantees.people_needed import people_needed
from equipoise.guarantees.proof import Proof, walk
from equipoise.guarantees.tested_rows import TestedRows


def test_nothing_after_the_first_failure_is_looked_at():
    p = np.array([[0.01, 0.02], [0.04, 0.03], [0.01, 0.06], [0.0, 0.0]])
    asked = []

    def test(t):
        asked.append(t)
        return p[t]

    found = walk(len(p), test, 0.05)
    assert found.last == 1
    assert asked == [0, 1, 2]
    assert found.reported.tolist() == [0.04, 0.03]


def test_a_first_point_that_fails_proves_nothing():
    found = walk(3, lambda t: np.array([0.2 if t == 0 else 0.0]), 0.05)
    assert found.last == -1
    assert found.reported.tolist() == [0.2]


def test_a_p_value_that_is_not_a_number_proves_nothing():
    assert walk(2, lambda t: np.array([np.nan]), 0.05).last == -1


def proof(regardless=0.0, **more):
    rng = np.random.default_rng(0)
    cells = Cells.from_columns(rng.integers(0, 2, 5000), {"sex": rng.choice(["F", "M"], 5000)})
    rows = TestedRows.of(DemographicParity(0.05, reference="pairwise"), cells.table())
    walked = walk(2, lambda t: np.array([0.01, [0.04, 0.2][t]]), 0.05)
    given = {"confidence": 0.95, "design": "apart", "is_exact": True, "people": 5000} | more
    return Proof.of_walk(rows, walked, [regardless, 0.0], **given)


def test_the_sentence_says_what_is_promised_and_about_whom():
    found = proof()
    assert found.holds
    assert found.p_value == 0.04
    assert found.sentence.startswith(
        "With probability 95 % over the draw of the 5,000 people of the proof, both bounds hold at "
        "0.05 for the population that they come from. The test is exact. Limiting: demographic "
        "parity: F below M by at most 0.05, "
    )
    assert "symptotic" not in found.sentence
    assert found.sentence in found._repr_html_().replace("&#x27;", "'")


def test_the_test_is_named():
    assert "valid at any number of people" in proof(is_exact=False).sentence
    assert "Asymptotic: " in proof(design="forward", is_exact=False).sentence


def test_people_used_before_are_told():
    assert "another proof before" in proof(reused=True).sentence


def test_as_plain_data():
    found = json.loads(json.dumps(proof(fingerprint="ab").to_dict()))
    assert found["holds"] is True
    assert found["fingerprint"] == "ab"
    assert found["text"] == proof().sentence


def test_rows_about_few_people_are_left_out():
    told = proof().to_dict(suppress_below=100_000)
    assert told["limiting"] == ""
    assert "Limiting" not in told["text"]


def test_random_decisions_have_to_be_asked_for():
    found = proof(0.2)
    assert not found.holds
    assert "unless 20 % of decisions are drawn regardless" in str(found)
    assert "fallback='lottery' accepts that" in str(found)
    assert found.point == 1  # the fairest that is no lottery
    assert proof(0.04).holds
    counts = {"F": 2500, "M": 2500}
    few, enough = (
        people_needed(DemographicParity(eps, reference="pairwise"), counts, 0.3)
        for eps in (0.02, 0.1)
    )
    assert few.factor > 1 > enough.factor
    asked = [proof(0.2, needed=needed, most_regardless=0.75) for needed in (few, enough)]
    assert all(one.holds for one in asked)
    assert asked[0].regardless == pytest.approx(0.2)
    assert "With these people that takes 20 % of decisions drawn" in str(asked[0])
    assert f"more people are needed. {few}" in str(asked[0])
    assert "more people are needed" not in str(asked[1])
    kept = asked[0].without_few(10_000)  # as a file keeps it that does not tell small groups apart
    assert "With these people that takes 20 %" in str(kept)
    assert "None" not in str(kept)


def test_a_bound_of_minus_nothing_and_one_person():
    rng = np.random.default_rng(0)
    A = np.append("F", np.full(999, "M"))
    cells = Cells.from_columns(rng.integers(0, 2, 1000), {"group": A}).table()
    rows = TestedRows.of(rate("selection", group="F") >= 0.8 * rate("selection", group="M"), cells)
    walked = walk(1, lambda t: np.array([0.01]), 0.05)
    more = {"design": "apart", "is_exact": True, "people": 1000}
    found = Proof.of_walk(rows, walked, [0.0], confidence=0.95, **more)
    assert "the bound holds at 0 for" in str(found)
    assert str(found).partition("Limiting: ")[2].endswith(", 1 person.")
