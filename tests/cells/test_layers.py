"""Layers of more than two decisions: sums and costs row by row, against loops over raw arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.cells import Cells
from equipoise.cells.layered import LayeredCells, layered, soft_cells

V, N = 4, 70
rng = np.random.default_rng(5)
LABEL, GROUP = rng.integers(0, V, N), rng.integers(0, 2, N)
WEIGHT, UTILITY = rng.uniform(0.2, 2.0, N), rng.random((N, V))
CHANCE = rng.dirichlet(np.ones(2), N)
NAMES = tuple("abcd")


def by_head() -> LayeredCells:
    plain = Cells.from_columns(LABEL, {"group": GROUP}, weight=WEIGHT, decisions=NAMES)
    return layered(plain, constraint_weights=False, utilities={"u": UTILITY})


def uncertain() -> LayeredCells:
    return soft_cells(
        LABEL, {}, ("group", np.array([0, 1]), CHANCE), weight=WEIGHT, decisions=NAMES,
        utilities={"u": UTILITY},
    )  # fmt: skip


@pytest.mark.parametrize("make", [by_head, uncertain])
def test_averages_are_those_of_raw_arrays(make):
    cells = make()
    belongs = CHANCE if make is uncertain else np.eye(2)[GROUP]
    counts = WEIGHT if make is uncertain else np.ones(N)
    for h in (rng.integers(0, V, N), rng.dirichlet(np.ones(V), N)):
        pmf = np.eye(V)[h] if h.ndim == 1 else h
        s = cells.sum(h)
        for group in (0, 1):
            event = cells.sensitive["group"] == group
            own = counts * belongs[:, group]
            for v in range(V):
                offset, slope = cells.average(event, np.tile(np.eye(V)[v], (len(event), 1)))
                assert offset + s @ slope == pytest.approx(np.average(pmf[:, v], weights=own))
            offset, slope = cells.average(event, "u")
            used = (pmf * UTILITY).sum(axis=1)
            assert offset + s @ slope == pytest.approx(np.average(used, weights=own))
        offset, slope = cells.total("u")
        assert offset + s @ slope == pytest.approx(np.average(used, weights=WEIGHT))
        assert_allclose(cells.shares(s), WEIGHT @ pmf / WEIGHT.sum())
        least, most = cells.limits()
        assert (s >= least - 1e-12).all()
        assert (s <= most + 1e-12).all()
    for v in range(V):
        assert_allclose(cells.constant(v), cells.sum(np.full(N, v)), atol=1e-14)


@pytest.mark.parametrize("make", [by_head, uncertain])
def test_cost_plus_what_labels_save_is_constant(make):
    cells = make()
    costs = rng.normal(size=len(cells.constant(0)))
    each = np.column_stack([np.zeros(N), cells.signed_costs(costs)])
    saved = cells.relabel_rows(costs).saved
    assert saved.sum() == pytest.approx(WEIGHT.sum())
    assert (saved.min(axis=1) == 0).all()
    rows, values = np.arange(N), []
    for _ in range(4):
        h = rng.integers(0, V, N)
        assert cells.sum(h) @ costs == pytest.approx(each[rows, h].sum())
        values.append((each[rows, h].sum(), saved[rows, h].sum()))
    scales = [(c - values[0][0]) / (values[0][1] - s) for c, s in values[1:]]
    assert_allclose(scales, scales[0])
    least = each.min(axis=1).sum()
    assert cells.least_cost_shares(costs) @ costs == pytest.approx(least)
