"""audit: rates and disparities of labels, and of predictions in a column."""

import numpy as np
import pytest
from hiring import make_table, write_table

COLUMNS = ("--label", "hired", "--sensitive", "sex")


def rates(columns, decided):
    sex = np.array(columns["sex"])
    return {group: decided[sex == group].mean() for group in ("F", "M")}


def test_labels(run, data):
    ran = run("audit", data, *COLUMNS, "--json")
    assert ran.code == 0
    columns = make_table()
    good = np.array(columns["hired"]) == "yes"
    by_group = rates(columns, good)
    gap = by_group["M"] - by_group["F"]
    found = ran.json["disparities"]
    estimate, low, high = found["demographic_parity_difference"]
    assert estimate == pytest.approx(gap)
    assert low < gap < high
    assert found["demographic_parity_ratio"][0] == pytest.approx(by_group["F"] / by_group["M"])
    assert "equalized_odds_difference" not in found
    shown = {row["group"]: row for row in ran.json["groups"]}
    assert shown["F"]["rates"]["base_rate"][0] == pytest.approx(by_group["F"])


@pytest.mark.parametrize("kind", ["labels", "probabilities"])
def test_predictions(run, data, kind):
    columns = make_table()
    skill, good = np.array(columns["skill"]), np.array(columns["hired"]) == "yes"
    decided = (skill > 1).astype(float) if kind == "labels" else 1 / (1 + np.exp(-skill))
    shown = np.where(skill > 1, "yes", "no") if kind == "labels" else decided
    write_table(columns | {"said": shown.tolist()}, data)
    found = run("audit", data, *COLUMNS, "--prediction", "said", "--json").json["disparities"]
    sex = np.array(columns["sex"])
    gaps = [
        abs(decided[(sex == "M") & (good == y)].mean() - decided[(sex == "F") & (good == y)].mean())
        for y in (True, False)
    ]
    assert found["equalized_odds_difference"][0] == pytest.approx(max(gaps), abs=1e-6)
    assert found["equal_opportunity_difference"][0] == pytest.approx(gaps[0], abs=1e-6)


def test_a_table_for_people(run, data):
    ran = run("audit", data, *COLUMNS)
    assert "sex: F" in ran.out
    assert "smallest ratio of selection rates" in ran.out


def test_predictions_that_are_none_are_refused(run, data):
    ran = run("audit", data, *COLUMNS, "--prediction", "age")
    assert ran.code == 2
    assert "'age' is missing" in ran.err
    ran = run("audit", data, *COLUMNS, "--prediction", "skill")
    assert "probabilities from 0 to 1" in ran.err


def test_a_page(run, data):
    assert run("audit", data, *COLUMNS, "--page", "audit.html").code == 0
    page = (data.parent / "audit.html").read_text(encoding="utf-8")
    assert "Audit of hired in people.csv" in page
    assert "smallest ratio of selection rates" in page
