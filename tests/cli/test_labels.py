"""Commands on a table with three labels: rates and decisions again from raw arrays."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from people import three_labels

import equipoise

FIT = ("--label", "grade", "--sensitive", "group", "--oracle", "plugin", "--cv", "2")
NAMES = ("low", "mid", "top")


@pytest.fixture
def grades(tmp_path):
    X, y, group = three_labels(240)
    table = {"one": X[:, 0], "two": X[:, 1], "grade": y, "group": group, "id": np.arange(240)}
    pa.csv.write_csv(pa.table(table), tmp_path / "grades.csv")
    return table


@pytest.fixture
def fitted(run, grades):
    run("fit", "grades.csv", *FIT, "--exclude", "id", "--eps", 0.1, "--test-size", 0, "-o", "m.eq")
    return "m.eq"


def read(path):
    return {name: np.array(values) for name, values in pa.csv.read_csv(path).to_pydict().items()}


def test_audit_tells_every_label(run, grades):
    told = run("audit", "grades.csv", *FIT[:4], "--json").json
    assert told["data"]["labels"] == list(NAMES)
    for group in told["groups"]:
        who = (grades["group"] == group["group"]) | (group["feature"] == "")
        for name in NAMES:
            share = (grades["grade"] == name)[who].mean()
            assert group["rates"][f"base_rate[{name}]"][0] == pytest.approx(share)
    rates = [(grades["grade"] == "top")[grades["group"] == a].mean() for a in "ab"]
    found = told["disparities"]["demographic_parity_difference[top]"][0]
    assert found == pytest.approx(abs(rates[0] - rates[1]))
    text = run("audit", "grades.csv", *FIT[:4], "--page", "page.html").out
    assert "decision mid" in text


def test_rates_of_few_people_of_a_label_are_shown_of_groups_of_many(run, grades, tmp_path):
    """Three of the group b have the label top: b is no group of few, and nobody is a victim."""
    grade, group = grades["grade"], grades["group"].astype(object)
    group[np.flatnonzero((group == "b") & (grade == "top"))[3:]] = "a"
    decided = np.roll(grade, 1)
    table = {**grades, "group": group.astype(str), "decided": decided}
    pa.csv.write_csv(pa.table(table), tmp_path / "few.csv")
    told = run("audit", "few.csv", *FIT[:4], "--prediction", "decided", "--json").json
    rates = {row["group"]: row["rates"] for row in told["groups"]}
    assert set(rates) == {"overall", "a", "b"}
    inside = (group == "b") & (grade == "top")
    assert rates["b"]["true_positive_rate[top]"][0] == pytest.approx(
        (decided[inside] == "top").mean()
    )
    assert told["disparities"]["equalized_odds_difference[top]"][0] is not None


def test_a_label_of_a_handful_is_noted(run, grades, tmp_path):
    grade = np.array(grades["grade"], dtype="<U4")
    grade[[3, 30, 60]] = "rare"
    pa.csv.write_csv(pa.table({**grades, "grade": grade}), tmp_path / "few.csv")
    said = "fewer than 30 people have the label 'rare'"
    told = run("audit", "few.csv", *FIT[:4], "--json").json
    shares = dict(zip(told["data"]["labels"], told["data"]["base_rate"], strict=True))
    assert shares["rare"] == pytest.approx(3 / len(grade))
    assert said in " ".join(told["notes"])
    given = (*FIT, "--exclude", "id", "--eps", 0.2, "--test-size", 0, "--json", "-o", "m.eq")
    told = run("fit", "few.csv", *given).json
    assert sum(said in text for text in told["notes"]) == 1
    assert run("audit", "grades.csv", *FIT[:4], "--json").json["notes"] == []
    alone = np.where(np.arange(240) == grades["group"].tolist().index("a"), "rare", grades["grade"])
    pa.csv.write_csv(pa.table({**grades, "grade": alone}), tmp_path / "one.csv")
    decided = run("audit", "one.csv", *FIT[:4], "--prediction", "grade").err
    assert "b with label rare: its true_positive_rate cannot be measured" in decided
    assert "with label 1" not in decided


@pytest.mark.parametrize("constraint", ["four-fifths", "fpr", "treatment"])
def test_constraints_of_one_decision_ask_for_the_option(run, grades, constraint):
    ran = run("fit", "grades.csv", *FIT, "--constraint", constraint, "-o", "m.eq")
    assert ran.code == 2
    assert "there are 3: 'low', 'mid', 'top'" in ran.err
    assert "--positive 'top'" in ran.err
    assert "positive=" not in ran.err


def test_fit_predict_certify_and_select(run, grades, fitted, tmp_path):
    ran = run("predict", fitted, "grades.csv", "--id", "id", "-o", "d.csv", "--json")
    decided = read(tmp_path / "d.csv")
    counts = {name: int((decided["decision"] == name).sum()) for name in NAMES}
    assert ran.json["selected"] == counts
    model = equipoise.load(tmp_path / fitted)
    X = pa.table({"one": grades["one"], "two": grades["two"]})
    pmf = np.column_stack([decided[f"probability of {name}"] for name in NAMES])
    np.testing.assert_allclose(pmf, model.predict_proba(X), atol=1e-9)
    told = run("certify", fitted, "grades.csv", "--json").json
    of_groups = [pmf[grades["group"] == one].mean(axis=0) for one in "ab"]
    gap = np.abs(np.array(of_groups) - pmf.mean(axis=0)).max()
    assert told["measured"]["disparity"][0] == pytest.approx(gap, abs=1e-6)
    assert {row["before"] for row in told["switched"]} <= {*NAMES, None}
    ran = run("select", fitted, "grades.csv", "-k", 20, "--decision", "top", "-o", "s.csv")
    assert ran.code == 0
    chosen = read(tmp_path / "s.csv")["decision"]
    assert (chosen == "top").sum() == 20
    assert set(chosen) == {"top", "not top"}
    ran = run("select", fitted, "grades.csv", "-k", 20, "-o", "t.csv")
    assert ran.code == 2
    assert "no --decision is given; expected the one of 'low', 'mid', 'top'" in ran.err
    assert run("report", fitted, "grades.csv", "-o", "r.html").code == 0
    assert "Get mid" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_frontier_of_one_decision(run, grades):
    given = (*FIT, "--exclude", "id", "--decisions", "top", "--test-size", 0.3, "--json")
    told = run("frontier", "grades.csv", *given, "--bounds", "0.05,0.2", "-o", "f.eq").json
    rows = told["points"][0]["measured"][0]["rows"]
    assert all("of decision top" in row["text"] for row in rows)
    assert run("at", "f.eq", "--eps", 0.05, "-o", "m.eq").code == 0
    ran = run("frontier", "grades.csv", *FIT, "--decisions", "best", "-o", "g.eq")
    assert ran.code == 2
    assert "--decisions is 'best', which is no label" in ran.err


def test_with_positive_it_is_one_against_the_rest(run, grades):
    told = run("audit", "grades.csv", *FIT[:4], "--positive", "top", "--json").json
    assert told["data"]["labels"] == ["not top", "top"]
    assert told["data"]["base_rate"] == pytest.approx((grades["grade"] == "top").mean())
