"""Engines: where rows are kept. A new one is a module or folder here, and an entry in `base`."""

from equipoise.engines.base import ENGINES, Engine, engine_for

__all__ = ["ENGINES", "Engine", "engine_for"]
