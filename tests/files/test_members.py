"""Classifiers of other libraries: only types that are trusted are made again."""

import re
import sys
import tomllib
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from saving import resealed, rewrite, round_trip
from sklearn.base import BaseEstimator, ClassifierMixin

import equipoise
from equipoise import DemographicParity, FairClassifier
from equipoise.exceptions import ModelFileError, UntrustedTypeError
from equipoise.files import read_manifest

skops_io = pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")


class Stump(ClassifierMixin, BaseEstimator):
    """A learner of the user's own: above the weighted mean of the first feature or not."""

    def fit(self, X, y, sample_weight=None):
        self.cut_ = float(np.average(np.asarray(X)[:, 0], weights=sample_weight))
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] > self.cut_).astype(int)


class Attack:
    """What pickle would run, and skops must not."""

    def __init__(self, command="touch"):
        self.command = command

    def __setstate__(self, state):
        raise AssertionError("code of an untrusted type ran")


def test_untrusted_types_are_refused_by_name_before_anything_is_made(saved):
    hostile = skops_io.dumps([Attack()])
    facts = {"bytes": len(hostile), "sha256": sha256(hostile).hexdigest()}
    rewrite(saved, **{"members.skops": hostile})
    resealed(saved, lambda manifest: manifest["parts"].update({"members.skops": facts}))
    with pytest.raises(UntrustedTypeError, match="Attack") as caught:
        equipoise.load(saved)
    assert caught.value.types == [f"{Attack.__module__}.Attack"]


def test_a_learner_of_the_users_own_is_loaded_once_it_is_trusted(people, tmp_path):
    before = FairClassifier(Stump(), DemographicParity(eps=0.3), max_iter=5)
    before.fit(people.X, people.y, sensitive_features=people.A)
    with pytest.raises(UntrustedTypeError, match="Stump"):
        round_trip(before, tmp_path)
    name = f"{Stump.__module__}.Stump"
    assert read_manifest(tmp_path / "model.equipoise")["types_to_trust"] == [name]
    for trusted in ([name], [Stump], name):
        after = equipoise.load(tmp_path / "model.equipoise", trusted=trusted)
        assert (after.predict(people.X) == before.predict(people.X)).all()


def test_a_class_that_no_other_program_has_is_refused_when_saving(people, tmp_path):
    local = type("Local", (Stump,), {})
    local.__module__ = "__main__"
    sys.modules["__main__"].Local = local
    before = FairClassifier(local(), DemographicParity(eps=0.3), max_iter=5)
    before.fit(people.X, people.y, sensitive_features=people.A)
    with pytest.raises(ModelFileError, match=r"__main__\.Local"):
        equipoise.save(before, tmp_path / "model")
    del sys.modules["__main__"].Local


def test_without_skops_saving_and_loading_say_what_to_install(saved, people, monkeypatch):
    model = equipoise.load(saved)
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.delitem(sys.modules, "skops.io")
    with pytest.raises(ImportError, match=r"skops.*pip install 'equipoise\[files\]'"):
        equipoise.save(model, saved.parent / "other")
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    with pytest.raises(ImportError, match=r"skops.*pip install 'equipoise\[files\]'"):
        equipoise.load(saved)


def test_what_the_first_pages_install_can_save():
    root = Path(__file__).resolve().parents[2]
    page = root / "docs" / "start" / "quick_start.md"
    (installed,) = re.findall(r'pip install "\.\[(.*?)\]"', page.read_text(encoding="utf-8"))
    assert "files" in installed.split(",")
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(need.startswith("skops") for need in extras["optional-dependencies"]["files"])
