"""ARCHITECTURE.md lists what the code has: the protocol of engines, and the import contract."""

import ast
import configparser
import re
from itertools import dropwhile, takewhile
from pathlib import Path

from equipoise.engines.base import Engine

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "equipoise"
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


#: Attributes with an underscore that belong to other libraries.
FOREIGN = {
    *("_replace", "_asdict", "_fields"),  # named tuples
    *("_meta", "_Booster", "_dump_text", "_save_example"),  # Dask, LightGBM, MLflow
    *("_realized_classifier", "_pmf_predict"),  # fairlearn
}


def test_what_begins_with_an_underscore_is_private_to_its_folder():
    own, used = {}, []
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                own.setdefault(room, set()).add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.setdefault(room, set()).add(node.id)
            elif isinstance(node, ast.Attribute) and re.match("_(?!_)", node.attr):
                used.append((room, node.attr, f"{path.name}:{node.lineno}"))
                if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
                    own.setdefault(room, set()).add(node.attr)
    assert len(used) > 500
    outside = [(name, at) for room, name, at in used if name not in own[room] | FOREIGN]
    assert not outside
