"""Tables: tidy rows as CSV, and as Parquet where pyarrow is there."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from equipoise.atomic_files import new_file
from equipoise.experiments.measurements import Row


def write_table(rows: Sequence[Row], columns: Sequence[str], path: Path) -> list[Path]:
    """Write rows as ``path`` with the suffix .csv, and .parquet too if that can be.

    Numbers are rounded to six digits behind the point, far below any uncertainty here.
    """
    tidy = [{name: _tidy(row.get(name)) for name in columns} for row in rows]
    written = [path.with_suffix(".csv")]
    with (
        new_file(written[0], overwrite=True) as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(tidy)
    try:
        from pyarrow import Table, parquet
    except ImportError:
        return written
    written.append(path.with_suffix(".parquet"))
    with new_file(written[1], overwrite=True) as partial:
        parquet.write_table(Table.from_pylist(tidy), partial, compression="zstd")
    return written


def _tidy(value: str | float | int | None) -> str | float | int | None:
    return round(value, 6) if isinstance(value, float) else value
