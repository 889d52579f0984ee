"""What ``--json`` prints is as the schema in the docs says."""

import json
from pathlib import Path

import pytest
from hiring import COLUMNS, make_table, write_table

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "output.schema.json"


def check(command, ran, code=0):
    assert ran.code == code, ran.err
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    one = {**schema, "anyOf": [{"$ref": f"#/$defs/{command}"}]}
    jsonschema.Draft202012Validator(one).validate(ran.json)


def test_the_file_is_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import output_schema

    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == output_schema.make()
    jsonschema.Draft202012Validator.check_schema(output_schema.make())


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("audit", ()),
        ("audit", ("--prediction", "hired", "--page", "audit.html")),
        ("fit", ("--eps", "0.05")),
        ("fit", ("--constraint", "minimax", "--cv", "2", "--objective", "balanced")),
        ("frontier", ("--bounds", "0.02,0.1")),
    ],
)
def test_commands_that_read_a_table(run, data, command, more):
    columns = COLUMNS[:4] if command == "audit" else COLUMNS
    check(command, run(command, data, *columns, *more, "--json"))


def test_commands_that_read_a_model(run, model, frontier, data):
    check("at", run("at", frontier, "--eps", 0.1, "--json"))
    check("verify", run("verify", model, "--json"))
    check("predict", run("predict", model, data, "-o", "out.csv", "--json"))
    check("certify", run("certify", model, data, "--json"))
    bare = {name: values for name, values in make_table().items() if name != "hired"}
    write_table(bare, data.parent / "bare.csv")
    check("certify", run("certify", model, "bare.csv", "--json"))
    check("report", run("report", frontier, "--json"))
    check("report", run("report", model, data, "--json"))
    check("monitor", run("monitor", model, data, "--state", "days.json", "--json"))
    picked = run("select", model, data, "-k", 20, "-o", "selected.csv", "--json")
    check("select", picked)


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "nowhere.csv", "--label", "hired", "--sensitive", "sex"),
        ("fit", "people.csv", "--label", "hird", "--sensitive", "sex"),
        ("frontier", "people.csv", *COLUMNS, "--bounds", "a"),
        ("at", "nowhere.equipoise", "--eps", 0.1),
        ("predict", "people.csv", "people.csv", "-o", "out.csv"),
        ("select", "people.csv", "people.csv", "-k", 3, "-o", "out.csv"),
        ("certify", "people.csv", "people.csv"),
        ("monitor", "people.csv", "people.csv", "--state", "s.json"),
        ("report", "people.csv"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_failures_too(run, data, arguments):
    ran = run(*arguments, "--json")
    check("error", ran, code=2)
    assert ran.json["code"] == 2
    assert ran.err.rstrip().endswith(f"Error: {ran.json['error']}")


def test_errors_that_were_not_foreseen_and_interrupts(run, data, monkeypatch):
    from equipoise.cli.tables.people import Reader

    audit = ("audit", data, "--label", "hired", "--sensitive", "sex", "--json")
    for error, code in ((KeyError("x"), 3), (KeyboardInterrupt(), 130)):

        def fail(*args, error=error, **kwargs):
            raise error

        monkeypatch.setattr(Reader, "whole", fail)
        ran = run(*audit)
        check("error", ran, code=code)
        assert ran.json["code"] == code
