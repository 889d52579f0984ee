"""docs/paper_to_code.md: what it names exists, and every numbered statement is in it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

DOC = Path(__file__).parents[2] / "docs" / "paper_to_code.md"


def test_paper_to_code_names_functions_and_tests_that_exist() -> None:
    text = DOC.read_text(encoding="utf-8")
    code = re.findall(r"`([a-z_]+(?:\.\w+)+)`", text)
    tests = re.findall(r"`((?:\w+/)?test_\w+\.py)::(\w+)`", text)
    assert len(code) > 30
    assert len(tests) > 30
    for name in code:
        if name.endswith((".py", ".md")):
            continue
        folder, module, *attributes = name.split(".")
        found = import_module(f"equipoise.{folder}.{module}")
        for attribute in attributes:
            found = getattr(found, attribute, None) or found.__dataclass_fields__[attribute]
    for file, function in tests:
        assert f"def {function}(" in (Path(__file__).parents[1] / file).read_text(encoding="utf-8")


def test_paper_to_code_lists_every_numbered_statement() -> None:
    table = DOC.read_text(encoding="utf-8")
    numbered = {
        "Definition": 2,
        "Example": 8,
        "Assumption": 1,
        "Algorithm": 1,
        "Theorem": 4,
        "Lemma": 6,
    }
    for kind, count in numbered.items():
        for number in range(1, count + 1):
            assert f"| {kind} {number}" in table
    first_cells = " ".join(re.findall(r"^\| ([^|]*)\|", table, flags=re.MULTILINE))
    for number in range(1, 23):
        assert f"({number})" in first_cells, f"equation ({number})"
