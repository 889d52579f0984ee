"""Files that other versions wrote: read with the same answers, or refused with their names.

`tools/model_corpus.py` writes a folder with the versions that are installed. `make oldest` reads
files of the newest versions with the oldest ones, `make tests` those of the oldest with the newest.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.exceptions import ModelFileError
from equipoise.files import read_manifest
from equipoise.files.manifest import changed_versions

pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")
pytest.importorskip("lightgbm", reason="some of the models are LightGBM's")
pytest.importorskip("pandas", reason="some of the people are in a data frame")
ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "tests" / "files" / "corpus").glob("*/*.equipoise"))
#: Those that every version allowed reads from every other.
ALWAYS_READ = {"bayes", "calibrated", "forest", "tree"}


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import model_corpus
    finally:
        sys.path.pop(0)
    return model_corpus


def test_there_are_files_of_the_oldest_and_of_newer_versions():
    folders = {path.parent.name for path in FILES}
    assert "scikit-learn-1.7.0" in folders
    assert len(folders) > 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_is_read_with_the_same_answers_or_refused(path, tool):
    written = read_manifest(path)["versions"]
    refusal = ""
    try:
        model = equipoise.load(path)
    except ModelFileError as error:
        refusal = str(error)
    if not refusal:
        expected = json.loads((path.parent / "expected.json").read_text())[path.stem]
        np.testing.assert_allclose(tool.answers(model), expected, rtol=1e-6, atol=1e-6)
        return
    assert changed_versions(written), f"these very versions refuse their file: {refusal}"
    assert path.stem not in ALWAYS_READ, refusal
    assert f"scikit-learn {written['scikit-learn']}" in refusal
    assert f"scikit-learn=={written['scikit-learn']}" in refusal
