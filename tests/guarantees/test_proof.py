"""The fixed sequence and the words of a proof."""

import json

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.constraints import DemographicParity, rate
from equipoise.guarantees.people_needed import people_needed
from equipoise.guarantees.proof import Decided, Proof, walk
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


def proof(**more):
    rng = np.random.default_rng(0)
    cells = Cells.from_columns(rng.integers(0, 2, 5000), {"sex": rng.choice(["F", "M"], 5000)})
    rows = TestedRows.of(DemographicParity(0.05, reference="pairwise"), cells.table())
    walked = walk(2, lambda t: np.array([0.01, [0.04, 0.2][t]]), 0.05)
    reach = np.array([[0.0, 1.0], [0.0, 1.0]])
    reach[0] = more.pop("reach", (0.0, 1.0))
    decided = Decided(np.zeros((2, rows.cells.n_cells)), reach)
    given = {"confidence": 0.95, "design": "apart"} | more
    return Proof.of_walk(rows, walked, decided, **given)


def test_the_sentence_says_what_is_promised_and_about_whom():
    found = proof()
    assert found.holds
    assert found.p_value == 0.04
    assert found.sentence.startswith(
        "With probability 95 % over the draw of the 5,000 people of the proof, both bounds hold at "
        "0.05 for the population that they come from. Limiting: demographic parity: F below M by "
        "at most 0.05, "
    )
    assert "symptotic" not in found.sentence
    assert found.sentence in found._repr_html_().replace("&#x27;", "'")


@pytest.mark.parametrize("design", ["cross_fit", "margin"])
def test_asymptotic_designs_say_so(design):
    found = proof(design=design)
    assert found.method == "asymptotic"
    assert "Asymptotic: " in found.sentence


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


def test_decisions_by_lot_are_told_with_the_people_who_would_do_without():
    counts = {"F": 2500, "M": 2500}
    few, enough = (
        people_needed(DemographicParity(eps, reference="pairwise"), counts, 0.3)
        for eps in (0.02, 0.1)
    )
    assert few.factor > 1 > enough.factor
    found = [proof(reach=(0.1, 0.9), needed=needed) for needed in (few, enough)]
    assert found[0].regardless == pytest.approx(0.2)
    assert "With so few people that takes 20 % of decisions" in str(found[0])
    assert f"Without them: {few}" in str(found[0])
    assert "With these people that takes 20 %" in str(found[1])
    assert f"Most proofs with as many people do without: {enough}" in str(found[1])
    kept = found[0].without_few(10_000)  # as a file keeps it that does not tell small groups apart
    assert "With these people that takes 20 %" in str(kept)
    assert "None" not in str(kept)


def test_a_bound_of_minus_nothing_and_one_person():
    rng = np.random.default_rng(0)
    A = np.append("F", np.full(999, "M"))
    cells = Cells.from_columns(rng.integers(0, 2, 1000), {"group": A}).table()
    rows = TestedRows.of(rate("selection", group="F") >= 0.8 * rate("selection", group="M"), cells)
    walked = walk(1, lambda t: np.array([0.01]), 0.05)
    decided = Decided(np.zeros((1, cells.n_cells)), np.array([[0.0, 1.0]]))
    found = Proof.of_walk(rows, walked, decided, confidence=0.95, design="apart")
    assert "the bound holds at 0 for" in str(found)
    assert str(found).partition("Limiting: ")[2].endswith(", 1 person.")
