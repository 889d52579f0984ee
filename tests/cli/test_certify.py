"""certify: the exit code says whether a bound is exceeded beyond its interval."""

import numpy as np
import pytest
from hiring import COLUMNS, make_table, write_table


def test_the_data_of_the_fit_pass(run, model, data):
    ran = run("certify", model, data)
    assert ran.code == 0
    assert "No bound is exceeded beyond its 95% interval." in ran.out


def test_other_people_fail_beyond_the_interval_only(run, model, data):
    """Women of far less skill are selected far less often than the bound allows."""
    new = make_table(3000, seed=1)
    women = np.array(new["sex"]) == "F"
    new["skill"] = (np.array(new["skill"]) - 3 * women).tolist()
    write_table(new, data.parent / "new.csv")
    ran = run("certify", model, "new.csv", "--json")
    assert ran.code == 1
    assert ran.json["exceeded"] is True
    run("predict", model, "new.csv", "-o", "out.parquet")
    import pyarrow.parquet

    selected = np.array(pyarrow.parquet.read_table("out.parquet")["probability"])
    gap = selected.mean() - selected[women].mean()
    below = next(r for r in ran.json["measured"]["rows"] if r["text"].endswith("F below overall"))
    assert below["excess"][0] == pytest.approx(gap - 0.05, abs=1e-9)
    assert below["excess"][1] > 0
    assert below["people"] == women.sum()
    assert below["verdict"] == "EXCEEDED"

    ran = run("certify", model, "new.csv", "--json", "--min-people", 5000)
    assert ran.code == 0
    verdicts = {row["text"]: row["verdict"] for row in ran.json["measured"]["rows"]}
    assert verdicts[below["text"]] == "exceeded, too few people to tell"


def test_a_frontier_is_certified_at_a_bound(run, frontier, data):
    assert run("certify", frontier, data).code == 2
    assert run("certify", frontier, data, "--eps", 0.2).code == 0


def test_labels_and_groups_of_the_new_data_are_checked(run, model, data):
    new = make_table(100, seed=1)
    for columns, message in [
        (new | {"hired": ["maybe"] * 100}, "has the label 'maybe'"),
        (new | {"sex": [None, *new["sex"][1:]]}, "--drop-missing"),
    ]:
        write_table(columns, data.parent / "new.csv")
        ran = run("certify", model, "new.csv")
        assert ran.code == 2
        assert message in ran.err
    assert run("certify", model, "new.csv", "--drop-missing").code == 0


def without(columns, name):
    return {key: values for key, values in columns.items() if key != name}


@pytest.mark.parametrize("labels", ["absent", "empty", "one"])
def test_demographic_parity_needs_no_labels(run, model, data, labels):
    new = make_table(600, seed=1)
    write_table(new, data.parent / "new.csv")
    full = run("certify", model, "new.csv", "--json").json
    other = {"empty": [None] * 600, "one": ["no"] * 600}
    changed = without(new, "hired") | ({} if labels == "absent" else {"hired": other[labels]})
    write_table(changed, data.parent / "bare.csv")
    ran = run("certify", model, "bare.csv", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["labels"] is (labels == "one")
    for row, expected in zip(ran.json["measured"]["rows"], full["measured"]["rows"], strict=True):
        assert row["excess"] == pytest.approx(expected["excess"], abs=1e-12)
        assert row["verdict"] == expected["verdict"]
    rates = {group["group"]: group["rates"] for group in ran.json["groups"]}["F"]
    before = {group["group"]: group["rates"] for group in full["groups"]}["F"]
    assert rates["selection_rate"] == pytest.approx(before["selection_rate"], abs=1e-12)
    assert rates["true_positive_rate"] == [None, None, None]
    if labels != "one":
        assert ran.json["measured"]["error"] == [None, None, None]
        assert "has no labels" in ran.err


def test_equalized_odds_needs_labels_and_a_month_with_one_is_no_error(run, data):
    assert run("fit", data, *COLUMNS, "--constraint", "eo", "--eps", 0.3).code == 0
    new = make_table(600, seed=1)
    write_table(without(new, "hired"), data.parent / "bare.csv")
    ran = run("certify", "model.equipoise", "bare.csv")
    assert ran.code == 2
    assert "bare.csv has no column 'hired'" in ran.err
    write_table(new | {"hired": ["no"] * 600}, data.parent / "one.csv")
    ran = run("certify", "model.equipoise", "one.csv", "--json")
    assert ran.code == 0
    told = {row["text"]: row["verdict"] for row in ran.json["measured"]["rows"]}
    assert all("label 0" in text for text, word in told.items() if word != "not known")


def test_min_size_leaves_small_groups_out(run, data):
    columns = make_table()
    columns["sex"] = ["X" if at < 40 else sex for at, sex in enumerate(columns["sex"])]
    write_table(columns, data)
    assert run("fit", data, *COLUMNS, "--eps", 0.3).code == 0
    ran = run("certify", "model.equipoise", data, "--json")
    assert any(": X " in row["text"] for row in ran.json["measured"]["rows"])
    ran = run("certify", "model.equipoise", data, "--json", "--min-size", 50)
    assert not any(": X " in row["text"] for row in ran.json["measured"]["rows"])
    # Without X two of six bounds are not looked at, and that is said.
    write_table({name: values[40:] for name, values in columns.items()}, data)
    ran = run("certify", "model.equipoise", data)
    assert "No bound of the 4 looked at is exceeded" in ran.out
    assert "; 2 are suppressed or not known." in ran.out
    assert ran.err.count("nobody of the people measured belongs to X") == 1


def test_models_of_other_types_need_trust(run, data):
    (data.parent / "strange_learner.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "class Strange(LogisticRegression):\n    pass\n"
    )
    assert run("fit", data, *COLUMNS, "--learner", "strange_learner:Strange").code == 0
    ran = run("certify", "model.equipoise", data)
    assert ran.code == 2
    assert "strange_learner.Strange" in ran.err
    trusted = ("--trust", "strange_learner.Strange")
    assert run("certify", "model.equipoise", data, *trusted).code == 0


def test_people_learned_from_are_counted(run, model, data):
    ran = run("certify", model, data)  # 480 of the 600 were learned from
    assert "Measured on 600 people (480 of them were learned from" in ran.out
    assert "held out" not in ran.out
    assert "--held-out FILE" in ran.err
    write_table(make_table(300, seed=1), data.parent / "new.csv")
    ran = run("certify", model, "new.csv", "--json")
    assert ran.json["learned_from"]["high"] == 0
    assert "people held out" in run("certify", model, "new.csv").out


def test_one_group_alone_is_not_a_pass(run, model, data):
    """Nothing was compared: an exit code of its own, and no word of a bound that is met."""
    new = make_table(600, seed=1)
    women = [n for n, sex in enumerate(new["sex"]) if sex == "F"]
    write_table({k: [v[n] for n in women] for k, v in new.items()}, data.parent / "women.csv")
    ran = run("certify", model, "women.csv")
    assert ran.code == 4
    assert "NOTHING WAS COMPARED" in ran.out
    assert "belongs to M" in ran.err
    ran = run("certify", model, "women.csv", "--json")
    assert ran.code == 4
    assert ran.json["compared"] is False
    assert {row["verdict"] for row in ran.json["measured"]["rows"]} == {"not known"}


def test_small_groups_are_suppressed(run, model, data):
    new = make_table(600, seed=1)
    men = [n for n, sex in enumerate(new["sex"]) if sex == "M"]
    few = [n for n in range(600) if n not in men[8:]]  # eight men
    write_table({k: [v[n] for n in few] for k, v in new.items()}, data.parent / "few.csv")
    ran = run("certify", model, "few.csv", "--json")
    counts = {group["group"]: group["count"] for group in ran.json["groups"]}
    assert counts == {"overall": len(few), "F": None, "M": None}
    shown = run("certify", model, "few.csv", "--json", "--suppress-below", 5)
    assert {group["group"]: group["count"] for group in shown.json["groups"]}["M"] == 8


def test_suppressed_groups_count_for_the_exit_code(run, model, data):
    """Three people hide their group, and with it a group of 32 that is always selected."""
    known, new = make_table(), make_table(35, seed=1)
    new["sex"], new["skill"] = ["A"] * 32 + ["X"] * 3, [9.0] * 35
    write_table({name: 2 * known[name] + new[name] for name in known}, data.parent / "new.csv")
    ran = run("certify", model, "new.csv", "--json")
    measured = ran.json["measured"]
    assert all("A " not in row["text"] for row in measured["rows"])
    assert {row["verdict"] for row in measured["rows"]} <= {"met", "exceeded, perhaps by chance"}
    assert (measured["hidden"], measured["hidden_certain"]) == (4, 1)
    assert ran.json["exceeded"] is True
    assert ran.code == 1
    ran = run("certify", model, "new.csv")
    assert "beyond chance: 1." in ran.out
    assert "EXCEEDED: 1 of 8 bounds" in ran.out
    assert run("certify", model, "new.csv", "--min-people", 100).code == 0


def test_a_table_without_groups_is_told_what_it_has(run, model, data):
    (data.parent / "other.csv").write_text("a;b\n1;2\n")
    ran = run("certify", model, "other.csv")
    assert ran.code == 2
    assert "other.csv has no column 'sex'" in ran.err
    assert ran.err.rstrip().endswith("It has: a, b.")
