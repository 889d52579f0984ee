"""Errors are sentences with exit code 2, nothing is overwritten, names are only text."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hiring import COLUMNS, make_table, write_table

from equipoise.cli.exits import MEANINGS

FIT = ("--label", "hired", "--sensitive", "sex")

WRONG = {
    "no such file": (("fit", "nowhere.csv", *FIT), "there is no file nowhere.csv"),
    "a folder": (("fit", ".", *FIT), "is a folder"),
    "another ending": (("fit", "people.xls", *FIT), "expected a table whose name ends in"),
    "column": (
        ("fit", "people.csv", "--label", "Hird", "--sensitive", "sex"),
        "Did you mean 'hired'?",
    ),
    "excluded column": (("fit", "people.csv", *FIT, "--exclude", "nme"), "no column 'nme'"),
    "twice": (("fit", "people.csv", "--label", "sex", "--sensitive", "sex"), "two purposes"),
    "label of many values": (
        ("fit", "people.csv", "--label", "skill", "--sensitive", "sex"),
        "Say with --positive",
    ),
    "positive": (("fit", "people.csv", *FIT, "--positive", "Yes"), "Did you mean 'yes'?"),
    "group of every age": (
        ("fit", "people.csv", "--label", "hired", "--sensitive", "person"),
        "600 different values",
    ),
    "learner": (("fit", "people.csv", *FIT, "--learner", "logstic"), "Did you mean 'logistic'?"),
    "parameter": (
        ("fit", "people.csv", *FIT, "--learner", "tree:max_dept=3"),
        "Did you mean 'max_depth'?",
    ),
    "no parameter": (("fit", "people.csv", *FIT, "--learner", "tree:3"), "tree:3"),
    "objective": (("fit", "people.csv", *FIT, "--objective", "ballanced"), "mean 'balanced'?"),
    "costs": (
        ("fit", "people.csv", *FIT, "--objective", "balanced", "--false-positive-cost", "2"),
        "has no costs of its own",
    ),
    "cost": (("fit", "people.csv", *FIT, "--false-negative-cost", "-1"), "expected a finite"),
    "module": (("fit", "people.csv", *FIT, "--learner", "no_such:thing"), "cannot be imported"),
    "object": (
        ("fit", "people.csv", *FIT, "--learner", "sklearn.tree:DecisionTree"),
        "Did you mean '",
    ),
    "constraint": (("fit", "people.csv", *FIT, "--constraint", "dpp"), "Did you mean 'dp'?"),
    "no constraint": (
        ("fit", "people.csv", *FIT, "--constraint", "os:sep"),
        "expected a constraint",
    ),
    "bound": (("fit", "people.csv", *FIT, "--eps", "-1"), "--eps of dp is -1"),
    "bound of none": (
        ("fit", "people.csv", *FIT, "--constraint", "minimax", "--eps", "1"),
        "leave --eps out",
    ),
    "bounds": (("frontier", "people.csv", *FIT, "--bounds", "a,b"), "--bounds is 'a,b'"),
    "many bounds": (
        ("frontier", "people.csv", *FIT, "--bounds", "0.1:0.2:1000000000"),
        "--bounds asks for 1,000,000,000 bounds; expected at most 10,000",
    ),
    "excluded label": (
        ("fit", "people.csv", *FIT, "--exclude", "hired"),
        "--exclude names the label, 'hired'",
    ),
    "no encoding of text": (
        ("audit", "people.csv", *FIT, "--encoding", "rot13"),
        "--encoding is 'rot13', which is no encoding of text",
    ),
    "zlib": (("audit", "people.csv", *FIT, "--encoding", "zlib"), "no encoding of text"),
    "text as weights": (
        ("audit", "people.csv", *FIT, "--weight", "town", "--drop-missing"),
        "weights 'town' hold values such as",
    ),
    "no eps": (
        ("frontier", "people.csv", *FIT, "--constraint", "minimax"),
        "has no bound",
    ),
    "test size": (("fit", "people.csv", *FIT, "--test-size", "2"), "--test-size is 2"),
    "output folder": (("fit", "people.csv", *FIT, "-o", "no/where.eq"), "there is no folder"),
    "reference": (("fit", "people.csv", *FIT, "--reference", "X"), "reference='X' is neither"),
    "swapped": (("predict", "people.csv", "m.equipoise"), "The model comes first"),
    "output that cannot be": (("datasets", "adult", "-o", "/proc/adult.csv"), "/proc/adult.csv: "),
    "data set": (("datasets", "adlt"), "Did you mean 'adult'?"),
    "weights": (("fit", "people.csv", *FIT, "--weight", "town"), "town"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_is_answered_with_a_sentence(run, data, what):
    (data.parent / "people.xls").write_text("")
    arguments, message = WRONG[what]
    ran = run(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
    assert sorted(path.name for path in data.parent.iterdir()) == ["people.csv", "people.xls"]


@pytest.mark.parametrize(
    "arguments", [("fit",), ("fit", "people.csv"), ("nothing",), ("fit", "people.csv", "--labl")]
)
def test_usage_errors_exit_with_two(run, data, arguments):
    assert run(*arguments).code == 2


def test_nothing_is_overwritten_without_force(run, data, model, frontier):
    commands = {
        "fair.equipoise": ("fit", data, *COLUMNS, "-o", "fair.equipoise"),
        "f.equipoise": ("frontier", data, *COLUMNS, "--bounds", "0.1", "-o", "f.equipoise"),
        "decided.csv": ("predict", model, data, "-o", "decided.csv"),
    }
    (data.parent / "decided.csv").write_text("mine")
    for name, command in commands.items():
        before = (data.parent / name).read_bytes()
        ran = run(*command)
        assert ran.code == 2
        assert f"{name} exists already" in ran.err
        assert "--force" in ran.err
        assert (data.parent / name).read_bytes() == before
    assert run("at", frontier, "--eps", 0.1, "-o", "fair.equipoise").code == 2
    assert run("at", frontier, "--eps", 0.1, "-o", "fair.equipoise", "--force").code == 0


def test_a_model_where_a_table_should_be(run, model):
    for command in (("audit", model, *FIT), ("predict", model, model)):
        ran = run(*command)
        assert ran.code == 2
        assert "fair.equipoise is a model file, and stands where a table should" in ran.err


def test_a_table_that_is_damaged(run, data):
    (data.parent / "bad.parquet").write_bytes(b"PAR1 nothing")
    ran = run("audit", "bad.parquet", *FIT)
    assert ran.code == 2
    assert "cannot be read as a parquet file" in ran.err
    (data.parent / "bad.csv").write_text("hired,sex\nyes,F,more\n")
    assert "cannot be read as a csv file" in run("audit", "bad.csv", *FIT).err
    (data.parent / "empty.csv").write_text("hired,sex\n")
    assert "has no rows" in run("audit", "empty.csv", *FIT).err
    (data.parent / "zeros.csv").write_bytes(bytes(1 << 20))  # as of a file with holes
    ran = run("audit", "zeros.csv", *FIT)
    assert ran.code == 2
    assert "zeros.csv holds zero bytes, as no text does" in ran.err
    (data.parent / "nothing.csv").write_text("")
    assert "nothing.csv is empty; expected a table" in run("audit", "nothing.csv", *FIT).err


def test_columns_of_lists_are_refused_and_empty_ones_left_out(run, data):
    columns = make_table(200) | {"empty": [None] * 200}
    write_table(columns | {"jobs": [[1, 2]] * 200}, data.parent / "lists.parquet")
    ran = run("fit", "lists.parquet", *COLUMNS)
    assert ran.code == 2
    assert "lists.parquet: column 'jobs' is of type list" in ran.err
    ran = run("fit", "lists.parquet", *COLUMNS, "--exclude", "jobs")
    assert ran.code == 0
    assert "column 'empty' has no values" in ran.err


def test_markers_of_missing_values(run, data):
    text = data.read_text().replace('"Rome"', '"?"').replace('"F"', '"?"', 1)
    data.write_text(text)
    ran = run("fit", data, *COLUMNS, "--missing", "?")
    assert ran.code == 2
    assert "column 'sex' of people.csv is missing in 1 of 600 rows" in ran.err
    ran = run("fit", data, *COLUMNS, "--missing", "?", "--drop-missing", "--json")
    assert ran.code == 0
    assert ran.json["notes"][0].startswith("1 rows that lack hired or sex")


def test_names_from_files_are_text_and_nothing_else(run, data):
    evil = "\x1b[31m[red]<script>alert(1)</script>:bomb:"
    columns = make_table()
    columns["sex"] = [evil if value == "F" else value for value in columns["sex"]]
    write_table(columns, data)
    ran = run("audit", data, *FIT)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\\x1b[31m[red]<script>alert(1)</script>:bomb:" in ran.out.replace("\n", "")
    assert evil in [row["group"] for row in run("audit", data, *FIT, "--json").json["groups"]]


def test_an_unforeseen_error_is_a_sentence_too(run, data, monkeypatch):
    def fail(*args, **kwargs):
        raise LookupError("oh")

    monkeypatch.setattr("equipoise.cli.tables.people.read_table", fail)
    ran = run("fit", data, *COLUMNS)
    assert ran.code == 3
    assert "LookupError: oh" in ran.err


def test_without_its_extra_the_command_says_how_to_install_it():
    code = (
        "import sys, importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda name, *a: None if name == 'typer' else find(name, *a);"
        "import equipoise.cli; equipoise.cli.main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "needs typer" in ran.stderr
    assert "pip install 'equipoise[cli]'" in ran.stderr


@pytest.mark.parametrize("page", ["f.equipoise", "./f.equipoise", "../{}/f.equipoise"])
def test_one_name_for_two_files_is_refused_before_any_work(run, data, page):
    page = page.format(data.parent.name)
    done = run("frontier", data, *COLUMNS, "-o", "f.equipoise", "--page", page, "--force")
    assert done.code == 2
    assert "is named for two files" in done.err
    assert not (data.parent / "f.equipoise").exists()


def test_one_name_for_two_files_is_refused_by_every_command(run, data, model, frontier):
    number = ("--task", "regression", "--label", "skill", "--sensitive", "sex")
    for command in (
        ("fit", data, *COLUMNS, "-o", "x", "--held-out", "x"),
        ("fit", data, *number, "-o", "x", "--held-out", "x"),
        ("frontier", data, *COLUMNS, "-o", "x", "--held-out", "x"),
        ("frontier", data, *COLUMNS, "-o", "y", "--held-out", "x", "--page", "x"),
        ("frontier", data, *number, "-o", "x", "--page", "x"),
        ("frontier", data, *COLUMNS, "-o", "x.html"),  # the page is beside it
        ("report", frontier, "-o", "x", "--card", "x"),
        ("report", model, data, "-o", "x", "--card", "./x"),
    ):
        done = run(*command, "--force")
        assert done.code == 2, command
        assert "is named for two files" in done.err, command
    assert not list(data.parent.glob("[xy]*"))


def test_what_a_command_reads_it_does_not_replace(run, data, model, frontier):
    link = data.parent / "link.csv"
    link.symlink_to(data)
    number = ("--task", "regression", "--label", "skill", "--sensitive", "sex")
    for command in (
        ("audit", data, "--label", "hired", "--sensitive", "sex", "--page", data),
        ("fit", data, *COLUMNS, "-o", link),
        ("fit", data, *COLUMNS, "-o", "x", "--held-out", data),
        ("frontier", data, *COLUMNS, "-o", "x", "--page", "people.csv"),
        ("frontier", data, *number, "-o", data),
        ("at", frontier, "--eps", 0.05, "-o", frontier),
        ("report", frontier, "-o", frontier),
        ("report", model, data, "--card", data),
        ("predict", model, data, "-o", data),
        ("select", model, data, "-k", 5, "-o", model),
    ):
        before = [path.read_bytes() for path in (data, model, frontier)]
        done = run(*command, "--force")
        assert done.code == 2, command
        assert "is read by this command" in done.err, (command, done.err)
        assert [path.read_bytes() for path in (data, model, frontier)] == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_refused_before_they_are_read(run, data, model, frontier):
    """Nobody writes to the pipe: to open it would be to wait for ever."""
    pipe = data.parent / "pipe.csv"
    os.mkfifo(pipe)
    for command in (
        ("audit", pipe, *FIT),
        ("audit", data, *FIT, "--page", pipe, "--force"),
        ("fit", pipe, *COLUMNS),
        ("fit", data, *COLUMNS, "-o", pipe),
        ("fit", data, *COLUMNS, "-o", "x", "--held-out", pipe, "--force"),
        ("predict", pipe, data),
        ("predict", model, pipe),
        ("predict", model, data, "-o", pipe, "--force"),
        ("certify", model, pipe),
        ("at", pipe, "--eps", 0.05),
        ("monitor", model, data, "--state", pipe),
        ("report", pipe),
        ("verify", pipe),
        ("datasets", "adult", "-o", pipe, "--force"),
    ):
        done = run(*command)
        assert done.code == 2, command
        assert "pipe.csv is a pipe; expected the name of a file" in done.err, command
    done = run("predict", model, data, "-o", os.devnull, "--force")
    assert done.code == 2
    assert "is a device" in done.err


def test_the_page_has_the_table_of_exit_codes():
    page = Path(__file__).parents[2] / "docs" / "command_line.md"
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", page.read_text(), re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == MEANINGS
