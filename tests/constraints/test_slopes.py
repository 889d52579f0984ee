"""Slopes that are not multiplied out are those that are."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from equipoise.cells import Cells
from equipoise.constraints import EqualizedOdds
from equipoise.constraints.slopes import Slopes, row_blocks, slopes_of
from equipoise.files.state import Decoder, Encoder


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    shapes = (900, 7), (7, 400)
    return tuple(csr_array(rng.normal(size=of) * (rng.random(of) < 0.3)) for of in shapes)


def test_products_are_the_same(factors):
    M, U = factors
    dense, slopes, rng = M.toarray() @ U.toarray(), slopes_of(M, U), np.random.default_rng(1)
    assert isinstance(slopes, Slopes)
    for shape in ((900,), (3, 900)):
        left = rng.normal(size=shape)
        np.testing.assert_allclose(left @ slopes, left @ dense, atol=1e-12)
        s = rng.normal(size=(*shape[:-1], 400))
        np.testing.assert_allclose(s @ slopes.T, s @ dense.T, atol=1e-12)
    few = [5, 2, 899]
    np.testing.assert_allclose(np.asarray(slopes[few]), dense[few], atol=1e-12)
    np.testing.assert_allclose(np.ones(3) @ slopes[few], dense[few].sum(axis=0), atol=1e-12)


def test_model_files_hold_them(factors):
    encoder = Encoder()
    text = json.dumps(encoder.encode(Slopes(*factors)), allow_nan=False)
    assert encoder.objects == []
    again = Decoder([]).decode(json.loads(text))
    np.testing.assert_array_equal(np.asarray(again), np.asarray(Slopes(*factors)))


def test_blocks_are_all_rows_in_order(factors):
    M, U = factors
    dense, blocks = M.toarray() @ U.toarray(), list(row_blocks(slopes_of(M, U)))
    assert len(blocks) > 1
    np.testing.assert_allclose(np.concatenate([block for _, block in blocks]), dense, atol=1e-12)
    assert [rows.start for rows, _ in blocks] == [
        sum(len(block) for _, block in blocks[:number]) for number in range(len(blocks))
    ]


def test_memory_of_moments_grows_with_cells_not_with_pairs():
    """Five hundred groups: 2,000 inequalities over 1,000 cells would be 15 MiB in one array."""
    group = np.repeat(np.arange(500), 2)
    cells = Cells.from_columns(np.tile([0, 1], 500), {"group": group})
    tracemalloc.start()
    moments = EqualizedOdds(0.1).moments(cells)
    slopes = slopes_of(moments.M, moments.U)
    s = np.random.default_rng(0).uniform(size=1000) * cells.mass
    gamma = moments.M @ moments.offset + s @ slopes.T
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20
    rate = (s / cells.mass).reshape(500, 2)
    above = rate - rate.mean(axis=0)
    np.testing.assert_allclose(np.sort(gamma), np.sort(np.append(above, -above)), atol=1e-12)


def test_factors_are_made_once(factors):
    slopes = Slopes(*factors)
    np.ones(900) @ slopes
    made = slopes._matrices()
    np.ones(400) @ slopes.T
    assert slopes._matrices() is made
    assert np.shares_memory(made[2].data, made[0].data)
