"""People whose group is missing, and numbers compared without bins."""

import numpy as np
import pytest
from hiring import COLUMNS, make_table, write_table


@pytest.fixture
def hidden(data):
    """Hide the sex of some people; return the table and who is hidden."""
    columns = make_table()
    gone = np.random.default_rng(5).random(len(columns["sex"])) < 0.3
    columns["sex"] = [None if hide else sex for sex, hide in zip(columns["sex"], gone, strict=True)]
    write_table(columns, data)
    return columns, gone


def test_the_error_names_the_choice(run, data, hidden):
    ran = run("fit", data, *COLUMNS, "--eps", 0.2)
    assert ran.code == 2
    assert "--missing-groups ignore" in ran.err
    ran = run("audit", data, *COLUMNS[:4], "--missing-groups", "drop")
    assert ran.code == 2
    assert "expected 'error', or 'ignore'" in ran.err


def test_audit_bounds_rates_by_hand(run, data, hidden):
    columns, gone = hidden
    ran = run("audit", data, *COLUMNS[:4], "--missing-groups", "ignore", "--json")
    assert ran.code == 0, ran.err
    good, sex = np.array(columns["hired"]) == "yes", np.array(columns["sex"], dtype=object)
    shown = {row["group"]: row for row in ran.json["groups"]}
    assert shown["overall"]["count"] == (~gone).sum()
    for group in ("F", "M"):
        mine = sex == group
        k, n, yes, no = good[mine].sum(), mine.sum(), good[gone].sum(), (~good[gone]).sum()
        assert shown[group]["rates"]["base_rate"][0] == pytest.approx(k / n)
        worst = (k / (n + no), (k + yes) / (n + yes))
        assert shown[group]["worst"]["base_rate"] == pytest.approx(worst)
        low, high = shown[group]["within_odds"]["base_rate"]
        assert worst[0] < low < k / n < high < worst[1]
    gap = abs(good[sex == "M"].mean() - good[sex == "F"].mean())
    found = ran.json["disparities"]["demographic_parity_difference"][0]
    assert found == pytest.approx(gap)


def test_commands_without_the_choice_do_not_offer_it(run, model, data, hidden):
    ran = run("certify", model, data)
    assert ran.code == 2
    assert "leave these rows out with --drop-missing" in ran.err
    assert "The model was fitted without --missing-groups ignore" in ran.err
    assert "Or count these people" not in ran.err


def test_a_model_remembers_it(run, data, hidden):
    columns, _gone = hidden
    ran = run("fit", data, *COLUMNS, "--eps", 0.1, "--missing-groups", "ignore")
    assert ran.code == 0, ran.err
    assert "of the people is unknown" in ran.err
    ran = run("certify", "model.equipoise", data, "--json")
    assert ran.code == 0, ran.err
    shown = {row["group"]: row["count"] for row in ran.json["groups"]}
    sex = np.array(columns["sex"], dtype=object)
    assert (shown["F"], shown["M"]) == ((sex == "F").sum(), (sex == "M").sum())
    assert any("is unknown" in text for text in ran.json["remarks"])
    assert run("report", "model.equipoise", data, "-o", "page.html").code == 0
    assert "is unknown" in (data.parent / "page.html").read_text(encoding="utf-8")


def test_a_number_is_compared_at_every_threshold(run, data):
    by_age = ("--label", "hired", "--sensitive", "age", "--drop-missing", "--exclude", "person")
    ran = run("fit", data, *by_age, "--constraint", "distribution", "--eps", 0.1, "--json")
    assert ran.code == 0, ran.err
    assert "--bins" not in ran.err
    ran = run("fit", data, *by_age, "--constraint", "distribution", "--min-size", 5, "--force")
    assert ran.code == 2
    assert "leave --min-size out" in ran.err
