"""Print the figures of the house: how long, how deep and how wide the source is.

    python tools/house.py [ROOT ...]     the root of a checkout; this one without an argument

A body of a function is counted from its first statement to its last line, without the docstring.
"""

from __future__ import annotations

import ast
import configparser
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def bodies(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the length of the body of each function of a file, and where it is."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            if body:
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1
                yield length, f"{path.name}: {node.name}"


def public_names(path: Path) -> list[str]:
    """Return the names of ``__all__`` in a file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise ValueError(f"{path} has no __all__ that is a plain list")


def layers(path: Path) -> list[str]:
    """Return the layers of the import contract, top to bottom."""
    contract = configparser.ConfigParser()
    contract.read(path, encoding="utf-8")
    return contract["importlinter:contract:layers"]["layers"].split("\n")[1:]


def figures(root: Path) -> dict[str, str]:
    """Return the figures of a checkout, by name."""
    source = root / "src" / "equipoise"
    files = sorted(source.rglob("*.py"))
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    longest = max(files, key=lambda path: lengths[path])
    body, place = max(found for path in files for found in bodies(path))
    entries = [path for path in source.iterdir() if path.suffix == ".py" or path.is_dir()]
    return {
        "lines of source": f"{sum(lengths.values()):,}",
        "files": f"{len(files)}",
        "layers": f"{len(layers(root / '.importlinter'))}",
        "top-level entries": f"{sum(path.name != '__pycache__' for path in entries)}",
        "longest file": f"{lengths[longest]}   {longest.relative_to(source).as_posix()}",
        "longest body": f"{body}   {place}",
        "public names": f"{len(public_names(source / '__init__.py'))}",
    }


def main(roots: list[str]) -> None:
    """Print the figures of each checkout."""
    for root in [Path(root) for root in roots] or [HERE]:
        print(root.resolve().name)
        for name, value in figures(root).items():
            print(f"  {name:20}{value}")


if __name__ == "__main__":
    main(sys.argv[1:])
