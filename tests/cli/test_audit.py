"""audit: rates and disparities of labels, and of predictions in a column."""

import json

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


def test_a_few_people_make_no_headline(run, data):
    columns = make_table()
    for name, values in columns.items():
        columns[name] = values + values[:12]
    columns["sex"][-12:] = ["X"] * 12
    columns["hired"][-12:] = ["yes"] * 7 + ["no"] * 5
    write_table(columns, data)
    sex, good = np.array(columns["sex"]), np.array(columns["hired"]) == "yes"
    rate = {group: good[sex == group].mean() for group in ("F", "M", "X")}
    ran = run("audit", data, *COLUMNS, "--json", "--page", "audit.html")
    found, between = ran.json["disparities"], ran.json["between"]
    assert rate["X"] - rate["F"] > rate["M"] - rate["F"]
    assert found["demographic_parity_difference"][0] == pytest.approx(rate["M"] - rate["F"])
    counts = {group: (sex == group).sum() for group in rate}
    named = f"M ({counts['M']}) and F ({counts['F']})"
    assert between["demographic_parity_difference"] == named
    other = ran.json["by_estimate"]["demographic_parity_difference"]
    assert other.startswith(f"{rate['X'] - rate['F']:.4f} [")
    assert other.endswith(f"between X (12) and F ({counts['F']})")
    assert "X (12) has fewer than 30 people" in ran.err
    page = (data.parent / "audit.html").read_text(encoding="utf-8")
    first = page[: page.index('id="audit"')]
    assert named in first
    assert other in first.replace("&#39;", "'")
    text = run("audit", data, *COLUMNS).out
    assert f"by the estimate alone: {other}" in text


def test_sizes_that_are_suppressed_are_not_told_by_disparities(run, data):
    columns = make_table()
    columns["sex"][:3] = ["X"] * 3
    write_table(columns, data)
    ran = run("audit", data, *COLUMNS, "--json", "--page", "audit.html")
    page = (data.parent / "audit.html").read_text(encoding="utf-8")
    for text in (json.dumps(ran.json), page, ran.err):
        assert "X (3)" not in text
    assert "X" not in json.dumps([ran.json["between"], ran.json["by_estimate"]])  # nor its rate
    columns["sex"] = ["X"] * 3 + ["M"] * 597
    write_table(columns, data)
    ran = run("audit", data, *COLUMNS, "--json")
    assert ran.json["disparities"]["demographic_parity_difference"] == [None, None, None]
    assert "people are suppressed" in ran.err


def test_disparities_of_suppressed_groups_would_give_others_away(run, data):
    columns = make_table()
    columns["sex"][:3] = ["X"] * 3  # so that another group is suppressed too
    write_table(columns, data)
    ran = run("audit", data, *COLUMNS[:4], "--json")
    shown = {row["group"] for row in ran.json["groups"] if row["count"] is not None}
    assert len(shown & {"F", "M", "X"}) == 1
    assert ran.json["disparities"]["demographic_parity_difference"] == [None, None, None]
    assert "To see all groups here: --suppress-below 0" in ran.err
    ran = run("audit", data, *COLUMNS[:4], "--suppress-below", 0, "--json")
    assert None not in ran.json["disparities"]["demographic_parity_difference"]


def test_a_month_with_one_label(run, data):
    columns = make_table()
    columns["decision"] = columns["hired"]
    write_table(columns | {"hired": ["no"] * 600}, data)
    ran = run("audit", data, *COLUMNS[:4])
    assert ran.code == 2
    assert "'hired' is 'no' in every row" in ran.err
    assert "Say with --positive which label is the favourable one." in ran.err
    given = (*COLUMNS[:4], "--positive", "yes", "--prediction", "decision", "--json")
    ran = run("audit", data, *given)
    assert ran.code == 0, ran.err
    sex, yes = np.array(columns["sex"]), np.array(columns["decision"]) == "yes"
    apart = yes[sex == "M"].mean() - yes[sex == "F"].mean()
    assert ran.json["disparities"]["demographic_parity_difference"][0] == pytest.approx(apart)
    ran = run("fit", data, *COLUMNS, "--positive", "yes")
    assert "'hired' is 'no' in every row; expected two labels." in ran.err


def test_numbers_are_no_labels(run, data):
    ran = run("audit", data, "--label", "skill", "--sensitive", "sex")
    assert "Numbers are predicted by fit and frontier, with --task regression." in ran.err
