"""reproduce: the experiments, in a folder."""

import csv
from pathlib import Path


def test_reproduce_writes_table_and_verdict(run, tmp_path):
    options = ("--quick", "--problem", "adult", "--rows", "600", "--no-figures")
    ran = run("reproduce", *options, "-o", "out", "--json")
    assert ran.code == 0
    assert "adult, logistic, DP, seed 0: unconstrained" in ran.err
    with (tmp_path / "out" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert ran.json["rows"] == len(rows)
    assert {row["problem"] for row in rows} == {"adult"}
    assert {row["n"] for row in rows} == {"450", "150"}
    assert str(Path("out", "verdict.md")) in ran.json["files"]
    assert (tmp_path / "out" / "verdict.md").read_text().startswith("# Verdict")
