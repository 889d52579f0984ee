"""CellTable: tables of parts add up to the table of all, and costs become labels and weights."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.cells.layered import LayeredCells, LayeredTable, layered, soft_cells
from equipoise.cells.rows import Cells
from equipoise.cells.table import CellTable

N = 500


@pytest.fixture(params=[False, True], ids=["even", "weighted"])
def columns(request):
    rng = np.random.default_rng(0)
    label, group = rng.integers(0, 2, N), rng.choice(["a", "b", "c"], N)
    region = rng.choice(["north", "south"], N)
    return label, group, region, rng.uniform(0.1, 3, N) if request.param else None


def test_a_table_knows_what_raw_arrays_know(columns):
    label, group, region, weight = columns
    cells = Cells.from_columns(label, {"group": group}, {"region": region}, weight)
    own = np.ones(N) if weight is None else weight
    for c in range(cells.n_cells):
        inside = (label == cells.label[c]) & (group == cells.sensitive["group"][c])
        inside &= region == cells.control["region"][c]
        assert cells.count[c] == inside.sum()
        assert cells.mass[c] == pytest.approx(own[inside].sum() / own.sum())
        assert cells.square[c] == pytest.approx((own[inside] ** 2).sum() / own.sum() ** 2)
    assert cells.total_weight == pytest.approx(own.sum())
    assert cells.n_examples == N
    assert cells.n_effective == pytest.approx(own.sum() ** 2 / (own**2).sum())


def test_tables_of_parts_add_up(columns):
    label, group, region, weight = columns
    whole = Cells.from_columns(label, {"group": group}, {"region": region}, weight)
    given: list[list] = [[], [], [], [], [], []]
    own = np.ones(N) if weight is None else weight
    for part in np.array_split(np.arange(N), 7):
        for i in part:  # every row is a combination of its own
            entries = label[i], group[i], region[i], 1.0, own[i], own[i] ** 2
            for column, entry in zip(given, entries, strict=True):
                column.append(entry)
    sums = (np.array(column) for column in given[3:])
    table, code = CellTable.from_sums(given[0], {"group": given[1]}, {"region": given[2]}, *sums)
    assert code.tolist() == whole.code.tolist()
    for name in ("label", "count", "mass", "square", "total_weight"):
        assert_allclose(getattr(table, name), getattr(whole, name), rtol=1e-12)
    assert type(whole.table()) is CellTable


def test_costs_become_labels_and_weights_that_sum_to_the_rows_own(columns):
    label, group, region, weight = columns
    cells = Cells.from_columns(label, {"group": group}, {"region": region}, weight)
    costs = np.random.default_rng(1).normal(size=cells.n_cells)
    each = costs[cells.code] * (1.0 if weight is None else weight)
    by_cell, by_row = cells.table().relabel(costs), cells.relabel_rows(costs)
    assert by_row.label.tolist() == (each < 0).astype(int).tolist()
    total = len(each) if weight is None else np.sum(weight)
    assert_allclose(by_row.weight, np.abs(each) * total / np.abs(each).sum())
    assert by_cell.label[cells.code].tolist() == by_row.label.tolist()
    assert_allclose(by_cell.weight / by_cell.weight[0], np.abs(costs) / abs(costs[0]))
    nothing = cells.relabel_rows(np.zeros(cells.n_cells))
    assert not nothing.weight.any()


def test_the_least_cost_is_that_of_selecting_where_it_saves(columns):
    label, group, _, weight = columns
    plain = Cells.from_columns(label, {"group": group}, weight=weight)
    utility = {"profit": np.random.default_rng(2).random((N, 2))}
    for cells in (plain, layered(plain, utilities=utility)):
        costs = np.random.default_rng(3).normal(size=len(cells.limits()[0]))
        units = np.eye(N)
        each = np.array([cells.sum(unit) @ costs for unit in units])  # of selecting one row
        best = cells.least_cost_shares(costs)
        assert best @ costs == pytest.approx(np.minimum(each, 0).sum())


def test_layers_without_rows_refuse_what_needs_rows(columns):
    label, group, _, weight = columns
    values, code = np.unique(group, return_inverse=True)
    soft = soft_cells(label, {}, ("group", values, np.eye(3)[code]), weight=weight)
    assert isinstance(soft, LayeredCells)
    table = soft.table()
    assert type(table) is LayeredTable
    assert not table.is_plain
    assert not hasattr(table, "sum")
    for ask in (table.relabel, table.least_cost_shares):
        with pytest.raises(TypeError, match="more than one way"):
            ask(np.ones(6))
    assert len(pickle.dumps(table)) < 4000 < len(pickle.dumps(soft))
    plain = Cells.from_columns(label, {"group": group}, weight=weight)
    for name in ("count", "mass", "square"):  # certain probabilities are groups
        assert_allclose(getattr(table, name), getattr(plain, name), rtol=1e-12)
    low, high = table.limits()
    assert_allclose(low, 0.0)
    assert_allclose(high, plain.mass)
