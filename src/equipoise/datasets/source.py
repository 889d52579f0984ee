"""Sources: where the table of a data set is found, and what must be true of it; their loaders."""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, cleandoc, signature
from pathlib import Path
from textwrap import wrap
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np

from equipoise.atomic_files import new_file
from equipoise.datasets.bunch import DataSet, Table, read_table
from equipoise.datasets.download import DownloadError, cache_folder, fetch, fetch_openml
from equipoise.datasets.formats import read_parquet
from equipoise.exceptions import EquipoiseWarning

_FOLDER = "EQUIPOISE_DATA"


@dataclass(frozen=True)
class Facts:
    """What is known of a table: its rows, and (rows, positive rows) by column and value.

    With a tolerance, other rows of the same population will do: the share of each group and its
    positive rate may differ by so much.
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
            values = table[column].to_array().astype(str)
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


@dataclass(frozen=True)
class Source:
    """Where a data set is: its files, its publisher, its facts."""

    name: str  #: ``name.parquet`` in a folder of the user's, ``name.npz`` in the cache.
    columns: tuple[str, ...]  #: What a table must have.
    facts: tuple[Facts, ...]  #: One of them must be true.
    file: str | None = None  #: The publisher's file, accepted in a folder of the user's, too.
    parse: Callable[[bytes], Table] | None = None  #: From the publisher's bytes.
    url: str | None = None  #: Where the publisher's file is,
    sha256: str | None = None  #: and its checksum, if that is known.
    openml: int | None = None  #: Number of the data set at OpenML.
    from_openml: Callable[[Any], Table] | None = None  #: From OpenML's data frame.
    terms: str | None = None  #: Why there is no download, and where to ask for the data.

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
                if file == self.file and self.parse is not None:
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

    def _other(self, where: str, reason: str) -> OSError:
        return OSError(f"{where} is not the {self.name} data: {reason}. {self._advice()}")

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


#: What a loader is given: reads a source, from wherever the user's options allow.
Read = Callable[[Source], Table]


class Loader(Protocol):
    """A public loader; the options of some are in ``options``."""

    def __call__(
        self,
        *,
        data_home: str | os.PathLike[str] | None = None,
        download_if_missing: bool = True,
        return_X_y: bool = False,
        as_frame: bool = False,
        **options: Any,
    ) -> Any:
        """Return a Bunch, or the pair (data, target)."""


def loader(
    *sources: Source, sensitive: str, shape: tuple[int, int], extra: str = "", example: str = ""
) -> Callable[[Callable[..., DataSet]], Loader]:
    """Turn a function that makes a `DataSet` into a loader, with the options that all have.

    The function is given what reads a source, and its own options; these are described at the end
    of its docstring, under "Parameters". The rest of the docstring is written here.

    Parameters
    ----------
    sources : Source
        What may be read.
    sensitive, extra : str
        The sensitive features, and what else is in the Bunch, for the docstring.
    shape, example
        Of the array that is loaded by the example of the docstring, and its options.
    """

    def decorate(make: Callable[..., DataSet]) -> Loader:
        name = make.__name__.removeprefix("load_")

        @wraps(make)
        def load(
            *,
            data_home: str | os.PathLike[str] | None = None,
            download_if_missing: bool = True,
            return_X_y: bool = False,
            as_frame: bool = False,
            **options: Any,
        ) -> Any:
            found = make(lambda source: source.load(data_home, download_if_missing), **options)
            return found.bunch(name, as_frame=as_frame, return_X_y=return_X_y)

        own = list(signature(make).parameters.values())[1:]
        shared = list(signature(Loader.__call__).parameters.values())[1:-1]
        load.__signature__ = Signature(own + shared, return_annotation=Any)  # type: ignore[attr-defined]
        text = cleandoc(make.__doc__ or "")
        text += "" if own else "\n\nParameters\n----------"
        holds = f"""With ``data``, ``target``, ``sensitive`` ({sensitive}), ``frame``,
            ``feature_names``, ``target_names``{extra and ", " + extra} and ``DESCR``, laid out as
            in `load_adult`."""
        folder, effect = (_filled(part) for part in _origin(sources))
        load.__doc__ = text + _SHARED.format(
            name=name, folder=folder, effect=effect, holds=_filled(holds), call=example, shape=shape
        )
        return load

    return decorate


def _filled(text: str) -> str:
    return "\n    ".join(wrap(" ".join(text.split()), 92))


def _origin(sources: Sequence[Source]) -> tuple[str, str]:
    """Return what the folder of a loader holds, and what its download does, in words."""
    first = sources[0]
    files = " or ".join(
        f"``{file}``" for s in sources for file in (f"{s.name}.parquet", s.file) if file
    )
    folder = f"A folder that holds {files}; by default ${_FOLDER}."
    effect = "Without effect, as there is no download."
    if first.url or first.openml:
        site = urlsplit(first.url).netloc if first.url else "OpenML, which needs pandas"
        folder += f" Next comes the cache, then the download from {site}."
        effect = "Whether to download a file that is nowhere else."
    return folder, effect


_SHARED = """
data_home : path, optional
    {folder}
download_if_missing : bool, default=True
    {effect}
return_X_y, as_frame : bool, default=False
    See `load_adult`.

Returns
-------
{name} : :class:`sklearn.utils.Bunch`
    {holds}

(data, target) : tuple
    If ``return_X_y=True``.

Raises
------
OSError
    If the data are not there and cannot be had, or are not what they should be.

Examples
--------
>>> from equipoise.datasets import load_{name}
>>> {name} = load_{name}({call})  # doctest: +SKIP
>>> {name}.data.shape  # doctest: +SKIP
{shape}
"""
