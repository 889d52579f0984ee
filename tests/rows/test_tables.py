"""Columns are described by names and types, whatever kind of table they are in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from people import make_people, to_matrix
from scipy.sparse import csr_array

from equipoise.rows.tables import describe_columns, take_rows

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


X, _, _ = make_people(300, seed=2)


def test_take_rows_keeps_the_kind_of_table():
    rows = np.array([5, 3, 3, 0])
    tables = [X, sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X)]
    for name in ("pandas", "polars", "pyarrow"):
        library = pytest.importorskip(name, reason=f"needs {name}")
        columns = {f"x{j}": X[:, j] for j in range(3)}
        tables.append(library.table(columns) if name == "pyarrow" else library.DataFrame(columns))
    for table in tables:
        taken = take_rows(table, rows)
        assert type(taken) is type(table)
        np.testing.assert_array_equal(to_matrix(taken), X[rows])
    np.testing.assert_array_equal(take_rows(X.tolist(), rows), X[rows])
