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


def test_reproduce_says_what_it_wrote(run, tmp_path):
    options = ("--quick", "--rows", "400", "--method", "unconstrained", "--method", "plug-in")
    ran = run("reproduce", *options, "--no-figures", "--output", "out")
    assert ran.code == 0
    assert str(Path("out", "verdict.md")) in ran.out
    assert "[4/4" in ran.err
    again = run("reproduce", *options, "--no-figures", "--only-collate", "-o", "out", "--json")
    assert again.json["rows"] == 2 * 2 * (1 + 20)


def test_a_task_that_failed_is_told_and_the_run_is_not_done(run, tmp_path):
    (tmp_path / "out" / "tasks").mkdir(parents=True)
    # A folder where the result should be: nothing can be written there.
    (tmp_path / "out" / "tasks" / "adult-logistic-DP-unconstrained-0.npz").mkdir()
    options = ("--quick", "--rows", "400", "--method", "unconstrained", "--no-figures")
    ran = run("reproduce", *options, "-o", "out", "--json")
    assert ran.code == 2
    assert list(ran.json["failed"]) == ["adult, logistic, DP, seed 0: unconstrained"]
    assert ran.json["rows"] == 2


def test_reproduce_refuses_names_that_are_not_known(run):
    ran = run("reproduce", "--problem", "moon", "-o", "out")
    assert ran.code == 2
    assert "problems contain 'moon'; expected some of adult" in ran.err
