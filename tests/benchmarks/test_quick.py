"""Every benchmark runs: ``--quick`` is a small version of what its figures are from."""

import os
import sys
import urllib.request
from pathlib import Path

import pytest

from equipoise.datasets import download

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)
NAMES = sorted(path.stem for path in BENCHMARKS.glob("[a-z]*.py"))
SHARED = BENCHMARKS.parents[1] / "shared" / "data"


@pytest.mark.processes
@pytest.mark.filterwarnings("ignore")  # small versions of a problem are no good fits
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs(name, monkeypatch, tmp_path, capsys):
    def refuse(*given, **more):
        raise OSError("tests download nothing")

    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--quick"])
    if "EQUIPOISE_DATA" not in os.environ and SHARED.exists():
        monkeypatch.setenv("EQUIPOISE_DATA", str(SHARED))
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.chdir(tmp_path)
    module = pytest.importorskip(name)
    code = None
    try:
        module.main()
    except SystemExit as end:
        code = end.code
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and ".parquet" in str(error)
        if not missing and "could not be downloaded" not in str(error):
            raise
        pytest.skip("the data of this benchmark are not here; EQUIPOISE_DATA says where they are")
    assert not code
    assert capsys.readouterr().out
