"""at: a classifier for any bound out of a frontier file."""

from hiring import COLUMNS, make_table, write_table

import equipoise


def test_at_picks_any_bound_without_training(run, data, frontier):
    ran = run("at", frontier, "--eps", 0.03, "--json")
    assert ran.code == 0
    assert ran.json["constraint"] == "DemographicParity(eps=0.03)"
    model = equipoise.load(data.parent / "model.equipoise")
    assert model.certificate_.feasible
    assert run("predict", "model.equipoise", data).code == 0
    assert "expected a frontier" in run("at", "model.equipoise", "--eps", 0.1, "-o", "x").err


def test_a_bound_that_was_not_traced_says_that_nothing_was_searched(run, data):
    trace = ("frontier", data, *COLUMNS, "--bounds", "0.02,0.2", "--no-page", "--max-iter", 3)
    assert run(*trace).code == 0
    model = equipoise.load("frontier.equipoise")
    assert not any(model.at(eps).certificate_.is_optimal() for eps in (0.02, 0.05))
    told = "nothing was searched to close its gap. Trace it: frontier --bounds 0.05"
    assert told in run("at", "frontier.equipoise", "--eps", 0.05, "-o", "a.equipoise").err
    traced = run("at", "frontier.equipoise", "--eps", 0.02, "-o", "b.equipoise")
    assert "nothing was searched" not in traced.err
    columns = make_table()
    columns["sex"][:5] = ["X"] * 5  # few people change nothing about that
    write_table(columns, data)
    assert run(*trace, "--force").code == 0
    assert told in run("at", "frontier.equipoise", "--eps", 0.05, "-o", "c.equipoise").err


def test_a_model_without_evidence_decides_and_nothing_else(run, data):
    columns = make_table()
    columns["sex"][:5] = ["X"] * 5
    write_table(columns, data)
    trace = ("frontier", data, *COLUMNS, "--bounds", "0.2", "--no-page")
    ran = run(*trace)
    assert "frontier.equipoise: the evidence in the file counts people in groups of" in ran.err
    pick = ("at", "frontier.equipoise", "--eps", 0.2)
    ran = run(*pick)
    assert "With --no-evidence it has no certificate, counts nobody" in ran.err
    ran = run(*pick, "--no-evidence", "-o", "bare.equipoise")
    assert ran.code == 0
    assert "in groups of fewer" not in ran.err
    assert run("predict", "bare.equipoise", data, "-o", "bare.csv").code == 0
    assert run("predict", "model.equipoise", data, "-o", "whole.csv").code == 0
    folder = data.parent
    assert (folder / "bare.csv").read_text() == (folder / "whole.csv").read_text()
    state = ("--state", "s.json")
    for command in (("certify",), ("report",), ("monitor",)):
        more = state if command == ("monitor",) else ()
        ran = run(*command, "bare.equipoise", data, *more)
        assert ran.code == 2, ran.err
        assert "without evidence (--no-evidence)" in ran.err


def test_groups_of_few_people_get_a_sentence(run, data):
    columns = make_table()
    columns["sex"][:20] = ["X"] * 20
    write_table(columns, data)
    trace = ("frontier", data, *COLUMNS, "--bounds", "0.1", "--no-page", "--test-size", 0)
    traced = run(*trace)
    before = traced.err[: traced.err.index("Fitting: ")]
    assert "groups of fewer than 30 people are compared like all others" in before
    assert traced.err.count("are compared like all others") == 1
    ran = run("at", "frontier.equipoise", "--eps", 0.1)
    assert "X (20) has fewer than 30 people" in ran.err
