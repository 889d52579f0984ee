"""A verdict is never lost: whatever becomes of the output, the exit code is the same."""

import errno
import io
import subprocess
import sys

import numpy as np
import pytest
from hiring import COLUMNS, make_table, write_table

from equipoise import FairClassifier
from equipoise.cli.app import run as run_line

CLOSED = BrokenPipeError(errno.EPIPE, "Broken pipe")
FULL = OSError(errno.ENOSPC, "No space left on device")


class Failing(io.StringIO):
    """A stream of which one call, and all after it, fail."""

    def __init__(self, works, error):
        super().__init__()
        self.works, self.error, self.failed = works, error, False

    def write(self, text):
        self._count()
        return super().write(text)

    def flush(self):
        self._count()

    def _count(self):
        if self.works == 0:
            self.failed = True
            raise self.error
        self.works -= 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of models, and of people on whom they keep their bounds or do not."""
    folder = tmp_path_factory.mktemp("verdicts")
    write_table(make_table(), folder / "people.csv")
    new = {name: np.array(values, dtype=object) for name, values in make_table(3000, 1).items()}
    women = new["sex"] == "F"
    new["skill"][women] -= 3
    write_table({name: values.tolist() for name, values in new.items()}, folder / "new.csv")
    alone = {name: values[women].tolist() for name, values in new.items()}
    write_table(alone, folder / "women.csv")
    fit = ["fit", str(folder / "people.csv"), "--sensitive", "sex", "--exclude", "person"]
    fit += ["--eps", "0.05", "-o"]
    assert run_line([*fit, str(folder / "fair.equipoise"), "--label", "hired"]) == 0
    number = ("--label", "skill", "--task", "regression")
    assert run_line([*fit, str(folder / "number.equipoise"), *number]) == 0
    return folder


@pytest.fixture
def once(monkeypatch):
    """Let further fits return what the first one has found."""
    first, fit = {}, FairClassifier.fit

    def fit_once(self, *args, **kwargs):
        if not first:
            first.update(vars(fit(self, *args, **kwargs)))
        vars(self).update(first)
        return self

    monkeypatch.setattr(FairClassifier, "fit", fit_once)


PROVE = ("--confidence", "0.99", "--eps", "0.001", "--force")
VERDICTS = {
    "exceeded": (1, "certify", "fair.equipoise", "new.csv"),
    "exceeded, JSON": (1, "certify", "fair.equipoise", "new.csv", "--json"),
    "number": (1, "certify", "number.equipoise", "new.csv"),
    "number, JSON": (1, "certify", "number.equipoise", "new.csv", "--json"),
    "nothing compared": (4, "certify", "fair.equipoise", "women.csv"),
    "nothing compared, JSON": (4, "certify", "fair.equipoise", "women.csv", "--json"),
    "alarm": (5, "monitor", "fair.equipoise", "new.csv", "--state", "state.json"),
    "alarm, JSON": (5, "monitor", "fair.equipoise", "new.csv", "--state", "state.json", "--json"),
    "not proven": (6, "fit", "people.csv", *COLUMNS, *PROVE),
    "not proven, JSON": (6, "fit", "people.csv", *COLUMNS, *PROVE, "--json"),
    "fairest": (6, "fit", "people.csv", *COLUMNS, *PROVE, "--fallback", "fairest"),
    "met": (0, "certify", "fair.equipoise", "people.csv"),
    "error": (2, "certify", "fair.equipoise", "nowhere.csv", "--json"),
}
#: On a full disk, what is printed fails later than on a pipe, but in the same way.
CASES = [*((name, CLOSED) for name in VERDICTS), *((name, FULL) for name in ("exceeded", "met"))]


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(("verdict", "error"), CASES)
def test_whichever_write_fails_the_verdict_stays(folder, monkeypatch, verdict, error):
    expected, *arguments = VERDICTS[verdict]
    monkeypatch.chdir(folder)
    for works in range(1000):
        (folder / "state.json").unlink(missing_ok=True)
        out, err = Failing(works, error), Failing(works, error)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        code = run_line(arguments)
        # A reader that has seen enough is no failure; a full disk is.
        assert code == (2 if out.failed and error is FULL and not expected else expected), works
        if not (out.failed or err.failed):
            break
    assert works > 1


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("certify fair.equipoise new.csv --json | true", 1),
        ("certify fair.equipoise new.csv >&- 2>&-", 1),
        ("--help >&-", 0),
        ("--help | true", 0),
        ("--help > /dev/full", 2),
        ("certify nowhere.equipoise new.csv >&-", 2),
        ("predict fair.equipoise new.csv > /dev/full", 2),
    ],
)
def test_exit_code_1_is_that_of_a_bound_exceeded_whatever_listens(folder, line, code):
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{sys.executable}' -m equipoise.cli {line}"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == code, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    if "/dev/full" in line:
        assert "the standard output" in ran.stderr
        assert "No space left on device" in ran.stderr
