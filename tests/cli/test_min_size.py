"""--min-size in every command that compares groups: by default as in the fit."""

import shutil

import pytest
from hiring import COLUMNS, make_table, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("min_size")


@pytest.fixture
def files(run, data, folder):
    """A table with a group of 40 people, a frontier and a model; fitted once."""
    columns = make_table()
    columns["sex"] = ["X" if at < 40 else sex for at, sex in enumerate(columns["sex"])]
    write_table(columns, data)
    if not (folder / "m.equipoise").exists():
        assert (
            run("frontier", data, *COLUMNS, "--bounds", 0.1, "-o", folder / "f.equipoise").code == 0
        )
        picked = run("at", folder / "f.equipoise", "--eps", 0.1, "-o", folder / "m.equipoise")
        assert picked.code == 0
        assert ": X " in picked.out
    for name in ("f", "m"):
        shutil.copy(folder / f"{name}.equipoise", data.parent)
    return run, data


def rows_of(measured):
    return [row["text"] for entry in measured for row in entry["rows"]]


@pytest.mark.parametrize("name", ["f", "m"])
def test_report(files, name):
    run, data = files
    every = run("report", f"{name}.equipoise", data, "-o", "a.html", "--json").json["report"]
    some = run("report", f"{name}.equipoise", data, "-o", "b.html", "--min-size", 50, "--json")
    measured = [rows_of(found["points"][0]["measured"]) for found in (every, some.json["report"])]
    assert any(": X " in text for text in measured[0])
    assert measured[1]
    assert not any(": X " in text for text in measured[1])
    ran = run("report", f"{name}.equipoise", "--min-size", 50)
    assert ran.code == 2
    assert "Name a table after the file" in ran.err


def test_at_and_monitor(files):
    run, data = files
    ran = run("at", "f.equipoise", "--eps", 0.1, "--min-size", 50, "-o", "n.equipoise", "--json")
    assert not any(": X " in text for text in rows_of(ran.json["measured"]))
    ran = run("certify", "n.equipoise", data, "--json")  # the file is the same with and without
    assert any(": X " in row["text"] for row in ran.json["measured"]["rows"])
    day = ("monitor", "m.equipoise", data, "--state", "days.json", "--json")
    ran = run(*day, "--min-size", 50)
    assert ran.json["rows"]
    assert not any(" X " in row["name"] for row in ran.json["rows"])
    ran = run(*day, "--again")
    assert ran.code == 2
    assert "its bounds were" in ran.err
