"""The archive: a zip file of named parts, with a manifest that holds the sha256 of each."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from equipoise.atomic_files import new_file
from equipoise.exceptions import ModelFileError

#: Raised whenever files of the new kind cannot be read by an older version of this package.
FORMAT_VERSION = 1
_MANIFEST, _SEAL = "manifest.json", "manifest.sha256"
#: A manifest is a few kilobytes; more is an attack or a mistake.
_LARGEST_MANIFEST = 1 << 27
_NOT_READABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeError)


def write(
    path: Path, manifest: Mapping[str, Any], parts: Mapping[str, bytes], *, overwrite: bool
) -> None:
    """Write the parts and the manifest that describes them."""
    described = {
        "format": "equipoise model",
        "format_version": FORMAT_VERSION,
        **manifest,
        "parts": {
            name: {"bytes": len(data), "sha256": sha256(data).hexdigest()}
            for name, data in parts.items()
        },
    }
    text = json.dumps(described, indent=1, ensure_ascii=False, allow_nan=False).encode()
    everything = {_MANIFEST: text, _SEAL: sha256(text).hexdigest().encode(), **parts}
    with (
        new_file(path, overwrite=overwrite) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, data in everything.items():
            # A fixed date: a file tells nothing about when it was made.
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)


def read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest and the parts, all of them whole and unchanged."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _read_manifest(archive, path)
            return manifest, {
                name: _read_part(archive, path, name, facts)
                for name, facts in manifest["parts"].items()
            }
    except _NOT_READABLE as error:
        raise _damaged(path, f"it cannot be read as a zip archive ({error})") from None


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_manifest(archive, path)
    except _NOT_READABLE as error:
        raise _damaged(path, f"it cannot be read as a zip archive ({error})") from None


def _read_manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    names = archive.namelist()
    if _MANIFEST not in names or _SEAL not in names:
        raise ModelFileError(
            f"{path} is a zip archive, but no model file: it has no {_MANIFEST}. Expected a file "
            "that equipoise.save has written."
        )
    if archive.getinfo(_MANIFEST).file_size > _LARGEST_MANIFEST:
        raise _damaged(path, "its manifest is far too large")
    text = archive.read(_MANIFEST)
    if sha256(text).hexdigest().encode() != archive.read(_SEAL).strip():
        raise _damaged(path, f"{_MANIFEST} is not what was written")
    manifest = json.loads(text)
    if not isinstance(manifest, dict) or manifest.get("format") != "equipoise model":
        raise ModelFileError(f"{path} is not a model file: its manifest is of another kind.")
    version = manifest.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        written = manifest.get("versions", {}).get("equipoise", "a newer one")
        raise ModelFileError(
            f"{path} has format version {version}, written by equipoise {written}; this version "
            f"reads up to {FORMAT_VERSION}. Upgrade: pip install --upgrade equipoise."
        )
    if not isinstance(manifest.get("parts"), dict):
        raise _damaged(path, "its manifest lists no parts")
    return manifest


def _read_part(archive: zipfile.ZipFile, path: Path, name: str, facts: dict[str, Any]) -> bytes:
    if name not in archive.namelist():
        raise _damaged(path, f"{name} is missing")
    if archive.getinfo(name).file_size != facts["bytes"]:
        raise _damaged(path, f"{name} has another size than was written")
    data = archive.read(name)
    if sha256(data).hexdigest() != facts["sha256"]:
        raise _damaged(path, f"{name} is not what was written")
    return data


def _damaged(path: Path, how: str) -> ModelFileError:
    return ModelFileError(
        f"{path} is damaged: {how}. Copy the file again from where it was made, or save the model "
        "again."
    )
