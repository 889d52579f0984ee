"""What makes a loader of a function: the options and the docstring that all loaders share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import resources
from inspect import Signature, cleandoc, signature
from textwrap import wrap
from typing import Any, Protocol
from urllib.parse import urlsplit

from equipoise.datasets.bunch import DataSet, Table
from equipoise.datasets.source import FOLDER, Source

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
    of its docstring, under "Parameters". The rest of the docstring is written here: it names the
    sources, the sensitive features, what is extra in the Bunch, and the shape that the example has.
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
        text = cleandoc(make.__doc__ or "") + ("" if own else "\n\nParameters\n----------")
        holds = f"""With ``data``, ``target``, ``sensitive`` ({sensitive}), ``frame``,
            ``feature_names``, ``target_names``{extra and ", " + extra} and ``DESCR``, laid out as
            in `load_adult`."""
        folder, effect = (_filled(part) for part in _origin(sources))
        template = (resources.files(__package__) / "descr" / "loader.txt").read_text("utf-8")
        load.__doc__ = text + template.format(
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
    folder = f"A folder that holds {files}; by default ${FOLDER}."
    if not first.url and not first.openml:
        return folder, "Without effect, as there is no download."
    site = urlsplit(first.url).netloc if first.url else "OpenML, which needs pandas"
    folder += f" Next comes the cache, then the download from {site}."
    return folder, "Whether to download a file that is nowhere else."
