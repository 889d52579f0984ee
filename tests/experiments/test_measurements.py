"""Tables of results."""

import csv

import pytest

from equipoise.experiments.measurements import COLUMNS, write_table


def test_tables_hold_what_was_measured(tmp_path):
    shared = {"problem": "adult", "method": "unconstrained", "fits": None, "seconds": 0.1}
    rows = [shared | {"setting": at, "error": 0.2 + at / 3} for at in range(3)]
    path = write_table(rows, COLUMNS, tmp_path / "results")[0]
    with path.open(newline="", encoding="utf-8") as file:
        back = list(csv.DictReader(file))
    assert [float(row["error"]) for row in back] == pytest.approx([row["error"] for row in rows])
    assert tuple(back[0]) == COLUMNS
    assert back[0]["fits"] == ""
    assert back[0]["method"] == "unconstrained"
