"""select: exactly k of a table, the same people again from the number printed."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hiring import make_table, write_table

import equipoise


@pytest.fixture
def people(data):
    table = make_table(400, seed=1)
    write_table(table, data.parent / "new.csv")
    return table


def read(path):
    return pa.csv.read_csv(path).to_pydict()


def test_exactly_k(run, model, data, people):
    ran = run("select", model, "new.csv", "-k", 40, "--id", "person", "-o", "s.csv", "--json")
    assert ran.code == 0
    found = read(data.parent / "s.csv")
    assert list(found) == ["person", "decision", "probability"]
    assert found["person"] == people["person"]
    chosen = np.array(found["decision"]) == "yes"
    assert chosen.sum() == ran.json["selected"] == 40
    probability = np.array(found["probability"])
    assert probability.sum() == pytest.approx(40)
    for name, count in ran.json["groups"].items():
        members = np.array(people["sex"]) == name
        assert count["selected"] == chosen[members].sum()
        assert abs(chosen[members].sum() - probability[members].sum()) < 1

    fair = equipoise.load(model)
    X = pa.table(
        {
            "age": pa.array(people["age"], pa.float64()),
            "skill": people["skill"],
            "town": people["town"],
            "member": [float(value) for value in people["member"]],
            "importance": people["importance"],
        }
    )
    sex = np.array(people["sex"], dtype=object)
    key = np.array(people["person"], dtype=object)
    expected = fair.select(X, 40, sensitive_features=sex, key=key)
    assert ran.json["u"] == expected.u
    np.testing.assert_array_equal(chosen, expected.selected)


def test_the_same_people_again(run, model, data, people):
    first = run("select", model, "new.csv", "-k", 30, "-o", "a.csv", "--seed", 5, "--json")
    run("select", model, "new.csv", "-k", 30, "-o", "b.csv", "--u", first.json["u"])
    assert read(data.parent / "a.csv") == read(data.parent / "b.csv")
    own = run("select", model, "new.csv", "-k", 30, "-o", "c.csv", "--json")
    again = run("select", model, "new.csv", "-k", 30, "-o", "d.csv", "--json")
    assert own.json["u"] == again.json["u"] != first.json["u"]


def test_what_is_printed(run, model, data, people):
    ran = run("select", model, "new.csv", "-k", 50, "-o", "s.csv")
    assert "50 of 400 people are selected" in ran.out
    assert "to be expected" in ran.out
    assert "Written: s.csv (400 rows)" in ran.out
    alone = run("select", model, "new.csv", "-k", 50, "-o", "t.csv", "--without-groups")
    assert "left to chance" in alone.out


def test_frontiers_need_a_bound(run, frontier, data, people):
    assert "--eps" in run("select", frontier, "new.csv", "-k", 9, "-o", "s.csv").err
    assert run("select", frontier, "new.csv", "-k", 9, "-o", "s.csv", "--eps", 0.1).code == 0


def test_what_cannot_work_is_said(run, model, data, people):
    cases = {
        "k is 401 but there are 400 people": ["-k", 401],
        "expected a number from 0 to below 1": ["-k", 5, "--u", 2],
        "both u and --seed": ["-k", 5, "--u", 0.5, "--seed", 1],
        "drop one": ["-k", 5, "--sensitive", "town", "--without-groups"],
        "no column 'sexe', by which groups": ["-k", 5, "--sensitive", "sexe"],
    }
    for message, given in cases.items():
        ran = run("select", model, "new.csv", *given, "-o", "never.csv")
        assert ran.code == 2
        assert message in " ".join(ran.err.split()), ran.err
        assert not (data.parent / "never.csv").exists()
    (data.parent / "empty.csv").write_text(",".join(people) + "\n")
    ran = run("select", model, "empty.csv", "-k", 1, "-o", "never.csv")
    assert ran.code == 2
    assert "has no rows" in ran.err


def test_by_rank(run, model, data, people):
    options = ("--by", "rank", "--id", "person", "-o", "r.csv", "--json")
    ran = run("select", model, "new.csv", "-k", 390, *options)
    assert ran.code == 0
    assert ran.json["u"] is None
    found = read(data.parent / "r.csv")
    assert found["decision"].count("yes") == ran.json["selected"] == 390
    assert set(found["probability"]) == {0, 1}
