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


def test_the_terminal_shows_everybody_and_files_leave_the_few_out(run, data):
    columns = make_table()
    columns["sex"][:3] = ["X"] * 3
    write_table(columns, data)
    shown = run("audit", data, *COLUMNS[:4])
    for group in "FMX":
        assert f"sex: {group}" in shown.out
    assert "X (3) has fewer than 30 people" in shown.err
    ran = run("audit", data, *COLUMNS[:4], "--json", "--page", "audit.html")
    page = (data.parent / "audit.html").read_text(encoding="utf-8")
    left_out = "People in groups of fewer than 10 are left out of every number here"
    assert ran.json["left_out"].startswith(left_out)
    assert left_out in page
    for text in (json.dumps(ran.json), page):
        assert "X (3)" not in text
    counts = {row["group"]: row["count"] for row in ran.json["groups"]}
    sex = columns["sex"]
    assert counts == {"overall": 597, "F": sex.count("F"), "M": sex.count("M")}
    hired = [label for label, group in zip(columns["hired"], sex, strict=True) if group != "X"]
    assert ran.json["data"]["base_rate"] == pytest.approx(hired.count("yes") / 597)
    assert (ran.json["rows"], ran.json["data"]["rows"]) == (597, 597)
    # The two large groups are compared as if nobody else were there.
    difference = ran.json["disparities"]["demographic_parity_difference"][0]
    rates = {row["group"]: row["rates"]["base_rate"][0] for row in ran.json["groups"]}
    assert difference == pytest.approx(rates["M"] - rates["F"])
    everybody = run("audit", data, *COLUMNS[:4], "--json", "--suppress-below", 0).json
    assert {row["group"] for row in everybody["groups"]} == {"overall", "F", "M", "X"}
    assert everybody["left_out"] == ""


def test_a_larger_disparity_of_few_people_is_said_without_their_name(run, data):
    columns = make_table(2000)
    columns["sex"][:9], columns["hired"][:9] = ["X"] * 9, ["yes"] * 9
    columns["hired"] = ["yes" if at < 9 or at % 50 == 0 else "no" for at in range(2000)]
    write_table(columns, data)
    assert "X (9)" in run("audit", data, *COLUMNS[:4]).out
    ran = run("audit", data, *COLUMNS[:4], "--json")
    between = ran.json["between"]["demographic_parity_difference"]
    assert between.endswith("; more for a group of fewer than 10 people")
    assert "X" not in between


def test_a_cell_without_a_number_says_why(run, data):
    """Nobody of X has the label, and with one other group left nothing can be compared."""
    columns = make_table()
    columns["sex"] = ["X"] * 3 + ["M"] * 597
    columns["hired"][:3] = ["no"] * 3
    columns["decided"] = columns["hired"]
    write_table(columns, data)
    out = run("audit", data, *COLUMNS[:4], "--prediction", "decided").out
    row = next(line for line in out.splitlines() if "sex: X" in line)
    assert "nobody" in row
    ran = run("audit", data, *COLUMNS[:4], "--json")
    assert ran.json["disparities"]["demographic_parity_difference"] == [None, None, None]
    assert "no two groups could be compared" in json.dumps(ran.json["between"])


def test_a_limit_below_zero_is_refused(run, data):
    ran = run("audit", data, *COLUMNS[:4], "--suppress-below", -1)
    assert ran.code == 2
    assert "Invalid value for '--suppress-below'" in ran.err


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
