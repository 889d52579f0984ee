"""Distinct rows: equal ones are one, whatever their numbers; the order changes no decision."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.rows.distinct import DistinctRows

rng = np.random.default_rng(0)
FEW = rng.integers(0, 3, (500, 4)).astype(float)
MISSING = np.where(rng.random(FEW.shape) < 0.2, np.nan, FEW)
TABLES = {
    "few": FEW,
    "missing": MISSING,
    "all distinct": rng.normal(size=(300, 5)),
    "integers": FEW.astype(np.int32),
    "of several values": np.column_stack([rng.integers(0, 12, 900), rng.integers(0, 40, 900)]),
    "one feature": np.repeat([[1.0], [2.0]], 50, axis=0),
}


@pytest.mark.parametrize("name", TABLES)
def test_each_row_is_the_distinct_one_of_its_number(name):
    table = TABLES[name]
    found = DistinctRows.of(table)
    for rows in (found, found.sorted_by_few(table)):
        np.testing.assert_array_equal(table[rows.first][rows.number], table)
        assert len(rows.first) == len(np.unique(np.nan_to_num(table, nan=-1.0), axis=0))
        assert len(np.unique(rows.first)) == len(rows.first)


def test_sorted_rows_have_neighbours_alike():
    table = TABLES["of several values"]
    found = DistinctRows.of(table)
    first = table[found.sorted_by_few(table).first]
    assert (np.diff(first[:, 0]) >= 0).all()
    assert not (np.diff(table[found.first][:, 0]) >= 0).all()


def test_rows_that_look_the_same_are_told_apart():
    # Beside the first feature the second is rounded away in the projection.
    table = np.column_stack([np.full(40, 1e20), np.arange(40.0)])
    assert DistinctRows.of(table) is None
