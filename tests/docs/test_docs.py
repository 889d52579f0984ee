"""The pages at the root: their code runs, their links lead somewhere, and what they name exists."""

import re
from pathlib import Path

import numpy as np
import pytest

import equipoise

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(equipoise.__file__).parent
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
PAGES += sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL)


def test_the_readme_starts_with_ten_lines_their_output_and_the_two_commands(capsys):
    blocks = re.findall(r"^```\w+\n(.*?)^```", read("README.md"), re.M | re.S)
    install, code, output, commands = blocks[:4]
    assert install.startswith("$ pip install")
    assert re.findall(r"^\$ (make \w+)", commands, re.M) == ["make demo", "make test"]
    assert len([line for line in code.splitlines() if line]) == 10

    names = {}
    exec(code, names)
    selected = names["model"].predict_proba(names["adult"].data)[:, 1]
    women = names["adult"].sensitive["sex"] == "Female"
    assert abs(selected[women].mean() - selected[~women].mean()) <= 0.02 + 1e-9
    assert set(np.unique(names["decisions"])) == {0, 1}
    assert capsys.readouterr().out == output


def test_the_constraint_of_the_contributors_page_works():
    (code,) = python_blocks("CONTRIBUTING.md")
    names = {}
    exec(code, names)
    cells = equipoise.cells.Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    moments = names["RejectionParity"](eps=0.1, reference="pairwise").moments(cells)
    assert len(moments.rows) == 2
    assert "rejection parity given label 0" in str(moments.rows[0])


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", read(page))
    here = [target for target in targets if "://" not in target]
    missing = [target for target in here if not ((ROOT / page).parent / target).exists()]
    assert not missing


def test_commands_of_the_readme_exist():
    named = re.findall(r"`python (benchmarks/\w+\.py)", read("README.md"))
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_make_targets_that_are_named_exist():
    targets = set(re.findall(r"^(\w+):", read("Makefile"), re.M))
    for page in PAGES[:3]:
        assert set(re.findall(r"^\$ make (\w+)", read(page), re.M)) <= targets


def test_every_folder_is_in_the_architecture():
    page = read("ARCHITECTURE.md")
    entries = [path for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"]
    names = {path.name + "/" * path.is_dir() for path in entries} - {"__pycache__/", "__init__.py"}
    assert len(names) > 10
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_files_that_the_architecture_names_exist():
    files = [path.as_posix() for path in ROOT.glob("[a-z]*/**/*.py")]
    named = set(re.findall(r"(?<![\w/])[a-z_][\w/]*\.py\b", read("ARCHITECTURE.md")))
    assert named
    assert [name for name in sorted(named) if not any(f.endswith(f"/{name}") for f in files)] == []
