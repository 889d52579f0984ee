"""Rows that stay on disk: read in batches, trained from, decided on."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from people import make_people, selection_gap
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, FairClassifier, Frontier, ParquetRows
from equipoise.oracles.specs import Refit
from equipoise.rows.hashing import hash_uniform

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
FEATURES = ["x0", "x1", "x2"]


@pytest.fixture(scope="module")
def people():
    return make_people(3000)


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    """Two files, of row groups that do not divide their length, columns in another order."""
    folder = tmp_path_factory.mktemp("people")
    sex = np.where(people.A == 1, "M", "F")
    for number, rows in enumerate((slice(1700), slice(1700, None))):
        columns = {"label": people.y[rows], "sex": sex[rows]}
        columns |= {f"x{j}": people.X[rows, j] for j in (2, 0, 1)}
        file = folder / f"part-{number}.parquet"
        parquet.write_table(pyarrow.table(columns), file, row_group_size=450)
    return folder


@pytest.fixture
def rows(folder):
    return ParquetRows(folder, features=FEATURES, batch_size=400)


def xgboost_classifier(**settings):
    xgboost = pytest.importorskip("xgboost", minversion="3.0")
    return xgboost.XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1, **settings)


def test_batches_are_the_rows_in_order(people, rows):
    batches = list(rows.batches())
    assert max(map(len, batches)) <= 400
    np.testing.assert_array_equal(np.concatenate(batches), people.X)
    assert rows.shape == (3000, 3)
    np.testing.assert_array_equal(rows.column("label"), people.y)
    assert rows.column("sex").tolist() == np.where(people.A == 1, "M", "F").tolist()


def test_missing_values_of_either_kind(tmp_path):
    table = pyarrow.table({"a": [1, None, 3], "b": [True, False, None], "t": ["x", None, "x"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    rows = ParquetRows(tmp_path / "t.parquet", features=["b", "a"])
    (batch,) = rows.batches()
    np.testing.assert_array_equal(batch.astype(float), [[1.0, 1.0], [0.0, np.nan], [np.nan, 3.0]])
    assert rows.column("t").tolist() == ["x", None, "x"]


@pytest.mark.parametrize("threshold", ["tuned", "learner"])
def test_the_same_classifier_as_from_memory(people, rows, threshold):
    """XGBoost's trees from disk are those from memory, to the last digit."""
    learner = xgboost_classifier()
    A = rows.column("sex")
    disk, memory = (
        FairClassifier(learner, DemographicParity(eps=0.02), oracle=Refit(threshold=threshold))
        for _ in range(2)
    )
    disk.fit(rows, rows.column("label"), sensitive_features=A)
    memory.fit(people.X, people.y, sensitive_features=A)
    assert disk.n_calls_ == memory.n_calls_ > 2
    np.testing.assert_array_equal(disk.predict_proba(rows), memory.predict_proba(people.X))
    np.testing.assert_array_equal(disk.predict(rows), memory.predict(people.X))
    np.testing.assert_array_equal(disk.predict(people.X), disk.predict(rows))
    selected = disk.predict_proba(rows)[:, 1]
    assert selection_gap(selected, people.A) <= 0.02 + 1e-6
    assert disk.n_features_in_ == 3


def test_draws_and_keys_are_those_from_memory(people, rows):
    clf = FairClassifier(xgboost_classifier(), DemographicParity(eps=0.02))
    clf.fit(people.X, people.y, sensitive_features=people.A)
    np.testing.assert_array_equal(hash_uniform(rows), hash_uniform(people.X))
    key = np.arange(3000)
    assert (clf.predict(rows, key=key) == clf.predict(people.X, key=key)).all()
    assert (clf.predict(rows, random_state=3) == clf.predict(people.X, random_state=3)).all()


def test_a_frontier_with_a_checkpoint_and_a_report(people, rows, tmp_path):
    frontier = Frontier(
        xgboost_classifier(), DemographicParity(), bounds=[0.02, 0.1], checkpoint=tmp_path
    )
    y, A = rows.column("label"), rows.column("sex")
    frontier.fit(rows, y, sensitive_features=A)
    for entry in frontier.report(rows, y, sensitive_features=A)["test"]:
        selected = frontier.at(entry.bound).predict_proba(people.X)[:, 1]
        assert entry.disparity.estimate == pytest.approx(selection_gap(selected, people.A))
        assert entry.disparity.estimate <= entry.bound + 1e-6
    with pytest.raises(ValueError, match="other columns"):  # an array has no names
        frontier.fit(people.X, y, sensitive_features=A)
    frontier.fit(rows, y, sensitive_features=A)  # the same data


def test_the_bins_on_disk_are_gone_after_the_fit(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []
    clf = FairClassifier(
        xgboost_classifier(),
        DemographicParity(eps=0.02),
        callback=lambda each: seen.extend(tmp_path.glob("equipoise-bins-*/*.page")),
    )
    clf.fit(rows, rows.column("label"), sensitive_features=rows.column("sex"))
    gc.collect()
    assert seen
    assert list(tmp_path.iterdir()) == []
    assert len(pickle.dumps(clf.classifier_)) < 100_000


FIT_AND_DIE = """
import os, signal, sys
from xgboost import XGBClassifier
from equipoise import DemographicParity, FairClassifier, ParquetRows
rows = ParquetRows(sys.argv[1], features=sys.argv[2].split(","))
def die(each):
    os.kill(os.getpid(), signal.SIGKILL)
fair = FairClassifier(XGBClassifier(n_estimators=2), DemographicParity(0.02), callback=die)
fair.fit(rows, rows.column("label"), sensitive_features=rows.column("sex"))
"""


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_the_bins_of_a_killed_fit_are_removed_by_the_next(rows, tmp_path, monkeypatch):
    learner = xgboost_classifier()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    command = [
        sys.executable,
        "-c",
        FIT_AND_DIE,
        str(rows.files[0].parent),
        ",".join(rows.features),
    ]
    assert subprocess.run(command, check=False).returncode == -9
    assert list(temporary.glob("equipoise-bins-*/*.page"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    clf = FairClassifier(learner, DemographicParity(eps=0.02), max_iter=1)
    with pytest.warns(ConvergenceWarning):
        clf.fit(rows, rows.column("label"), sensitive_features=rows.column("sex"))
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["logistic", "pipeline"],
)
def test_other_learners_are_refused_with_advice(rows, learner):
    clf = FairClassifier(learner, DemographicParity())
    with pytest.raises(TypeError, match="Only an XGBClassifier"):
        clf.fit(rows, rows.column("label"), sensitive_features=rows.column("sex"))


def test_settings_that_need_single_rows_are_refused_with_advice(rows):
    for settings in ({"oracle": Refit(cv=3)}, {"oracle": "plugin"}):
        clf = FairClassifier(xgboost_classifier(), DemographicParity(), **settings)
        with pytest.raises(TypeError, match="read in batches and never as a whole"):
            clf.fit(rows, rows.column("label"), sensitive_features=rows.column("sex"))
    clf = FairClassifier(xgboost_classifier(booster="gblinear"), DemographicParity())
    with pytest.raises(TypeError, match="default objective"):
        clf.fit(rows, rows.column("label"), sensitive_features=rows.column("sex"))


def test_files_that_will_not_do(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ParquetRows(tmp_path / "nowhere", features=["x0"])
    with pytest.raises(FileNotFoundError, match=r"holds no \.parquet file"):
        ParquetRows(tmp_path, features=["x0"])
    with pytest.raises(ValueError, match="has no column 'x9'"):
        ParquetRows(folder, features=["x0", "x9"])
    with pytest.raises(ValueError, match="of type string; expected numbers"):
        ParquetRows(folder, features=["sex"])
    with pytest.raises(ValueError, match="features is empty"):
        ParquetRows(folder, features=[])
    with pytest.raises(ValueError, match="batch_size is 0"):
        ParquetRows(folder, features=["x0"], batch_size=0)
    assert "2 files" in repr(ParquetRows(folder, features=["x0"]))
    one = Path(folder) / "part-1.parquet"
    assert len(ParquetRows([one, one], features=["x0"])) == 2600
