"""Some rows of a table, which stays the kind of table that it is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from people import to_matrix

from equipoise.rows.take import take_rows

X = np.random.default_rng(0).normal(size=(8, 3))


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
