"""Labels of queries of more than two labels: what they weigh is what decisions save."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from equipoise.cells import Cells
from equipoise.cells.labels import WeightedLabels


def random_cells(seed: int, V: int, weighted: bool) -> tuple[Cells, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    label, group = rng.integers(0, V, n), rng.integers(0, 3, n)
    weight = rng.uniform(0.2, 2.0, n) if weighted else None
    names = tuple("abcdef"[:V])
    return Cells.from_columns(label, {"group": group}, weight=weight, decisions=names), rng


def cost_of(cells: Cells, costs: np.ndarray, h: np.ndarray) -> float:
    """Row by row: what decision h costs more than decision 0, times the row's share."""
    table = np.column_stack([np.zeros(cells.n_cells), costs.reshape(cells.n_cells, -1)])
    own = np.ones(len(h)) if cells.weight is None else cells.weight
    return float(sum(w * table[c, v] for w, c, v in zip(own, cells.code, h, strict=True)))


@pytest.mark.parametrize("seed", range(20))
def test_cost_plus_the_weight_of_labels_agreed_with_is_constant(seed):
    V = 3 + seed % 4
    cells, rng = random_cells(seed, V, weighted=seed % 2 == 1)
    costs = rng.normal(size=cells.n_cells * (V - 1))
    label, weight, rows = cells.relabel_rows(costs).copies()
    assert (weight > 0).all()
    own = np.ones(len(cells.code)) if cells.weight is None else cells.weight
    assert weight.sum() == pytest.approx(own.sum())
    assert np.bincount(rows, minlength=len(own)).max() <= V - 1
    values, scale = [], None
    for _ in range(5):
        h = rng.integers(0, V, len(own))
        saved = weight[h[rows] == label].sum()
        cost = cost_of(cells, costs, h)
        assert cells.sum(h) @ costs * own.sum() == pytest.approx(cost)
        values.append((cost, saved))
    (c0, s0), *others = values
    scale = [(c - c0) / (s0 - s) for c, s in others if abs(s0 - s) > 1e-9]
    assert_allclose(scale, scale[0])  # what a unit of cost weighs


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_counted_row_by_row(weighted):
    cells, rng = random_cells(1, 4, weighted)
    n = len(cells.code)
    own = np.ones(n) if cells.weight is None else cells.weight
    h = rng.integers(0, 4, n)
    expected = np.zeros((cells.n_cells, 4))
    np.add.at(expected, (cells.code, h), own / own.sum())
    assert_allclose(cells.sum(h), expected[:, 1:].ravel(), atol=1e-15)
    assert_allclose(cells.sum(np.eye(4)[h]), cells.sum(h), atol=1e-15)
    rates = expected / expected.sum(axis=1, keepdims=True)
    assert_allclose(cells.rates(cells.sum(h)), rates, atol=1e-15)
    assert_allclose(cells.shares(cells.sum(h)), np.bincount(h, own, 4) / own.sum())
    for decision in range(4):
        assert_allclose(cells.constant(decision), cells.sum(np.full(n, decision)), atol=1e-15)
    with pytest.raises(ValueError, match="expected one for each example"):
        cells.sum(h[:-1])


def test_the_least_cost_is_that_of_the_cheapest_decision_of_each_cell():
    cells, rng = random_cells(2, 5, weighted=True)
    costs = rng.normal(size=cells.n_cells * 4)
    table = np.column_stack([np.zeros(cells.n_cells), costs.reshape(-1, 4)])
    cheapest = table.argmin(axis=1)[cells.code]
    assert_allclose(cells.least_cost_shares(costs), cells.sum(cheapest), atol=1e-15)
    assert cells.least_cost_shares(costs) @ costs == pytest.approx(cells.mass @ table.min(axis=1))


def test_a_lesson_about_some_rows_is_the_part_about_them():
    cells, rng = random_cells(3, 3, weighted=True)
    examples = cells.relabel_rows(rng.normal(size=cells.n_cells * 2))
    some = rng.permutation(len(cells.code))[:20]
    label, weight, rows = examples.among(some).copies()
    found = sorted(zip(some[rows], label, weight, strict=True))
    every = (tuple(entry) for entry in zip(*examples.copies()[::-1], strict=True))
    assert found == sorted((row, label, w) for row, w, label in every if row in some)
    two = WeightedLabels(np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0])).among(np.array([2, 0]))
    assert_array_equal(two.label, [1, 0])
    assert_array_equal(two.weight, [3.0, 1.0])


def test_nothing_to_be_saved_is_no_lesson():
    cells, _ = random_cells(4, 3, weighted=False)
    examples = cells.relabel_rows(np.zeros(cells.n_cells * 2))
    assert len(examples.labels) == 0
    assert len(examples.copies()[0]) == 0
