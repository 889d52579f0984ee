"""Type checkers accept the code of the documentation, and know what calls return."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("start/tutorial", "start/quick_start", "frontier", "unseen_people", "howto/pick_a_bound")
CLIENT = Path(__file__).with_name("typed_client.py")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The Python code of the pages, a file for each, and the client."""
    folder = tmp_path_factory.mktemp("typed")
    for page in PAGES:
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        lines = [line for line in "\n".join(blocks).splitlines() if not line.startswith("$")]
        path = folder / f"{page.replace('/', '_')}.py"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / CLIENT.name).write_text(CLIENT.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def wrong(folder):
    """Add a program with two mistakes, which a checker that works finds."""
    text = CLIENT.read_text(encoding="utf-8")
    text += 'frontier.report()["training"].excess\nreport["test"].exces\n'
    (folder / "wrong.py").write_text(text, encoding="utf-8")


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def with_mypy(folder, names):
    (folder / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {ROOT / 'src'}\nignore_missing_imports = true\n"
        "follow_imports = silent\ncheck_untyped_defs = true\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", *names]
    done = run(command, folder)
    return re.findall(r"^(\w+)\.py:\d+: error: (.*)", done.stdout, re.MULTILINE), done


def with_pyright(folder, names):
    settings = {
        "include": names,
        "typeCheckingMode": "standard",
        "extraPaths": [str(ROOT / "src")],
        "reportMissingImports": False,
        "reportMissingModuleSource": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error"]
    done = run([*command, "--pythonpath", sys.executable], folder)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [(Path(one["file"]).stem, one["message"]) for one in found], done


#: basedpyright is pyright as a package of PyPI that brings its own Node.js: nothing is downloaded
#: when it runs.
CHECKERS = {"mypy": with_mypy, "basedpyright": with_pyright}


@pytest.mark.parametrize("checker", CHECKERS)
def test_every_line_of_the_pages_is_accepted(checker, programs):
    if find_spec(checker) is None:
        pytest.skip(f"the check of types needs {checker}: pip install {checker}")
    wrong(programs)
    names = sorted(path.name for path in programs.glob("*.py"))
    errors, done = CHECKERS[checker](programs, names)
    assert [error for error in errors if error[0] != "wrong"] == [], done.stdout + done.stderr
    mistakes = [message for name, message in errors if name == "wrong"]
    assert len(mistakes) == 2, done.stdout + done.stderr
    assert '"excess"' in mistakes[0]
    assert '"exces"' in mistakes[1]
