"""Nothing but a sound file is read."""

import zipfile
from hashlib import sha256

import numpy as np
import pytest
from people import make_people
from saving import resealed, rewrite

import equipoise
from equipoise.exceptions import ModelFileError

skops_io = pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")


def test_a_truncated_file_is_refused_wherever_it_ends(saved):
    data = saved.read_bytes()
    for length in (0, 10, len(data) // 3, len(data) // 2, len(data) - 30, len(data) - 1):
        saved.write_bytes(data[:length])
        with pytest.raises(ModelFileError, match="damaged"):
            equipoise.load(saved)


def test_a_changed_byte_is_found_wherever_it_is(saved):
    data = saved.read_bytes()
    rng = np.random.default_rng(0)
    before = equipoise.load(saved).predict_proba(make_people().X)
    for at in rng.choice(len(data), size=60, replace=False):
        changed = bytearray(data)
        changed[at] ^= 0x55
        saved.write_bytes(changed)
        try:
            after = equipoise.load(saved)
        except ModelFileError:
            continue
        # A byte that zip itself does not look at, such as a date.
        assert (after.predict_proba(make_people().X) == before).all()


def test_weights_that_were_changed_by_hand_are_found(saved):
    with zipfile.ZipFile(saved) as archive:
        state = archive.read("state.json")
    rewrite(saved, **{"state.json": state.replace(b'"classes_"', b'"classes-"')})
    with pytest.raises(ModelFileError, match=r"state.json is not what was written"):
        equipoise.load(saved)


@pytest.mark.parametrize("part", ["state.json", "members.skops"])
def test_missing_parts_are_named(saved, part):
    rewrite(saved, **{part: None})
    with pytest.raises(ModelFileError, match=f"{part} is missing"):
        equipoise.load(saved)


def test_files_of_a_newer_version_are_refused(saved):
    resealed(saved, lambda manifest: manifest.update(format_version=99))
    with pytest.raises(ModelFileError, match=r"format version 99.*Upgrade"):
        equipoise.load(saved)


def test_what_is_no_model_file_is_refused(tmp_path):
    text = tmp_path / "model.txt"
    text.write_text("hello")
    with pytest.raises(ModelFileError, match="zip"):
        equipoise.load(text)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(ModelFileError, match="no model file"):
        equipoise.load(tmp_path / "other.zip")
    with pytest.raises(FileNotFoundError):
        equipoise.load(tmp_path / "nowhere")


def test_state_of_an_unknown_kind_is_refused(saved):
    with zipfile.ZipFile(saved) as archive:
        state = archive.read("state.json").replace(b'"FairClassifier"', b'"FairerClassifier"')
    facts = {"bytes": len(state), "sha256": sha256(state).hexdigest()}
    rewrite(saved, **{"state.json": state})
    resealed(saved, lambda manifest: manifest["parts"].update({"state.json": facts}))
    with pytest.raises(ModelFileError, match="'FairerClassifier', which this version"):
        equipoise.load(saved)
