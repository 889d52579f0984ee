"""The archive: a zip file of named parts, with a manifest that holds the sha256 of each.

A file may be anybody's work. How much it would expand to is looked at before it is expanded, and
whatever goes wrong inside it is a `ModelFileError`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from equipoise.atomic_files import check_kind, naming_target, new_file
from equipoise.exceptions import ModelFileError, UntrustedTypeError

#: Raised whenever files of the new kind cannot be read by an older version of this package.
FORMAT_VERSION = 1
#: What a file may expand to, unless `load` is told otherwise.
MAX_BYTES = 1 << 31
_MANIFEST, _SEAL = "manifest.json", "manifest.sha256"
_MOST_PARTS = 16
#: Text of this package's making shrinks to a hundredth at most; a bomb, to a thousandth.
_MOST_RATIO, _HARMLESS = 250, 1 << 24


def write(
    path: Path, manifest: Mapping[str, Any], parts: Mapping[str, bytes], *, overwrite: bool
) -> None:
    """Write the parts and the manifest that describes them."""
    kind = {"format": "equipoise model", "format_version": FORMAT_VERSION}
    facts = {
        name: {"bytes": len(data), "sha256": sha256(data).hexdigest()}
        for name, data in parts.items()
    }
    described = {**kind, **manifest, "parts": facts}
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


def read(path: Path, max_bytes: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest and the parts, all of them whole and unchanged."""
    with _opened(path, max_bytes) as archive:
        manifest = _read_manifest(archive, path)
        listed = manifest["parts"].items()
        return manifest, {name: _read_part(archive, path, name, facts) for name, facts in listed}


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest alone."""
    with _opened(path, MAX_BYTES) as archive:
        return _read_manifest(archive, path)


@contextmanager
def _opened(path: Path, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    # Read as a whole: to zipfile, a disk that fails looks like a file that is no archive.
    check_kind(path)
    with naming_target(path):
        data = path.read_bytes()
    with (
        contents_of(path, "it cannot be read as a zip archive"),
        zipfile.ZipFile(BytesIO(data)) as archive,
    ):
        check_expansion(archive, len(data), max_bytes, _MOST_PARTS)
        yield archive


@contextmanager
def contents_of(path: str | Path, how: str) -> Iterator[None]:
    """Turn whatever the contents of a file lead to into one kind of error."""
    try:
        yield
    except UntrustedTypeError:  # it has the types, for programs to look at
        raise
    except ModelFileError as error:
        if str(path) in str(error):
            raise
        raise ModelFileError(f"{path} cannot be loaded: {error}") from error
    except Exception as error:  # a crafted file can lead to any
        raise _damaged(path, f"{how} ({type(error).__name__}: {str(error)[:300]})") from error


def check_expansion(archive: zipfile.ZipFile, size: int, max_bytes: int, most: int) -> None:
    """Refuse an archive that would expand to too much, or that only zip knows how to read."""
    entries = archive.infolist()
    expanded = sum(entry.file_size for entry in entries)
    if len(entries) > most or len({entry.filename for entry in entries}) < len(entries):
        raise ModelFileError(
            f"it has {len(entries)} parts, or one twice; expected no more than {most:,}, each once."
        )
    for entry in entries:
        known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if entry.flag_bits & 1 or not known:
            raise ModelFileError(f"{entry.filename} is encrypted, or packed in an unknown way.")
    if expanded > max_bytes:
        raise ModelFileError(
            f"it would expand to {expanded:,} bytes; the most that is allowed is {max_bytes:,}. If "
            f"you know where the file comes from, allow more: load(path, max_bytes={expanded})."
        )
    if expanded > max(_HARMLESS, _MOST_RATIO * size):
        raise ModelFileError(
            f"it would expand from {size:,} to {expanded:,} bytes, more than {_MOST_RATIO} times "
            "its size. No model file does."
        )


def parse(text: bytes) -> Any:
    """Return the value of a JSON text; it knows no infinity."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def _read_manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if not {_MANIFEST, _SEAL} <= set(archive.namelist()):
        raise ModelFileError(
            f"{path} is a zip archive, but no model file: it has no {_MANIFEST}. Expected a file "
            "that equipoise.save has written."
        )
    text = archive.read(_MANIFEST)
    if sha256(text).hexdigest().encode() != archive.read(_SEAL).strip():
        raise _damaged(path, f"{_MANIFEST} is not what was written")
    manifest = parse(text)
    if not isinstance(manifest, dict) or manifest.get("format") != "equipoise model":
        raise ModelFileError(f"{path} is not a model file: its manifest is of another kind.")
    version = manifest.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        written = manifest.get("versions", {}).get("equipoise", "a newer one")
        raise ModelFileError(
            f"{path} has format version {version}, written by equipoise {written}; this version "
            f"reads up to {FORMAT_VERSION}. Upgrade: pip install --upgrade equipoise."
        )
    for name in ("parts", "versions", "metadata"):
        if not isinstance(manifest.get(name), dict):
            raise _damaged(path, f"its manifest lists no {name}")
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


def _damaged(path: str | Path, how: str) -> ModelFileError:
    return ModelFileError(
        f"{path} is damaged: {how}. Copy the file again from where it was made, or save the model "
        "again."
    )
