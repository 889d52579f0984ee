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
    assert below["verdict"] == "exceeded"


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
    assert "; 2 are not known." in ran.out
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


def test_the_terminal_shows_everybody_and_json_leaves_the_few_out(run, model, data):
    new = make_table(600, seed=1)
    men = [n for n, sex in enumerate(new["sex"]) if sex == "M"]
    few = [n for n in range(600) if n not in men[8:]]  # eight men
    write_table({k: [v[n] for n in few] for k, v in new.items()}, data.parent / "few.csv")
    ran = run("certify", model, "few.csv")
    assert "sex: M" in ran.out
    assert "M (8) has fewer than 30 people" in ran.err
    told = run("certify", model, "few.csv", "--json").json
    women = len(few) - 8
    counts = {group["group"]: group["count"] for group in told["groups"]}
    assert counts == {"overall": women, "F": women}
    assert told["measured"]["people"] == women
    assert told["left_out"].startswith("People in groups of fewer than 10 are left out")
    shown = run("certify", model, "few.csv", "--json", "--suppress-below", 5).json
    assert {group["group"]: group["count"] for group in shown["groups"]}["M"] == 8
    assert shown["left_out"] == ""


def with_always_selected(people):
    """600 people, and some of group A who are always selected."""
    known, new = make_table(), make_table(people, seed=1)
    new["sex"], new["skill"] = ["A"] * people, [9.0] * people
    return {name: 3 * known[name] + new[name] for name in known}


@pytest.mark.parametrize("people", [8, 15, 40])
def test_terminal_json_card_and_exit_code_give_one_verdict(run, model, data, people):
    """However few the people: an interval above the bound is exceeded."""
    write_table(with_always_selected(people), data.parent / "new.csv")
    ran = run("certify", model, "new.csv")
    told = run("certify", model, "new.csv", "--json")
    assert run("report", model, "new.csv", "--card", "card.md", "--force").code == 0
    card = (data.parent / "card.md").read_text()
    assert (ran.code, told.code, told.json["exceeded"]) == (1, 1, True)
    line = next(line for line in ran.out.splitlines() if "A above overall" in line)
    evidence = f"exceeded, on the evidence of {people} people"
    assert (evidence in line) is (people < 30)
    assert "EXCEEDED: 1 of 6 bounds" in ran.out
    if people < 10:
        assert told.json["exceeded_rows"] == ["a group of fewer than 10 people"]
        assert told.json["verdict"] == "exceeded, on the evidence of fewer than 10 people"
        assert not any("A " in row["text"] for row in told.json["measured"]["rows"])
        assert evidence not in card
    else:
        (row,) = told.json["exceeded_rows"]
        assert row.endswith("A above overall")
    assert f"The bound is {told.json['verdict']}." in card
    assert told.json["measured"]["verdict"] == told.json["verdict"]


def test_a_table_without_groups_is_told_what_it_has(run, model, data):
    (data.parent / "other.csv").write_text("a;b\n1;2\n")
    ran = run("certify", model, "other.csv")
    assert ran.code == 2
    assert "other.csv has no column 'sex'" in ran.err
    assert ran.err.rstrip().endswith("It has: a, b.")
