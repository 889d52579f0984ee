"""Sources: where the table of a data set is found, and what must be true of it."""

from __future__ import annotations

import os
import tomllib
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.atomic_files import new_file
from equipoise.datasets.bunch import Table, read_table
from equipoise.datasets.download import DownloadError, cache_folder, fetch, fetch_openml
from equipoise.datasets.formats import READERS, from_frame, read_parquet
from equipoise.exceptions import EquipoiseWarning

#: Variable of the environment that names a folder of the user's.
FOLDER = "EQUIPOISE_DATA"


@dataclass(frozen=True)
class Facts:
    """What is known of a table: its rows, and (rows, positive rows) by column and value.

    With a tolerance, other rows of the same population will do: the share of each group and its
    positive rate may differ by so much.
    """

    rows: int
    groups: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    tolerance: float = 0.0

    def check(self, table: Table) -> None:
        """Raise ValueError where the table differs."""
        label = table["label"].to_array()
        if len(label) != self.rows:
            raise ValueError(f"expected {self.rows:,} rows, found {len(label):,}")
        for column, groups in self.groups.items():
            values = table[column].to_array().astype(str)
            total = sum(rows for rows, _ in groups.values())
            for value, (rows, positive) in groups.items():
                inside = values == value
                found = [int(inside.sum()), int((label[inside] == 1).sum())]
                share, rate = found[0] / len(label), found[1] / max(found[0], 1)
                near = (
                    abs(share - rows / total) <= self.tolerance
                    and abs(rate - positive / rows) <= self.tolerance
                )
                if not (near if self.tolerance else found == [rows, positive]):
                    raise ValueError(
                        f"expected {rows:,} rows with {column} {value}, {positive:,} of them "
                        f"positive, found {found[0]:,} and {found[1]:,}"
                    )


@dataclass(frozen=True)
class Source:
    """Where a data set is: its files, its publisher, its facts. See ``sources/name.toml``."""

    name: str  #: ``name.parquet`` in a folder of the user's, ``name.npz`` in the cache.
    kinds: dict[str, str]  #: What the publisher's columns hold, in their order.
    derived: str  #: Columns that `derive` adds,
    facts: tuple[Facts, ...]  #: of all that, one of these must be true.
    dropped: str = ""  #: Columns that `derive` takes away.
    derive: Callable[[Table], Table] = lambda table: table  #: From the publisher's columns.
    tidy: Callable[[Any], Any] = lambda frame: frame  #: Names the columns of OpenML's data frame.
    file: str | None = None  #: The publisher's file, accepted in a folder of the user's, too,
    format: str = ""  #: one of `READERS`,
    missing: tuple[str, ...] | None = None  #: what stands for missing values in it,
    url: str | None = None  #: where it is,
    sha256: str | None = None  #: and its checksum, if that is known.
    openml: int | None = None  #: Number of the data set at OpenML.
    terms: str | None = None  #: Why there is no download, and where to ask for the data.
    names: dict[str, dict[str, str]] = field(default_factory=dict)  #: Of codes, by column.

    @classmethod
    def described(cls, name: str, **functions: Callable[[Any], Any]) -> Source:
        """Return the source that the file ``sources/name.toml`` describes."""
        path = resources.files(__package__) / "sources" / f"{name}.toml"
        given = tomllib.loads(path.read_text("utf-8")) | functions
        columns = given.pop("columns")
        given["kinds"] = {column: kind for kind, some in columns for column in some.split()}
        given["facts"] = tuple(Facts(**facts) for facts in given["facts"])
        return cls(name, **given)

    def parse(self, content: bytes) -> Table:
        """Return the table that the publisher's file holds."""
        options = {} if self.missing is None else {"missing": self.missing}
        return self.derive(READERS[self.format](content, self.kinds, **options))

    def load(self, data_home: str | os.PathLike[str] | None, download_if_missing: bool) -> Table:
        """Return the verified table, from a folder of the user's, the cache, or the publisher."""
        folder = _user_folder(data_home)
        if folder is not None and (table := self._from_folder(folder)) is not None:
            return table
        cached = cache_folder() / f"{self.name}.npz"
        if (table := self._from_cache(cached)) is not None:
            return table
        if self.url is None and self.openml is None:
            raise FileNotFoundError(f"{self._missing(folder)} {self.terms} {self._advice()}")
        if not download_if_missing:
            raise FileNotFoundError(
                f"{self._missing(folder)} download_if_missing=False, so it was not downloaded. "
                f"{self._advice()}"
            )
        table = self._download()
        self._to_cache(cached, table)
        return table

    def verify(self, table: Table, where: str) -> Table:
        """Return the table if it is what it should be, else raise OSError."""
        required = [*self.kinds, *self.derived.split()]
        absent = [name for name in required if name not in table and name not in self.dropped]
        if absent:
            raise self._other(where, f"the column {absent[0]!r} is absent")
        reasons = []
        for facts in self.facts:
            try:
                facts.check(table)
            except ValueError as error:
                reasons.append(str(error))
            else:
                return table
        raise self._other(where, "; or ".join(reasons))

    def _from_folder(self, folder: Path) -> Table | None:
        for file in (f"{self.name}.parquet", self.file):
            if file is None or not (folder / file).is_file():
                continue
            try:
                if file == self.file:
                    table = self.parse((folder / file).read_bytes())
                else:
                    table = read_parquet(folder / file)
            except ValueError as error:
                raise self._other(str(folder / file), str(error)) from error
            return self.verify(table, str(folder / file))
        return None

    def _from_cache(self, path: Path) -> Table | None:
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as archive:
                names = [name for name in archive.files if not name.endswith(".categories")]
                n_rows = len(archive["label"])
            return self.verify(read_table(path, columns=names, n_rows=n_rows), str(path))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None  # damaged: as good as absent, it will be written again

    def _to_cache(self, path: Path, table: Table) -> None:
        arrays = {name: column.values for name, column in table.items()}
        arrays |= {
            f"{name}.categories": column.categories
            for name, column in table.items()
            if column.categories is not None
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with new_file(path, overwrite=True) as partial, partial.open("wb") as stream:
                np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        except OSError as error:
            warnings.warn(
                f"{self.name} was downloaded but cannot be kept in {path.parent}: {error}. Set "
                "EQUIPOISE_CACHE to a folder that can be written to.",
                EquipoiseWarning,
                stacklevel=6,
            )

    def _download(self) -> Table:
        where = self.url or f"https://www.openml.org/d/{self.openml}"
        try:
            if self.url is not None:
                table = self.parse(fetch(self.url, self.sha256))
            elif self.openml is not None:
                frame = self.tidy(fetch_openml(self.openml))
                table = self.derive(from_frame(frame, self.kinds))
        except (DownloadError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise OSError(
                f"{self.name} could not be downloaded from {where}: {reason}. {self._advice()}"
            ) from error
        return self.verify(table, where)

    def _other(self, where: str, reason: str) -> OSError:
        return OSError(f"{where} is not the {self.name} data: {reason}. {self._advice()}")

    def _missing(self, folder: Path | None) -> str:
        looked = [] if folder is None else [str(folder)]
        return f"{self.name} was not found in {' or '.join([*looked, str(cache_folder())])}."

    def _advice(self) -> str:
        files = f"{self.name}.parquet" + (f" or {self.file}" if self.file else "")
        return (
            f"With a copy of {files} in a folder of yours, pass data_home= that folder or set "
            f"{FOLDER} to it; docs/datasets.md says where to get one."
        )


def _user_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    chosen = data_home if data_home is not None else os.environ.get(FOLDER) or None
    if chosen is None:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        name = FOLDER if data_home is None else "data_home"
        raise FileNotFoundError(f"{name} is {str(folder)!r}; expected a folder that exists.")
    return folder
