"""Measurements: error and violation of expected decisions, with 95 % intervals, as flat rows."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from equipoise.atomic_files import new_file
from equipoise.cells.table import Array
from equipoise.experiments.methods import Outcome
from equipoise.experiments.panels import Notion, Part, Split
from equipoise.metrics import confidence_interval, error_rate

#: Columns of the results table, in order.
COLUMNS = (
    *("problem", "learner", "notion", "method", "seed", "setting", "part", "n", "error"),
    *("error_low", "error_high", "violation", "violation_low", "violation_high", "fits"),
)
Row = dict[str, str | float | int | None]
Item = TypeVar("Item")


def number(row: Row, name: str) -> float:
    """Return a column of a row as a number; NaN where there is none."""
    value = row[name]
    return float("nan") if value is None or value == "" else float(value)


def grouped(items: Iterable[Item], *names: str) -> Iterator[tuple[tuple[Any, ...], list[Item]]]:
    """Yield groups by columns or attributes, in the order in which they first appear.

    >>> [(key, len(some)) for key, some in grouped([{"a": 2}, {"a": 1}, {"a": 2}], "a")]
    [((2,), 2), ((1,), 1)]
    """
    groups: dict[tuple[Any, ...], list[Item]] = {}
    for item in items:
        row = item if isinstance(item, dict) else vars(item)
        groups.setdefault(tuple(row[name] for name in names), []).append(item)
    yield from groups.items()


def measure(decisions: Array, people: Part, notion: Notion) -> Row:
    """Return error and violation of expected decisions, with analytic intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.experiments.panels import NOTIONS
    >>> people = Part(np.zeros((4, 1)), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]))
    >>> row = measure(np.array([0.0, 1.0, 1.0, 1.0]), people, NOTIONS["DP"])
    >>> row["error"], row["violation"]
    (0.25, 0.25)
    """
    error = confidence_interval(error_rate, people.y, decisions)
    violation = confidence_interval(
        notion.violation, people.y, decisions, sensitive_features=people.A
    )
    return {
        "n": len(people),
        "error": error.estimate,
        "error_low": error.low,
        "error_high": error.high,
        "violation": violation.estimate,
        "violation_low": violation.low,
        "violation_high": violation.high,
    }


def measure_all(outcomes: Sequence[Outcome], split: Split, notion: Notion) -> list[Row]:
    """Return two rows for each outcome: on the people learned from, and on those tested on."""
    rows: list[Row] = []
    for outcome in outcomes:
        for part, people in (("train", split.train), ("test", split.test)):
            row: Row = {"setting": outcome.setting, "part": part, "fits": outcome.fits}
            rows.append(row | measure(getattr(outcome, part), people, notion))
    return rows


def write_table(rows: Sequence[Row], columns: Sequence[str], path: Path) -> list[Path]:
    """Write rows as ``path`` with the suffix .csv, and .parquet too where pyarrow is installed.

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
