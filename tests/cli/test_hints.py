"""Hints at columns that are perhaps not what they were read as, or no features."""

import pytest
from hiring import COLUMNS, make_table, write_table


@pytest.fixture
def columns():
    return make_table()


def fitted(run, data, columns, *options):
    write_table(columns, data)
    ran = run("fit", data, *COLUMNS, "-o", "new.equipoise", *options)
    assert ran.code == 0, ran.err
    return ran.err


def test_texts_that_look_like_numbers_or_dates(run, data, columns):
    columns["pay"] = [f"${1000 + number}" for number in range(600)]
    columns["since"] = [f"{1 + n % 12:02}/{1 + n % 28:02}/2020" for n in range(600)]
    told = fitted(run, data, columns)
    assert "column 'pay' was read as text, although 100% of its values look like numbers" in told
    assert "column 'since' was read as text: it looks like dates with slashes" in told
    assert "text column 'pay' is left out" in told  # after it was said what it looks like
    assert told.index("'pay' was read") < told.index("'pay' is left out")
    assert told.index("'pay' was read") < told.index("people to learn from")


def test_numbers_that_are_ids(run, data, columns):
    columns["number"] = list(range(600))
    assert "column 'number' has another whole number in every row" in fitted(run, data, columns)
    columns["number"][0] = 1
    assert "'number'" not in fitted(run, data, columns, "--force")


def test_features_that_tell_the_label_or_the_group(run, data, columns):
    columns["accepted"] = [int(label == "yes") for label in columns["hired"]]
    columns["title"] = ["Mr" if sex == "M" else "Ms" for sex in columns["sex"]]
    told = fitted(run, data, columns)
    assert "column 'accepted' is a feature, and tells everybody's label 'hired'" in told
    assert "column 'title' is a feature, and tells everybody's group 'sex'" in told
    assert "'town' is a feature" not in told
    columns["accepted"][0] = 1 - columns["accepted"][0]
    columns["title"][0] = None
    told = fitted(run, data, columns, "--force", "--exclude", "title")
    assert "tells everybody's" not in told


def test_spaces_after_separators(run, data, tmp_path):
    plain = make_table()
    write_table(plain, data)
    lines = data.read_text().replace('"', "").splitlines()
    (tmp_path / "spaced.csv").write_text("\n".join(", ".join(line.split(",")) for line in lines))
    given = ("--label", "hired", "--sensitive", "sex", "--json")
    first, second = (run("audit", name, *given).json for name in ("people.csv", "spaced.csv"))
    assert first["groups"] == second["groups"]
    assert first["data"]["columns"] == second["data"]["columns"]
    assert run("fit", "people.csv", *COLUMNS, "-o", "plain.equipoise").code == 0
    decided = [run("predict", "plain.equipoise", name).out for name in ("people.csv", "spaced.csv")]
    assert decided[0] == decided[1]
    # What stands for a missing value does so with spaces around it.
    (tmp_path / "few.csv").write_text("a, b, y\n1, ?, 0\n2, 3, 1\n")
    ran = run("audit", "few.csv", "--label", "y", "--sensitive", "a", "--missing", "?", "--json")
    (b,) = [column for column in ran.json["data"]["columns"] if column["name"] == "b"]
    assert (b["kind"], b["missing"]) == ("number", 1)
