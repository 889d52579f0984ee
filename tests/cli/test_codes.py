"""Columns that make groups are text unless every number prints as it was written."""

import numpy as np
import pytest
from hiring import COLUMNS, make_table, write_table

CODES = {
    "leading zeros": ["01", "1", "001"],
    "a point": ["1", "1.0", "2"],
    "beyond 2^53": [str(2**53), str(2**53 + 1), str(2**53 + 2)],
    "beyond 64 bits": [str(10**20), str(10**20 + 1), str(10**20 + 2)],
    "zeros alone": ["01", "02", "03"],
    "thousands": ["1,000", "1000", "2"],
}


CLASSES = ["under 30", "30 to under 45", "45 and over"]


def with_codes(path, codes):
    columns = make_table()
    columns["sex"] = [codes[at % len(codes)] for at in range(600)]
    write_table(columns, path)


def groups(ran):
    return [row["group"] for row in ran.json["groups"] if row["group"] != "overall"]


@pytest.mark.parametrize("codes", CODES.values(), ids=list(CODES))
def test_codes_stay_apart(run, data, codes):
    with_codes(data, codes)
    ran = run("audit", data, "--label", "hired", "--sensitive", "sex", "--json")
    assert ran.code == 0, ran.err
    assert sorted(groups(ran)) == sorted(codes)


def test_whole_numbers_in_parquet_do_not_merge(run, data):
    columns = make_table()
    columns["sex"] = [2**53 + at % 3 for at in range(600)]
    write_table(columns, data.parent / "people.parquet")
    ran = run("audit", "people.parquet", "--label", "hired", "--sensitive", "sex", "--json")
    assert sorted(groups(ran)) == [str(2**53 + at) for at in range(3)]


@pytest.mark.parametrize("codes", [["1", "2"], ["1.0", "2.0"], ["-1", "0", "7"], ["1", "2.5"]])
def test_numbers_as_they_print_are_numbers(run, data, codes):
    with_codes(data, codes)
    ran = run("audit", data, "--label", "hired", "--sensitive", "sex", "--json")
    (column,) = (entry for entry in ran.json["data"]["columns"] if entry["name"] == "sex")
    assert column["kind"] == "number"


def test_codes_of_a_fit_are_found_in_other_files(run, data):
    with_codes(data, ["01", "02"])
    assert run("fit", data, *COLUMNS, "--eps", 0.2).code == 0
    ran = run("certify", "model.equipoise", data, "--json")
    assert ran.code == 0, ran.err
    assert groups(ran) == ["01", "02"]
    # Numbers that another program has written with a point are the same groups.
    with_codes(data, ["1", "2"])
    assert run("fit", data, *COLUMNS, "--eps", 0.2, "--force").code == 0
    with_codes(data, ["1.0", "2.0"])
    assert groups(run("certify", "model.equipoise", data, "--json")) == ["1", "2"]


def test_numbers_that_are_put_into_classes_are_numbers_however_written(run, data):
    columns = make_table()
    columns["age"] = [f"{float(age or 30):.2f}" for age in columns["age"]]
    write_table(columns, data)
    table = ("--label", "hired", "--sensitive", "age")
    ran = run("audit", data, *table, "--bins", "age=30,45", "--json")
    assert groups(ran) == CLASSES
    assert run("fit", data, *table, "--exclude", "person", "--bins", "age=30,45").code == 0
    assert groups(run("certify", "model.equipoise", data, "--json")) == CLASSES
    rng = np.random.default_rng(0)
    columns["age"] = [f"{age:.2f}" for age in rng.uniform(20, 60, 600)]
    write_table(columns, data)
    ran = run("audit", data, *table)
    assert ran.code == 2
    assert "--bins age=4" in ran.err


def test_names_in_advice_can_be_pasted(run, data):
    columns = make_table()
    columns["Lfd. Nr."] = list(range(600))
    columns["Vor- und Nachname"] = [f"n{at}" for at in range(600)]
    write_table(columns, data)
    ran = run("fit", data, *COLUMNS, "--eps", 0.2)
    assert "--exclude 'Lfd. Nr.'" in ran.err
    assert "--keep-text 'Vor- und Nachname'" in ran.err
