"""Numbers in classes, the order of groups, and groups that are many or small."""

import numpy as np
import pyarrow as pa
import pytest
from hiring import COLUMNS, make_table, write_table
from pyarrow import parquet

BY_AGE = ("--label", "hired", "--sensitive", "age", "--drop-missing")


def names(groups):
    return [group["group"] for group in groups if group["feature"]]


def test_edges_make_groups_from_fit_to_certify(run, data):
    options = ("--exclude", "person", "--bins", "age=9,40,60", "--eps", 0.2, "--json")
    ran = run("fit", data, *BY_AGE, *options)
    assert ran.code == 0, ran.err
    expected = ["9 to under 40", "40 to under 60", "60 and over"]
    assert names(ran.json["groups"]["training"]) == expected
    ages = np.array([age for age in make_table()["age"] if age is not None])
    sizes = [((ages >= low) & (ages < high)).sum() for low, high in ((9, 40), (40, 60), (60, 99))]
    ran = run("certify", "model.equipoise", data, "--drop-missing", "--json")
    assert ran.code == 0, ran.err
    assert names(ran.json["groups"]) == expected
    assert [group["count"] for group in ran.json["groups"][1:]] == sizes
    run("report", "model.equipoise", data, "--drop-missing", "-o", "page.html")
    page = (data.parent / "page.html").read_text(encoding="utf-8")
    places = [page.index(f"age: {name}") for name in expected]
    assert places == sorted(places)


def test_quantiles_make_groups_of_equal_size(run, data):
    ran = run("audit", data, *BY_AGE, "--bins", "age=4", "--json")
    assert ran.code == 0, ran.err
    groups = [group for group in ran.json["groups"] if group["feature"]]
    assert len(groups) == 4
    assert groups[0]["group"].startswith("under ")
    assert groups[-1]["group"].endswith(" and over")
    assert max(g["count"] for g in groups) - min(g["count"] for g in groups) < 40


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ("age", "expected COLUMN=4"),
        ("town=4", "of a column that makes groups: 'age'"),
        ("age=a,b", "expected a number of classes, or edges"),
        ("age=40,25", "expected edges that increase"),
    ],
)
def test_bins_that_make_no_sense(run, data, bins, message):
    ran = run("audit", data, *BY_AGE, "--bins", bins)
    assert ran.code == 2
    assert message in ran.err


def test_words_cannot_be_put_into_classes(run, data):
    ran = run("audit", data, "--label", "hired", "--sensitive", "sex", "--bins", "sex=2")
    assert "column 'sex' holds no numbers" in ran.err


def test_many_groups_get_a_hint(run, data):
    ran = run("audit", data, *BY_AGE)
    assert f"makes {len(set(make_table()['age']) - {None})} groups" in ran.err
    assert "--bins age=4" in ran.err
    table = make_table()
    table["age"] = [None if age is None else age + 0.5 for age in table["age"]]
    write_table(table, data)  # decimals are numbers too
    assert "--bins age=4" in run("audit", data, *BY_AGE).err


def test_ordered_categories_keep_their_order(run, data):
    columns = make_table()
    levels = ["low", "middle", "high"]
    codes = pa.array([at % 3 for at in range(600)], pa.int8())
    level = pa.DictionaryArray.from_arrays(codes, pa.array(levels), ordered=True)
    table = pa.table(columns).append_column("level", level)
    parquet.write_table(table, data.parent / "people.parquet")
    ran = run("audit", "people.parquet", "--label", "hired", "--sensitive", "level", "--json")
    assert names(ran.json["groups"]) == levels
    options = ("--label", "hired", "--sensitive", "level", "--eps", 0.3)
    ran = run("fit", "people.parquet", *options, "--json")
    assert names(ran.json["groups"]["test"]) == levels
    compared = " ".join(row["text"] for row in ran.json["measured"][0]["rows"])
    assert sorted(levels, key=compared.index) == levels
    both = ("--label", "hired", "--sensitive", "level", "--sensitive", "sex")
    ran = run("audit", "people.parquet", *both, "--json")
    assert names(ran.json["groups"])[:3] == levels
    crossed = [group for group in ran.json["groups"] if " x " in group["feature"]]
    assert [group["group"].split(" & ")[0] for group in crossed] == [
        level for level in levels for _ in range(2)
    ]


def test_differences_say_between_whom_and_small_groups_get_a_sentence(run, data):
    columns = make_table()
    columns["sex"] = ["X" if at < 13 else sex for at, sex in enumerate(columns["sex"])]
    columns["hired"] = ["no" if at < 13 else label for at, label in enumerate(columns["hired"])]
    write_table(columns, data)
    counts = {sex: columns["sex"].count(sex) for sex in ("F", "M", "X")}
    audit = ("audit", data, "--label", "hired", "--sensitive", "sex")
    ran = run(*audit)
    assert f"M ({counts['M']}) and X (13)" in ran.out
    assert "X (13) has fewer than 30 people: too few to say anything about its rates" in ran.err
    assert "--min-size 30" in ran.err
    ran = run(*audit, "--min-size", 30, "--json")
    hired = np.array(columns["hired"]) == "yes"
    sex = np.array(columns["sex"])
    gap = hired[sex == "M"].mean() - hired[sex == "F"].mean()
    assert ran.json["disparities"]["demographic_parity_difference"][0] == pytest.approx(gap)
    between = ran.json["between"]["demographic_parity_difference"]
    assert between == f"M ({counts['M']}) and F ({counts['F']})"
    assert run(*audit, "--min-size", 500).code == 2
    ran = run("fit", data, *COLUMNS, "--eps", 0.5)
    assert "fewer than 30" in ran.err
    assert run("report", "model.equipoise", data, "-o", "page.html").code == 0
    page = (data.parent / "page.html").read_text(encoding="utf-8")
    assert "X (13) has fewer than 30 people" in page[: page.index('id="model"')]
    assert "X (13) has fewer than 30 people" in run("certify", "model.equipoise", data).err


def test_a_bound_exceeded_beyond_chance_gets_a_sentence(run, data):
    """A tree that knows everybody by heart is fair to those whom it has seen."""
    write_table(make_table(2000), data)
    (data.parent / "greedy.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "tree = DecisionTreeClassifier(random_state=0)\n"
    )
    options = ("--learner", "greedy:tree", "--eps", 0.001, "--max-iter", 5, "--test-size", 0.5)
    ran = run("fit", data, *COLUMNS, *options, "--json")
    (test,) = (entry for entry in ran.json["measured"] if entry["data"] == "test")
    assert any(row["excess"][1] > 0 for row in test["rows"])
    assert "by more than chance explains" in ran.err
    within = run("fit", data, *COLUMNS, "--eps", 0.5, "-o", "loose.equipoise")
    assert "by more than chance" not in within.err
