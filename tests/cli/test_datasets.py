"""datasets: listed, and written as tables."""

import csv

import pytest


def test_data_sets_are_listed_and_written(run, tmp_path):
    listed = run("datasets", "--json").json["datasets"]
    assert "adult" in listed
    ran = run("datasets", "adult", "--json")
    assert ran.json["rows"] == 48842
    assert ran.json["label"] == "label"
    with (tmp_path / "adult.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 48842
    assert {"sex", "race", "label", "age"} <= set(rows[0])
    assert "income" not in rows[0]
    share = sum(row["label"] == "1" for row in rows) / len(rows)
    assert share == pytest.approx(0.2393, abs=1e-4)
