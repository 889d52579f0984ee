"""The program: help, version, options in groups, and the page about them."""

import inspect
import re
from pathlib import Path

import equipoise
from equipoise.cli import options
from equipoise.cli.app import app
from equipoise.cli.names import CONSTRAINTS, LEARNERS


def test_help_and_version(run):
    ran = run("--help")
    for command in ("audit", "frontier", "fit", "at", "predict", "select", "certify", "report"):
        assert command in ran.out
        assert run(command, "--help").code == 0
    assert run("--version").out.strip() == f"equipoise {equipoise.__version__}"


def test_the_page_names_every_command_and_only_options_that_exist(run):
    page = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
    text = page.read_text(encoding="utf-8")
    commands = {command.name for command in app.registered_commands}
    assert commands == {name for name in commands if f"`{name}" in text}
    known = "".join(run(command, "--help").out for command in commands)
    named = set(re.findall(r"`(--[a-z][a-z-]+)", text)) | set(
        re.findall(r" (--[a-z][a-z-]+) ", text)
    )
    assert len(named) > 20
    assert {option for option in named if option not in known} == set()
    listed = re.findall(r"`([a-z-]+)`", text.split("| `--constraint` |")[1].split("|")[0])
    assert listed == list(CONSTRAINTS)
    listed = re.findall(r"`([a-z-]+)`", text.split("| `--learner` |")[1].split("; with")[0])
    assert listed == list(LEARNERS)


def test_a_group_of_options_is_options_to_the_user_and_one_value_to_the_command():
    seen = []

    def command(*, table: options.LabelledTable, more: int = 3, results: options.Results) -> None:
        seen.append((table, more, results))

    run = options.with_groups(command)
    names = list(inspect.signature(run).parameters)
    assert names[:3] == ["data", "label", "sensitive"]
    assert names[-5:] == ["more", "level", "suppress_below", "force", "machine"]
    table = {"data": Path("x.csv"), "label": "y", "sensitive": ["a"], "positive": None}
    table |= {"weight": "w", "missing": None, "drop_missing": True, "missing_groups": "error"}
    table |= {"separator": ";", "decimal": None, "encoding": None, "bins": None}
    run(**table, more=4, level=0.9, suppress_below=10, force=False, machine=True)
    ((read, more, results),) = seen
    request = read.request()
    assert read.dialect().separator == ";"
    assert (request.label, request.weight, request.missing, request.drop_missing) == (
        "y",
        "w",
        (),
        True,
    )
    assert (more, results.level, results.machine) == (4, 0.9, True)
