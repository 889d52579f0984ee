"""Cells handle rows in blocks, and number values without sorting them: the results are the same."""

import pickle

import narwhals.stable.v1 as nw
import numpy as np
import pytest

from equipoise.cells.codes import (
    CodeBits,
    add_up,
    count_pairs,
    count_selected,
    factorize,
    look_up,
)
from equipoise.cells.rows import Cells
from equipoise.rows.validation import _column_to_numpy

N = 3 * (1 << 16) + 17  # three whole blocks and a part


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, -2, 3, 7, -2]),
        np.array([True, False, True]),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([2**63 + 5, 2**63 + 1, 2**63 + 5], dtype=np.uint64),
        np.array([10**12, 0, 5, 10**12]),
        np.array([0.5, -1.0, 0.5, 2.0]),
        np.array(["2020-01-02", "2019-05-01", "2020-01-02"], dtype="datetime64[D]"),
        np.array(["b", "a", "longer", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array([], dtype=np.int64),
        np.random.default_rng(0).integers(-50, 300, N),
        np.random.default_rng(1).normal(size=N).round(1),
        np.array(["x", "yy", "z"])[np.random.default_rng(2).integers(0, 3, N)],
    ],
    ids=lambda values: f"{values.dtype}-{len(values)}",
)
def test_factorize_equals_sorting(values):
    codes, distinct = factorize(values)
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(codes, inverse)
    np.testing.assert_array_equal(distinct, expected)
    assert distinct.dtype == values.dtype or distinct.dtype == object


def test_factorize_orders_mixed_types():
    codes, distinct = factorize(np.array([1, "a", None, 1], dtype=object))
    assert distinct[codes].tolist() == [1, "a", None, 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_sum_and_spread_over_many_blocks(weighted):
    rng = np.random.default_rng(3)
    label, group, stratum = rng.integers(0, 2, N), rng.integers(0, 5, N), rng.integers(0, 3, N)
    weight = rng.random(N) if weighted else None
    cells = Cells.from_columns(label, {"group": group}, {"stratum": stratum}, weight)
    own = np.ones(N) if weight is None else weight
    h, table = rng.random(N), rng.normal(size=cells.n_cells)
    selected, spread = cells.sum(h), cells.spread(table)
    for cell in range(cells.n_cells):
        rows = (label == cells.label[cell]) & (group == cells.sensitive["group"][cell])
        rows &= stratum == cells.control["stratum"][cell]
        assert rows.sum() == cells.count[cell] > 0
        assert cells.mass[cell] == pytest.approx(own[rows].sum() / own.sum(), rel=1e-12)
        assert selected[cell] == pytest.approx((own * h)[rows].sum() / own.sum(), rel=1e-12)
        assert (spread[rows] == table[cell]).all()


@pytest.mark.parametrize("n", [1, 2, 1001, N, N + 1])
@pytest.mark.parametrize("size", [1, 4, 16, 17, 128, 129, 256, 300])
def test_codes_read_in_pairs_give_the_same(n, size):
    rng = np.random.default_rng(5)
    code = rng.integers(0, size, n).astype(np.min_scalar_type(size - 1))
    selected, table = rng.random(n) < 0.3, rng.normal(size=size)
    expected = np.bincount(code[selected], minlength=size)
    np.testing.assert_array_equal(count_selected(code, size, selected), expected)
    if CodeBits.suits(size):
        bits = pickle.loads(pickle.dumps(CodeBits(code, size)))
        np.testing.assert_array_equal(bits.count(selected), expected)
    np.testing.assert_array_equal(add_up(code, size), np.bincount(code, minlength=size))
    np.testing.assert_array_equal(look_up(code, table), table[code])
    whole = rng.integers(-(2**62), 2**62, size)
    np.testing.assert_array_equal(look_up(code, whole), whole[code])


@pytest.mark.parametrize("shape", [(3, 4), (16, 16), (17, 16), (2000, 600)])
def test_pairs_of_codes_are_counted_in_dense_and_sparse_tables(shape):
    rng = np.random.default_rng(6)
    first, second = (rng.integers(0, size, 999).astype(np.min_scalar_type(size)) for size in shape)
    expected = np.zeros(shape)
    np.add.at(expected, (first, second), 1)
    counts, some = count_pairs(first, second, shape), rng.random(shape[0])
    np.testing.assert_allclose(some @ counts, some @ expected)


def test_one_weight_for_all_is_added_up_as_weights_are():
    code = np.array([0, 2, 2], dtype=np.uint8)
    assert add_up(code, 3, np.broadcast_to(0.25, 3)).tolist() == [0.25, 0.0, 0.5]


@pytest.mark.parametrize("weighted", [False, True])
def test_relabelling_again_and_again(weighted):
    rng = np.random.default_rng(6)
    label, group = rng.integers(0, 2, N), rng.integers(0, 3, N)
    own = rng.random(N) if weighted else np.ones(N)
    cells = Cells.from_columns(label, {"group": group}, weight=own if weighted else None)
    costs, given = rng.normal(size=cells.n_cells), []
    for factor in (1.0, 2.0, np.array([-1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 0.5, 0.0):
        signed = cells.spread(costs * factor)
        labels, weights = cells.relabel_rows(costs * factor)
        mean = np.abs(signed * own).sum() / own.sum()
        np.testing.assert_array_equal(labels, signed < 0)
        np.testing.assert_allclose(weights, np.abs(signed * own) / (mean or 1.0), rtol=1e-12)
        given.append(labels)
    assert given[0] is given[1]  # no cost has changed its sign
    assert len({id(labels) for labels in given}) == 4
    np.testing.assert_array_equal(given[0], cells.spread(costs) < 0)  # and none is written to


def test_labels_that_were_given_do_not_travel():
    cells = Cells.from_columns([0, 1, 1], {"sex": ["F", "F", "M"]})
    costs = np.array([1.0, -1.0, 2.0])
    first = cells.relabel_rows(costs).label
    assert cells.relabel_rows(costs)[0] is first
    there = pickle.loads(pickle.dumps(cells))
    assert first.tobytes() not in pickle.dumps(cells)
    np.testing.assert_array_equal(there.relabel_rows(costs)[0], first)


def test_many_combinations_are_numbered_alike():
    rng = np.random.default_rng(4)
    columns = {name: rng.integers(0, 3000, 2000) for name in ("one", "two")}  # 18 million at most
    label = rng.integers(0, 2, 2000)
    cells = Cells.from_columns(label, columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(cells.spread(cells.sensitive[name]), values)
    np.testing.assert_array_equal(cells.spread(cells.label), label)


def test_wrong_sizes_are_refused():
    cells = Cells.from_columns([0, 1, 1], {"sex": ["F", "F", "M"]})
    with pytest.raises(ValueError, match=r"shape \(4,\) for 3 examples"):
        cells.sum([0, 1, 1, 0])
    with pytest.raises(ValueError, match="table of 2 rows"):
        cells.spread([1.0, 2.0])


TEXTS = ["F", "M", None, "F", "M"]
COLUMNS = {
    "pandas strings": lambda pd: pd.Series(TEXTS, dtype="string"),
    "pandas objects": lambda pd: pd.Series(TEXTS, dtype=object),
    "pandas categories": lambda pd: pd.Series(TEXTS, dtype="category"),
    "pandas categories of numbers": lambda pd: pd.Series([3, 1, 3], dtype="category"),
    "pandas categories of dates": lambda pd: pd.Series(
        pd.to_datetime(["2020-01-02", "2019-05-01", "2020-01-02"]), dtype="category"
    ),
    "pandas numbers": lambda pd: pd.Series([3, 1, 3]),
    "polars strings": lambda pl: pl.Series(TEXTS),
    "polars categories": lambda pl: pl.Series(TEXTS, dtype=pl.Categorical),
    "pyarrow strings": lambda pa: pa.chunked_array([TEXTS[:3], TEXTS[3:]]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_frames_read_in_blocks_are_the_same(kind):
    library = pytest.importorskip(kind.partition(" ")[0])
    series = nw.from_native(COLUMNS[kind](library), allow_series=True)
    values, expected = _column_to_numpy(series, block=2), series.to_numpy()
    assert len(values) == len(expected)
    for value, other in zip(values.tolist(), expected.tolist(), strict=True):
        assert value is other or value == other
    if "strings" in kind:
        assert values[0] is values[3]  # one object for equal values
