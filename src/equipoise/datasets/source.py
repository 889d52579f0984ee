"""Sources: where the table of a data set is found, and what must be true of it."""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from equipoise.atomic_files import new_file
from equipoise.datasets.bunch import Column, Table, read_table
from equipoise.datasets.download import DownloadError, cache_folder, fetch, fetch_openml
from equipoise.datasets.formats import read_parquet
from equipoise.exceptions import EquipoiseWarning

_FOLDER = "EQUIPOISE_DATA"
Loader = TypeVar("Loader", bound=Callable[..., Any])


@dataclass(frozen=True)
class Facts:
    """What is known of a table: its rows, and how many of each group are positive.

    Parameters
    ----------
    n_rows : int
    groups : mapping from column to mapping from value to (rows, positive rows)
    tolerance : float, default=0
        By how much the share of a group and its positive rate may differ from that; for a table
        of other rows of the same population.
    """

    n_rows: int
    groups: Mapping[str, Mapping[str, tuple[int, int]]]
    tolerance: float = 0.0

    def check(self, table: Table) -> None:
        """Raise ValueError where the table differs."""
        label = table["label"].to_array()
        if len(label) != self.n_rows:
            raise ValueError(f"expected {self.n_rows:,} rows, found {len(label):,}")
        for column, groups in self.groups.items():
            values = _strings(table[column])
            total = sum(rows for rows, _ in groups.values())
            for value, (rows, positive) in groups.items():
                inside = values == value
                found = (int(inside.sum()), int((label[inside] == 1).sum()))
                share, rate = found[0] / len(label), found[1] / max(found[0], 1)
                near = (
                    abs(share - rows / total) <= self.tolerance
                    and abs(rate - positive / rows) <= self.tolerance
                )
                if not (near if self.tolerance else found == (rows, positive)):
                    raise ValueError(
                        f"expected {rows:,} rows with {column} {value}, {positive:,} of them "
                        f"positive, found {found[0]:,} and {found[1]:,}"
                    )


def _strings(column: Column) -> Any:
    return column.to_array() if column.categories is not None else column.to_array().astype(str)


@dataclass(frozen=True)
class Source:
    """A data set: its files, its publisher, its facts.

    Parameters
    ----------
    name : str
        ``name.parquet`` in a folder of the user's, ``name.npz`` in the cache.
    columns : sequence of str
        What a table must have.
    facts : tuple of Facts
        One of them must be true.
    file : str, optional
        How the publisher's file is called; it is accepted in a folder of the user's, too.
    parse : function from the publisher's bytes to a table, optional
    url, sha256 : str, optional
        Where the publisher's file is, and its checksum if that is known.
    openml : int, optional
        Number of the data set at OpenML.
    from_openml : function from a data frame to a table, optional
    terms : str, optional
        Why there is no download, and where the data can be asked for.
    """

    name: str
    columns: tuple[str, ...]
    facts: tuple[Facts, ...]
    file: str | None = None
    parse: Callable[[bytes], Table] | None = None
    url: str | None = None
    sha256: str | None = None
    openml: int | None = None
    from_openml: Callable[[Any], Table] | None = None
    terms: str | None = None

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
        if absent := [name for name in self.columns if name not in table]:
            raise OSError(
                f"{where} is not the {self.name} data: the column {absent[0]!r} is absent. "
                f"{self._advice()}"
            )
        reasons = []
        for facts in self.facts:
            try:
                facts.check(table)
            except ValueError as error:
                reasons.append(str(error))
            else:
                return table
        raise OSError(
            f"{where} is not the {self.name} data: {'; or '.join(reasons)}. {self._advice()}"
        )

    def _from_folder(self, folder: Path) -> Table | None:
        for file in (f"{self.name}.parquet", self.file):
            if file is None or not (folder / file).is_file():
                continue
            try:
                if file == self.file and self.parse is not None:
                    table = self.parse((folder / file).read_bytes())
                else:
                    table = read_parquet(folder / file)
            except ValueError as error:
                raise OSError(
                    f"{folder / file} is not the {self.name} data: {error}. {self._advice()}"
                ) from error
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
                stacklevel=4,
            )

    def _download(self) -> Table:
        where = self.url or f"https://www.openml.org/d/{self.openml}"
        try:
            if self.url is not None and self.parse is not None:
                table = self.parse(fetch(self.url, self.sha256))
            elif self.openml is not None and self.from_openml is not None:
                table = self.from_openml(fetch_openml(self.openml))
        except (DownloadError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise OSError(
                f"{self.name} could not be downloaded from {where}: {reason}. {self._advice()}"
            ) from error
        return self.verify(table, where)

    def _missing(self, folder: Path | None) -> str:
        looked = [] if folder is None else [str(folder)]
        return f"{self.name} was not found in {' or '.join([*looked, str(cache_folder())])}."

    def _advice(self) -> str:
        files = f"{self.name}.parquet" + (f" or {self.file}" if self.file else "")
        return (
            f"With a copy of {files} in a folder of yours, pass data_home= that folder or set "
            f"{_FOLDER} to it; docs/datasets.md says where to get one."
        )


def _user_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    chosen = data_home if data_home is not None else os.environ.get(_FOLDER) or None
    if chosen is None:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        name = _FOLDER if data_home is None else "data_home"
        raise FileNotFoundError(f"{name} is {str(folder)!r}; expected a folder that exists.")
    return folder


def documented(*sources: Source) -> Callable[[Loader], Loader]:
    """Write into the docstring of a loader what all loaders share: where the data come from."""
    files = " or ".join(
        f"``{file}``" for s in sources for file in (f"{s.name}.parquet", s.file) if file
    )
    folder = f"A folder that holds {files}; by default ${_FOLDER}."
    effect = "Without effect, as there is no download."
    if sources[0].url or sources[0].openml:
        site = urlsplit(sources[0].url).netloc if sources[0].url else "OpenML, which needs pandas"
        folder += f" Next comes the cache, then the download from {site}."
        effect = "Whether to download a file that is nowhere else."
    parameters = _PARAMETERS.format(folder="\n    ".join(wrap(folder, 92)), effect=effect)

    def fill(loader: Loader) -> Loader:
        text = cleandoc(loader.__doc__ or "")  # without the indentation of the source
        text = text.replace("SHARED_PARAMETERS", parameters).replace("SHARED_RETURNS", _RETURNS)
        loader.__doc__ = text
        return loader

    return fill


_PARAMETERS = """\
data_home : path, optional
    {folder}
download_if_missing : bool, default=True
    {effect}
return_X_y, as_frame : bool, default=False
    See `load_adult`."""

_RETURNS = """\
(data, target) : tuple
    If ``return_X_y=True``.

Raises
------
OSError
    If the data are not there and cannot be had, or are not what they should be."""
