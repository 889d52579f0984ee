"""verify: whether a model file is undamaged and decides here as where it was saved."""

import json

import pytest
from saving import resealed, rewrite
from sklearn.linear_model import LogisticRegression

from equipoise.files import read_manifest


def test_a_sound_file(run, model, frontier):
    ran = run("verify", model)
    assert ran.code == 0
    assert "fair.equipoise is undamaged. Its model answers 16 made-up rows as it did" in ran.out
    told = run("verify", frontier, "--json").json
    assert told["rows_compared"] == 16
    assert told["written_with"]["python"]


def test_other_versions_are_named(run, model):
    resealed(model, lambda manifest: manifest["versions"].update({"scikit-learn": "1.0"}))
    ran = run("verify", model)
    assert ran.code == 0
    assert "Other versions than here wrote it: scikit-learn 1.0." in ran.out


def test_a_model_that_drifts_is_refused(run, model, monkeypatch):
    before = LogisticRegression.predict_proba
    monkeypatch.setattr(LogisticRegression, "decision_function", lambda self, X: X[:, 0])
    monkeypatch.setattr(LogisticRegression, "predict_proba", lambda self, X: before(self, X)[::-1])
    ran = run("verify", model)
    assert ran.code == 2
    assert "does not answer as it did when it was saved" in ran.err


def test_damage_is_refused(run, model):
    model.write_bytes(model.read_bytes()[:-40])
    ran = run("verify", model)
    assert ran.code == 2
    assert "damaged" in ran.err


@pytest.mark.parametrize(
    ("kept", "word"),
    [(None, "kept no rows to compare on"), ("none: it has dates", "rows to compare on, since it")],
)
def test_a_file_without_rows_to_compare_on_does_not_pass(run, model, kept, word):
    def change(manifest):
        del manifest["parts"]["canaries.json"], manifest["canaries"]
        if kept is not None:
            manifest["canaries"] = kept

    assert "canaries.json" in read_manifest(model)["parts"]
    rewrite(model, **{"canaries.json": None})
    resealed(model, change)
    ran = run("verify", model)
    assert ran.code == 4
    assert "NOTHING WAS COMPARED" in ran.out
    assert word in ran.out
    assert json.loads(run("verify", model, "--json").out)["rows_compared"] == 0
