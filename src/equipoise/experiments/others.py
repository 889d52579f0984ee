"""Other libraries, as methods: there only where they are installed."""

from __future__ import annotations

from equipoise.experiments.methods import METHODS, Method

#: Other libraries' methods, by name.
OTHERS: dict[str, Method] = {}


def all_methods() -> dict[str, Method]:
    """Return our methods and those of other libraries."""
    return METHODS | OTHERS


def installed_others() -> list[str]:
    """Return the names of the methods whose libraries are installed."""
    return []
