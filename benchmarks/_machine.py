"""The machine that a benchmark ran on, and how its figures are printed."""

from __future__ import annotations

import os
import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("equipoise", "numpy", "scipy", "scikit-learn", "pandas", "fairlearn")


def machine() -> str:
    """Describe processor, memory and versions in one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{_processor()}, {cores} cores"]
    if hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        parts.append(f"{memory / 2**30:.0f} GiB")
    parts.append(f"{platform.system()}, Python {platform.python_version()}")
    parts += [f"{name} {found}" for name in _PACKAGES if (found := _version(name))]
    return "; ".join(parts) + "."


def parse(parser: ArgumentParser, **small: object) -> Namespace:
    """Return the options of a command line; ``--quick`` takes these ones instead, for some seconds.

    >>> import sys
    >>> sys.argv = ["bundles.py", "--quick"]
    >>> parse(ArgumentParser(), rows=2000)
    Namespace(quick=True, rows=2000)
    """
    parser.add_argument("--quick", action="store_true", help="a small version of the same")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(small)
    return options


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay out rows as a Markdown table.

    >>> print(markdown_table(["calls", "error"], [[8, "0.16"]]))
    | calls | error |
    | --- | --- |
    | 8 | 0.16 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
