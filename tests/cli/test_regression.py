"""Commands on a label that is a number."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from equipoise import load

COLUMNS = ("--label", "income", "--sensitive", "sex", "--task", "regression")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 300)
    skill, town = (sex == "M") + rng.normal(size=300), rng.choice(["Rome", "Oslo"], 300)
    income = 10 * skill + 3 * (town == "Rome") + rng.normal(size=300)
    path = tmp_path_factory.mktemp("numbers") / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sex", "skill", "town", "income"])
        writer.writerows(zip(sex, skill.round(4), town, income.round(4), strict=True))
    return path


def test_fit_predict_report_and_certify(run, people, tmp_path):
    given = ("--eps", "0.2", "--thresholds", "5", "--held-out", "held.csv")
    fitted = run("fit", people, *COLUMNS, *given, "--checkpoint", "kept", "--json")
    assert fitted.code == 0, fitted.err
    assert len(list((tmp_path / "kept").glob("answer-*"))) == 6  # five folds and all rows
    (point,) = fitted.json["points"]
    assert point["status"] == "met"
    assert point["loss"] < fitted.json["constant_loss"]
    assert [group["group"] for group in point["groups"]["test"]] == ["overall", "F", "M"]
    assert load("model.equipoise").constraint_.eps == 0.2
    assert run("predict", "model.equipoise", people, "-o", "out.csv").code == 0
    with open("out.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300
    assert np.isfinite([float(row["prediction"]) + float(row["mean"]) for row in rows]).all()
    assert run("report", "model.equipoise", "--card", "card.md").code == 0
    assert "mean prediction" in (tmp_path / "card.md").read_text("utf-8")
    assert "A fair regressor" in (tmp_path / "model.html").read_text("utf-8")
    held = run("certify", "model.equipoise", "held.csv", "--json")
    told = held.json
    assert held.code == int(told["exceeded"])
    assert told["exceeded"] == (told["low"] > 0.2)
    assert told["low"] <= told["largest"] <= told["high"]
    assert told["people"] == 60
    assert told["learned_from"]["set_apart"]
    assert run("report", "model.equipoise", "held.csv", "-o", "new.html").code == 0
    new = (tmp_path / "new.html").read_text("utf-8")
    assert "Groups of the test data, 60 people held out" in new
    assert load("model.equipoise").people_.digest in new
    assert "Seed: 0" in new
    both = run("certify", "model.equipoise", people)
    assert "demographic parity (--eps 0.2) on people.csv" in both.out
    assert "Measured on 300 people (241 of them were learned from" in both.out
    assert "held out" not in both.out
    assert "--held-out FILE" in both.err


def test_one_group_alone_is_not_a_pass(run, people, tmp_path):
    given = ("--eps", "0.9", "--thresholds", "5", "-o", "wide.equipoise")
    assert run("fit", people, *COLUMNS, *given).code == 0
    lines = people.read_text("utf-8").splitlines()
    (tmp_path / "men.csv").write_text("\n".join([lines[0], *(t for t in lines if t[:2] == "M,")]))
    ran = run("certify", "wide.equipoise", "men.csv")
    assert ran.code == 4
    assert "NOTHING WAS COMPARED" in ran.out
    assert "not exceeded" not in ran.out
    assert "belongs to F" in ran.err
    told = run("certify", "wide.equipoise", "men.csv", "--json").json
    assert (told["compared"], told["exceeded"], told["largest"]) == (False, False, None)


def test_a_frontier_and_a_regressor_picked_from_it(run, people):
    traced = run("frontier", people, *COLUMNS, "--bounds", "0.1,0.3", "--thresholds", "5")
    assert traced.code == 0, traced.err
    assert "largest difference" in traced.out
    picked = run("at", "frontier.equipoise", "--eps", "0.2", "--json")
    assert picked.json["points"][0]["eps"] == 0.2
    assert picked.json["points"][0]["exact"] is None  # it was not traced
    assert run("predict", "frontier.equipoise", people, "--eps", "0.1").out.count("\n") == 301
    refused = run("select", "model.equipoise", people, "-k", "3", "-o", "chosen.csv")
    assert refused.code == 2
    assert "holds a regressor" in refused.err


def test_a_bound_exceeded_beyond_chance_ends_with_code_1(run, people, tmp_path):
    given = (*COLUMNS, "--eps", "0.05", "--thresholds", "5", "--held-out", "held.csv")
    assert run("fit", people, *given, "--test-size", "0.5").code == 0
    header, *rows = (tmp_path / "held.csv").read_text().splitlines()
    columns = header.split(",")
    sex, skill = columns.index("sex"), columns.index("skill")
    told = [row.split(",") for row in rows]
    for row in told:  # now men are far ahead of women
        row[skill] = str(float(row[skill]) + 5.0 * (row[sex] == "M"))
    (tmp_path / "apart.csv").write_text("\n".join([header, *map(",".join, told)]))
    exceeded = run("certify", "model.equipoise", "apart.csv")
    assert exceeded.code == 1
    assert "EXCEEDED, by" in exceeded.out


def test_losses_of_groups(run, people):
    asked = ("--constraint", "group-error", "--eps", "20", "--loss", "absolute")
    fitted = run("fit", people, *COLUMNS, *asked, "--learner", "tree:max_depth=3")
    assert fitted.code == 0, fitted.err
    assert "bounded group loss of income in people.csv, absolute loss" in fitted.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--task", "ranking"), "--task is 'ranking'"),
        ((*COLUMNS[-2:], "--deterministic"), "--deterministic cannot be used with --task"),
        ((*COLUMNS[-2:], "--positive", "3"), "--positive cannot be used"),
        ((*COLUMNS[-2:], "--decisions", "3"), "--decisions cannot be used"),
        ((*COLUMNS[-2:], "--constraint", "eo"), "eo is about labels"),
        ((*COLUMNS[-2:], "--learner", "logistik"), "Known are linear, lightgbm"),
        (("--thresholds", "5"), "are for --task regression"),
        ((), "Numbers are predicted by fit and frontier, with --task regression"),
    ],
)
def test_what_is_refused(run, people, arguments, told):
    refused = run("fit", people, *COLUMNS[:4], *arguments)
    assert refused.code == 2
    assert told in " ".join(refused.err.split())


def test_labels_of_text_are_no_numbers(run, people):
    given = ("--label", "town", "--sensitive", "sex", "--task", "regression")
    ran = run("fit", people, *given)
    assert ran.code == 2
    assert "label 'town' holds values such as" in ran.err
    assert "expected numbers, which is what --task regression predicts" in ran.err
