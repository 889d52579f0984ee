"""Whatever is done to a file, loading it gives a model or says that it cannot be loaded."""

import json
import zipfile
from hashlib import sha256
from io import BytesIO

import numpy as np
import pytest
from people import make_people
from saving import fitted
from sklearn.linear_model import LinearRegression, LogisticRegression

import equipoise
from equipoise import DemographicParity, FairRegressor
from equipoise.exceptions import ModelFileError
from equipoise.files.state import is_model

pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")

ODD = [None, True, -1, 0, 1e308, 10**30, "", "x", [], {}, [[]], {"$same": 0}, {"$object": 9}]
ODD += [
    {"$kind": "Pool"},
    {"$array": "<U999999999", "shape": [1], "values": ["a"]},
    {"$float": "x"},
]


def regressor(people):
    fair = FairRegressor(LinearRegression(), DemographicParity(0.1), thresholds=4)
    return fair.fit(people.X, people.X.sum(axis=1) + people.y, sensitive_features=people.A)


MODELS = {
    "classifier": lambda people: fitted(LogisticRegression(), people),
    "regressor": regressor,
}


@pytest.fixture(scope="module", params=MODELS)
def parts(request, tmp_path_factory):
    """Return the bytes of a file, and of its parts."""
    path = tmp_path_factory.mktemp("fuzz") / "fair.equipoise"
    equipoise.save(MODELS[request.param](make_people()), path)
    with zipfile.ZipFile(path) as archive:
        return path.read_bytes(), {name: archive.read(name) for name in archive.namelist()}


def check(path, data):
    """Return whether the file was loaded; any other error than the two fails the test."""
    path.write_bytes(data)
    try:
        model = equipoise.load(path)
    except ModelFileError:  # also of an untrusted type
        return False
    assert is_model(model)
    return True


def sealed(parts, **changes):
    """Return a file with other parts and right hashes, as an attacker would write it."""
    parts = {**parts, **changes}
    manifest = json.loads(parts["manifest.json"])
    for name in manifest["parts"]:
        facts = {"bytes": len(parts[name]), "sha256": sha256(parts[name]).hexdigest()}
        manifest["parts"][name] = facts
    parts["manifest.json"] = json.dumps(manifest).encode()
    parts["manifest.sha256"] = sha256(parts["manifest.json"]).hexdigest().encode()
    return zipped(parts)


def zipped(parts, compression=zipfile.ZIP_DEFLATED):
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def nodes(value, found):
    """Collect (container, key) of everything inside a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in list(entries):
        found.append((value, key))
        if isinstance(entry, (dict, list)):
            nodes(entry, found)
    return found


def edited(text, rng):
    """Return JSON in which one thing is another, or gone."""
    value = json.loads(text)
    places = nodes(value, [])
    container, key = places[rng.integers(len(places))]
    if rng.random() < 0.2:
        del container[key]
    elif rng.random() < 0.3:
        other, where = places[rng.integers(len(places))]
        container[key] = json.loads(json.dumps(other[where])) if where in other else None
    else:
        container[key] = ODD[rng.integers(len(ODD))]
    return json.dumps(value).encode()


def test_flipped_bytes_and_truncations(parts, tmp_path):
    data, _ = parts
    rng = np.random.default_rng(0)
    for _ in range(90):
        changed = bytearray(data)
        for at in rng.integers(len(data), size=rng.integers(1, 4)):
            changed[at] ^= rng.integers(1, 256)
        check(tmp_path / "m", bytes(changed))
    for length in rng.integers(len(data), size=30):
        assert not check(tmp_path / "m", data[:length])


def test_edits_of_the_state_with_right_hashes(parts, tmp_path):
    _, inside = parts
    rng = np.random.default_rng(1)
    loaded = [
        check(tmp_path / "m", sealed(inside, **{"state.json": edited(inside["state.json"], rng)}))
        for _ in range(80)
    ]
    assert 0 < sum(loaded) < len(loaded)


def test_edits_of_the_manifest_with_a_right_seal(parts, tmp_path):
    _, inside = parts
    rng = np.random.default_rng(2)
    for _ in range(30):
        text = edited(inside["manifest.json"], rng)
        seal = sha256(text).hexdigest().encode()
        changed = {**inside, "manifest.json": text, "manifest.sha256": seal}
        check(tmp_path / "m", zipped(changed))


def test_edits_of_the_members_with_right_hashes(parts, tmp_path):
    _, inside = parts
    rng = np.random.default_rng(3)
    with zipfile.ZipFile(BytesIO(inside["members.skops"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(30):
        schema = edited(members["schema.json"], rng)
        changed = zipped({**members, "schema.json": schema}, zipfile.ZIP_STORED)
        check(tmp_path / "m", sealed(inside, **{"members.skops": changed}))


def array_header(shape):
    file = BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def crafted(inside):
    """Return files that are made to harm, by what they do, and a word of the error."""
    spaces = b" " * (1 << 26)
    deep = b"[" * 200_000 + b"]" * 200_000
    state = json.loads(inside["state.json"])
    with zipfile.ZipFile(BytesIO(inside["members.skops"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = {name: array_header((10**12,)) for name in members if name.endswith(".npy")}
    encrypted = bytearray(zipped(inside))
    at = encrypted.rindex(b"PK\x01\x02")
    encrypted[at + 8] |= 1
    files = {
        "a bomb": (sealed(inside, **{"state.json": spaces}), "times its size"),
        "a bomb as a seal": (zipped({**inside, "manifest.sha256": spaces}), "times its size"),
        "many parts": (zipped({**inside, **{f"p{i}": b"" for i in range(99)}}), "104 parts"),
        "another packing": (zipped(inside, zipfile.ZIP_LZMA), "packed in an unknown way"),
        "encrypted": (bytes(encrypted), "encrypted"),
        "deep state": (sealed(inside, **{"state.json": deep}), "RecursionError"),
        "claims": (
            sealed(inside, **{"members.skops": zipped({**members, **arrays}, zipfile.ZIP_STORED)}),
            "is not in",
        ),
    }
    for what in (None, [], {}, 1.5, "text", {"$object": 0}):
        files[f"no model but {what!r}"] = (
            sealed(inside, **{"state.json": json.dumps(what).encode()}),
            "expected a model",
        )
    held = state["state"]
    mixture = (
        held["regressor_"]["state"]["_lottery"] if "regressor_" in held else held["classifier_"]
    )
    weights = mixture["state"]["weights"]
    n = len(weights["values"])
    for values in ([-1.0, 2.0, *[0.0] * (n - 2)], [0.5] * (n + 1), [{"$float": "nan"}] * n, []):
        weights["values"], weights["shape"] = values, [len(values)]
        text = json.dumps(state).encode()
        files[f"weights {values!r}"] = (sealed(inside, **{"state.json": text}), "weights")
    return files


def test_crafted_files_are_refused(parts, tmp_path):
    for what, (data, word) in crafted(parts[1]).items():
        (tmp_path / "m").write_bytes(data)
        with pytest.raises(ModelFileError) as caught:
            equipoise.load(tmp_path / "m")
        assert word in str(caught.value), (what, str(caught.value))
        assert str(tmp_path / "m") in str(caught.value) or what == "claims"


def test_the_limit_can_be_set(parts, tmp_path):
    (tmp_path / "m").write_bytes(parts[0])
    with pytest.raises(ModelFileError, match=r"would expand to .*max_bytes="):
        equipoise.load(tmp_path / "m", max_bytes=1000)
    assert is_model(equipoise.load(tmp_path / "m", max_bytes=1 << 22))


def test_names_of_no_file_are_not_the_fault_of_a_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        equipoise.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        equipoise.load(tmp_path)
