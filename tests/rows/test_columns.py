"""Columns are described by names and types, whatever kind of table they are in."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from equipoise.rows.columns import describe_columns

ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])


def test_names_types_and_kinds_of_tables_are_told_apart():
    arrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    tables = [
        ROWS,
        ROWS.astype(np.float32),
        ROWS[:, :1],
        csr_array(ROWS),
        pd.DataFrame(ROWS, columns=["a", "b"]),
        pd.DataFrame(ROWS, columns=["a", "c"]),
        pd.DataFrame(ROWS, columns=["a", "b"]).astype("float32"),
        pd.DataFrame(ROWS, columns=["a", "b"]).astype({"a": "category"}),
        polars.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1]}),
        arrow.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}),
    ]
    described = [tuple(describe_columns(table)) for table in tables]
    assert len(set(described)) == len(tables)
    assert described[4] == tuple(describe_columns(tables[4][::-1]))  # whatever the rows are
