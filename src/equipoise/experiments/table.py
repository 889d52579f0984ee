"""Tables: tidy rows as CSV, and as Parquet where pyarrow is there."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

from equipoise.experiments.measurements import Row


def write_table(rows: Sequence[Row], columns: Sequence[str], path: Path) -> list[Path]:
    """Write rows as ``path`` with the suffix .csv, and .parquet too if that can be.

    Numbers are rounded to six digits behind the point, far below any uncertainty here.
    """
    tidy = [{name: _tidy(row.get(name)) for name in columns} for row in rows]
    written = [path.with_suffix(".csv")]
    partial = written[0].with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(tidy)
    os.replace(partial, written[0])
    try:
        from pyarrow import Table, parquet
    except ImportError:
        return written
    written.append(path.with_suffix(".parquet"))
    parquet.write_table(Table.from_pylist(tidy), written[1], compression="zstd")
    return written


def read_table(path: Path) -> list[Row]:
    """Read rows of a CSV table; what looks like a number is one, and nothing is None."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _parse(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _tidy(value: str | float | int | None) -> str | float | int | None:
    return round(value, 6) if isinstance(value, float) else value


def _parse(text: str) -> str | float | int | None:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
