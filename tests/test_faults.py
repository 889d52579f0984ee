"""The n-th write, read, flush or rename fails, for every n: files stay whole, errors are clear."""

import os
import shutil

import numpy as np
import pytest
from faults import every_fault
from people import make_people
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equipoise
from equipoise import DemographicParity, FairClassifier, Monitor
from equipoise.atomic_files import new_file

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="names of open files are looked up in /proc"
)


@pytest.fixture(scope="module")
def people():
    return make_people(200)


@pytest.fixture(scope="module")
def fair(people):
    fair = FairClassifier(LogisticRegression(), DemographicParity(0.05))
    return fair.fit(people.X, people.y, sensitive_features=people.A)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def check_error(faults, folder):
    """Check that a fault was told by an error that says what went wrong, and with which file."""
    assert isinstance(faults.error, OSError), (faults.calls[-1], faults.error)
    said = str(faults.error)
    assert "Input/output error" in said or "No space left on device" in said
    assert str(folder) in said


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_is_the_old_one_or_the_new_one(overwrite, tmp_path, monkeypatch):
    target = tmp_path / "note.txt"

    if overwrite:
        target.write_text("old")

    def write():
        with new_file(target, overwrite=overwrite) as partial:
            partial.write_text("new " * 500)

    seen = set()
    for faults in every_fault(tmp_path, monkeypatch, write):
        if faults.error is not None:
            check_error(faults, tmp_path)
            seen.add(faults.calls[-1])
            assert names(tmp_path) == (["note.txt"] if overwrite else [])
            assert not overwrite or target.read_text() == "old"
        else:  # no fault, or renaming took the place of a link that could not be made
            assert target.read_text() == "new " * 500
        target.unlink(missing_ok=True)
        if overwrite:
            target.write_text("old")
    assert {"write", "fsync", "open"} <= seen


@pytest.mark.parametrize("overwrite", [True, False])
def test_save(overwrite, fair, tmp_path, monkeypatch):
    pytest.importorskip("skops", reason="model files need skops: equipoise[files]")
    target = tmp_path / "fair.equipoise"
    old = b""
    if overwrite:
        equipoise.save(fair, target, metadata={"is": "old"})
        old = target.read_bytes()
    failed = 0
    for faults in every_fault(
        tmp_path, monkeypatch, lambda: equipoise.save(fair, target, overwrite=overwrite)
    ):
        if not faults.has_failed:
            continue
        failed += 1
        if faults.error is None:  # renaming took the place of a link that could not be made
            assert equipoise.files.read_manifest(target)["metadata"] == {}
        else:
            check_error(faults, tmp_path)
            assert names(tmp_path) == (["fair.equipoise"] if overwrite else [])
        if overwrite:
            target.write_bytes(old)
        else:
            target.unlink(missing_ok=True)
    assert failed > 10


def test_load(fair, tmp_path, monkeypatch):
    pytest.importorskip("skops", reason="model files need skops: equipoise[files]")
    target = tmp_path / "fair.equipoise"
    equipoise.save(fair, target)
    failed = 0
    for faults in every_fault(tmp_path, monkeypatch, lambda: equipoise.load(target)):
        if faults.has_failed:
            failed += 1
            check_error(faults, tmp_path)
    assert failed > 1


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.CheckpointWarning")
def test_checkpoints(people, tmp_path, monkeypatch):
    learner = DecisionTreeClassifier(max_depth=3, random_state=0)
    folder = tmp_path / "answers"

    def fit():
        fair = FairClassifier(learner, DemographicParity(0.02), checkpoint=folder, nu=0.01)
        fair.fit(people.X, people.y, sensitive_features=people.A)
        return fair.predict_proba(people.X)

    plain = FairClassifier(learner, DemographicParity(0.02), nu=0.01)
    plain.fit(people.X, people.y, sensitive_features=people.A)
    expected = plain.predict_proba(people.X)
    failed = 0
    for faults in every_fault(folder, monkeypatch, fit):
        if faults.error is not None:
            failed += 1
            check_error(faults, tmp_path)
            assert not list(folder.glob(".*.partial"))
            np.testing.assert_array_equal(fit(), expected)  # from what was kept until then
        shutil.rmtree(folder)
    assert failed > 10


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.CheckpointWarning")
def test_answers_of_a_checkpoint_that_cannot_be_read_are_trained_again(
    people, tmp_path, monkeypatch
):
    learner = DecisionTreeClassifier(max_depth=3, random_state=0)

    def fit():
        fair = FairClassifier(learner, DemographicParity(0.02), checkpoint=tmp_path, nu=0.01)
        fair.fit(people.X, people.y, sensitive_features=people.A)
        found.append(fair.predict_proba(people.X))

    found = []
    fit()
    for faults in every_fault(tmp_path, monkeypatch, fit):
        if faults.error is not None:
            check_error(faults, tmp_path)
    for again in found[1:]:
        np.testing.assert_array_equal(again, found[0])


def test_the_state_of_a_monitor(fair, tmp_path, monkeypatch):
    target = tmp_path / "monitor.json"
    monitor = Monitor(fair)
    first, second = make_people(200, seed=1), make_people(200, seed=2)
    monitor.update(first.X, first.y, sensitive_features=first.A)
    monitor.save(target)
    old = target.read_bytes()
    monitor.update(second.X, second.y, sensitive_features=second.A)
    failed = 0
    for faults in every_fault(tmp_path, monkeypatch, lambda: monitor.save(target)):
        if faults.error is not None:
            failed += 1
            assert isinstance(faults.error, OSError)
            assert names(tmp_path) == ["monitor.json"]
            assert target.read_bytes() == old
    assert failed > 3
    assert "2 days" in repr(Monitor.load(target, fair))
    for faults in every_fault(tmp_path, monkeypatch, lambda: Monitor.load(target, fair)):
        assert faults.has_failed == isinstance(faults.error, OSError)
