"""Engines: where rows are kept. A new one is a module or folder here, and an entry below."""

from __future__ import annotations

from typing import Any

from equipoise.engines.base import Engine
from equipoise.engines.dask.engine import DaskEngine
from equipoise.engines.disk import DiskEngine
from equipoise.engines.memory import MemoryEngine

#: The first that accepts a table reads it.
ENGINES: tuple[type[Engine], ...] = (DaskEngine, DiskEngine, MemoryEngine)


def engine_for(X: Any) -> type[Engine]:
    """Return the engine of this kind of table.

    >>> engine_for([[0.0], [1.0]]).__name__
    'MemoryEngine'
    """
    return next(engine for engine in ENGINES if engine.accepts(X))
