"""Engines: where rows are kept. A new one is a module or folder here, and an entry below."""

from __future__ import annotations

from typing import Any

from equipoise.engines.base import Engine
from equipoise.engines.dask.engine import DaskEngine
from equipoise.engines.disk import DiskEngine
from equipoise.engines.memory import MemoryEngine

#: The package that a table's class is from -> its engine. All other tables are in memory.
ENGINES: dict[str, type[Engine]] = {"dask": DaskEngine, "equipoise": DiskEngine}


def engine_for(X: Any) -> type[Engine]:
    """Return the engine of this kind of table.

    >>> engine_for([[0.0], [1.0]]).__name__
    'MemoryEngine'
    """
    packages = (kind.__module__.partition(".")[0] for kind in type(X).__mro__)
    return next((ENGINES[name] for name in packages if name in ENGINES), MemoryEngine)
