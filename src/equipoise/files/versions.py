"""Versions of Python and of the libraries on which a result depends."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = (
    *("equipoise", "numpy", "scipy", "scikit-learn"),
    *("skops", "pyarrow", "lightgbm", "xgboost"),
)


def versions() -> dict[str, str]:
    """Return the version of Python and of each library that is installed.

    >>> list(versions())[:3]
    ['python', 'equipoise', 'numpy']
    """
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def date_made() -> str:
    """Return the date, in UTC; that of SOURCE_DATE_EPOCH, where it is set for equal outputs."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return now.date().isoformat()
