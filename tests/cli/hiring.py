"""People who apply for a job: a table to try commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

#: How commands are told what the columns are.
COLUMNS = ("--label", "hired", "--sensitive", "sex", "--exclude", "person")


def make_table(n: int = 600, seed: int = 0) -> dict[str, Any]:
    """People with numbers, words, gaps in both, ids, weights, and a label that favours men."""
    rng = np.random.default_rng(seed)
    man = rng.random(n) < 0.6
    skill = rng.normal(size=n) + 0.8 * man
    good = skill + rng.logistic(size=n) * 0.7 > 0.8
    town = rng.choice(["Rome", "Oslo", "Bonn"], n).astype(object)
    town[rng.random(n) < 0.1] = None
    age = rng.integers(18, 80, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    return {
        "person": [f"p{seed}-{number}" for number in range(n)],
        "sex": np.where(man, "M", "F").tolist(),
        "age": [None if np.isnan(value) else int(value) for value in age],
        "skill": skill.round(6).tolist(),
        "town": town.tolist(),
        "member": (rng.random(n) < 0.5).tolist(),
        "importance": rng.uniform(0.5, 2.0, n).round(3).tolist(),
        "hired": np.where(good, "yes", "no").tolist(),
    }


def write_table(columns: dict[str, Any], path: Path) -> None:
    """Write it in the format of the ending, without the library's own code."""
    table = pa.table(columns)
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=100)
    else:
        feather.write_feather(table, path, chunksize=100)
