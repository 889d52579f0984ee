"""ARCHITECTURE.md lists what the code has: the protocol of engines, and the import contract."""

import configparser
import re
from itertools import dropwhile, takewhile
from pathlib import Path

from equipoise.engines.base import Engine

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def block_after(words: str) -> list[str]:
    """Return the lines of the first indented block after some words, without continuations."""
    lines = dropwhile(
        lambda line: not line.startswith("    "), PAGE.partition(words)[2].splitlines()
    )
    block = takewhile(lambda line: line.startswith("    "), lines)
    return [line.strip() for line in block if line[4] != " "]


def test_the_protocol_of_engines_is_on_the_page():
    listed = [*block_after("Its class reads and predicts:"), *block_after("An open engine holds")]
    # The explanation is at least two spaces away from the names.
    names = (re.split(r"\s{2,}", line)[0] for line in listed)
    on_page = {name for some in names for name in re.sub(r"\(.*?\)", "", some).split(", ")}
    declared = {*vars(Engine), *Engine.__annotations__}
    assert on_page == {name for name in declared if not name.startswith("_")}


def test_the_import_contract_is_on_the_page():
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    layers = contract["importlinter:contract:layers"]["layers"].replace("equipoise.", "")
    assert block_after("Imports flow down:") == layers.split("\n")[1:]
