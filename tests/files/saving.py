"""Models fitted, saved and loaded again."""

import json
import zipfile
from hashlib import sha256

import equipoise
from equipoise import DemographicParity, FairClassifier
from equipoise.files import read_manifest


def round_trip(model, folder, **how):
    equipoise.save(model, folder / "model.equipoise")
    return equipoise.load(folder / "model.equipoise", **how)


def fitted(learner, people, **how):
    fair = FairClassifier(learner, DemographicParity(eps=0.02), **how)
    return fair.fit(people.X, people.y, sensitive_features=people.A)


def rewrite(path, **changes):
    """Write the archive again, with some parts changed or, if None, left out."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts |= {name: data for name, data in changes.items() if data is not None}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            if changes.get(name, b"") is not None:
                archive.writestr(name, data)


def resealed(path, change):
    """Change the manifest and seal it again, as a newer version or an attacker would."""
    manifest = read_manifest(path)
    change(manifest)
    text = json.dumps(manifest).encode()
    rewrite(path, **{"manifest.json": text, "manifest.sha256": sha256(text).hexdigest().encode()})
