"""monitor: days one after the other, one state file, an exit code of its own from the alarm on."""

import json

import numpy as np
from hiring import COLUMNS, make_table, write_table


def write_day(data, seed, less_skill=0.0, n=400, **changes):
    """A day of people; women may have less skill than those of the fit."""
    new = make_table(n, seed=seed)
    women = np.array(new["sex"]) == "F"
    new["skill"] = (np.array(new["skill"]) - less_skill * women).tolist()
    new = {name: values for name, values in (new | changes).items() if values is not None}
    write_table(new, data.parent / f"day{seed}.csv")
    return f"day{seed}.csv"


def test_the_alarm_has_its_own_code_and_stays(run, model, data):
    ran = run("monitor", model, write_day(data, 1), "--state", "watch.json")
    assert ran.code == 0
    assert "No alarm: 1 day, 400 people" in ran.out
    for seed in range(2, 12):
        day = write_day(data, seed, less_skill=3.0, hired=None)  # no label is needed
        ran = run("monitor", model, day, "--state", "watch.json", "--json")
        if ran.code == 5:
            break
    assert ran.json["alarm"] is True
    (alarm,) = ran.json["alarms"]
    assert (alarm["day"], alarm["people"]) == (seed, 400 * seed)
    assert "F below overall" in alarm["row"]
    evidence = {row["name"]: row["evidence"] for row in ran.json["rows"]}
    assert evidence[alarm["row"]] >= ran.json["run_length"] == 150_000
    assert ran.json["people"] == 400 * seed
    ran = run("monitor", model, write_day(data, 50), "--state", "watch.json")
    assert ran.code == 5
    assert f"ALARM on day {seed}: " in ran.out


def test_the_same_day_twice_is_refused_and_changes_nothing(run, model, data):
    day = write_day(data, 1)
    run("monitor", model, day, "--state", "watch.json")
    before = (data.parent / "watch.json").read_bytes()
    ran = run("monitor", model, day, "--state", "watch.json")
    assert ran.code == 2
    assert "counted before" in ran.err
    assert (data.parent / "watch.json").read_bytes() == before
    ran = run("monitor", model, day, "--state", "watch.json", "--again", "--json")
    assert ran.code == 0
    assert ran.json["days"] == 2


def test_what_was_promised_cannot_change(run, model, data):
    options = ("--state", "watch.json", "--run-length", "5000", "--period", "900")
    assert run("monitor", model, write_day(data, 1), *options, "--detect", "0.03").code == 0
    assert run("monitor", model, write_day(data, 2), *options).code == 0
    ran = run("monitor", model, write_day(data, 3), "--state", "watch.json", "--run-length", "9")
    assert ran.code == 2
    assert "--run-length is 9, but watch.json was begun with 5000" in ran.err
    assert run("monitor", model, write_day(data, 3), *options[:2], "--period", "0").code == 2
    assert run("monitor", model, write_day(data, 3), "--state", "w.json", "--period", "0").code == 2


def test_states_are_checked(run, model, frontier, data):
    day = write_day(data, 1)
    run("monitor", model, day, "--state", "watch.json")
    path = data.parent / "watch.json"
    whole = path.read_text()
    path.write_text(whole.replace('"period": ', '"period": 1', 1))
    ran = run("monitor", model, day, "--state", "watch.json")
    assert ran.code == 2
    assert "damaged" in ran.err
    path.write_text(whole)
    ran = run("monitor", frontier, day, "--eps", "0.2", "--state", "watch.json")
    assert ran.code == 2
    assert "another model" in ran.err
    ran = run("monitor", model, day, "--state", str(model))
    assert ran.code == 2
    assert "no state of a monitor" in ran.err
    ran = run("monitor", model, day, "--state", "nowhere/watch.json")
    assert ran.code == 2
    assert "no folder" in ran.err
    assert json.loads(whole)["days"][0][0] == 400


def test_constraints_on_labels_need_them(run, data):
    options = ("--constraint", "eo", "--eps", "0.1", "-o", "odds.equipoise")
    assert run("fit", data, *COLUMNS, *options).code == 0
    ran = run("monitor", "odds.equipoise", write_day(data, 1, hired=None), "--state", "w.json")
    assert ran.code == 2
    assert "has no column 'hired'" in ran.err
    one_label = write_day(data, 2, hired=["yes"] * 400)
    ran = run("monitor", "odds.equipoise", one_label, "--state", "w.json", "--json")
    assert ran.code == 0
    moved = {row["name"]: row["evidence"] != 0 for row in ran.json["rows"]}
    assert all(changed == ("label 1" in name) for name, changed in moved.items())


def test_bounds_on_rates_of_few_people_are_counted(run, model, data):
    ran = run("monitor", model, write_day(data, 1, n=50), "--state", "watch.json", "--json")
    women = make_table(50, seed=1)["sex"].count("F")
    assert women < 30 <= 50 - women
    assert {row["fewest"] for row in ran.json["rows"]} == {women}
    assert "4 of 4 bounds are about a rate of fewer than 30 people so far" in ran.err
    ran = run("monitor", model, write_day(data, 2), "--state", "watch.json", "--json")
    assert "bounds are about a rate of fewer" not in ran.err
