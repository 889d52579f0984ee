"""Help and wrong arguments answer at once: heavy libraries are imported when a command runs."""

import subprocess
import sys

import pytest

import equipoise
from equipoise.cli import options
from equipoise.metrics.few import FEW_LIMIT

HEAVY = ("sklearn", "scipy", "numpy", "pandas", "pyarrow", "rich.progress")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["fit", "--help"], 0),
        (["certify", "--help"], 0),
        (["fit", "people.csv", "--labl", "y"], 2),
        (["frontier"], 2),
        (["nothing"], 2),
    ],
)
def test_help_and_wrong_arguments_import_nothing_heavy(arguments, code):
    program = (
        f"import sys; sys.argv = ['equipoise', *{arguments!r}]\n"
        "from equipoise.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n"
        f"    print('ended', end.code, [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == f"ended {code} []", ran.stderr


def test_the_package_knows_its_names_without_importing_them():
    program = "import equipoise, sys; print(sorted(dir(equipoise)), 'sklearn' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip().endswith("False"), ran.stderr
    for name in equipoise.__all__:
        assert repr(name) in ran.stdout
        assert getattr(equipoise, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        equipoise.nothing  # noqa: B018
    assert equipoise.metrics.group_table


def test_the_default_of_an_option_is_that_of_the_library():
    assert options.SUPPRESS_BELOW == FEW_LIMIT
