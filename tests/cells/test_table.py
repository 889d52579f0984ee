"""CellTable: tables of parts add up to the table of all, and costs become labels and weights."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from equipoise.cells.codes import factorize
from equipoise.cells.layered import LayeredCells, LayeredTable, layered, soft_cells
from equipoise.cells.rows import Cells
from equipoise.cells.table import CellTable

N = 500


@pytest.fixture(params=[False, True], ids=["even", "weighted"])
def counted(request):
    rng = np.random.default_rng(0)
    label, group = rng.integers(0, 2, N), rng.choice(["a", "b", "c"], N)
    region = rng.choice(["north", "south"], N)
    return label, group, region, rng.uniform(0.1, 3, N) if request.param else None


def test_a_table_knows_what_raw_arrays_know(counted):
    label, group, region, weight = counted
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


def test_tables_of_parts_add_up(counted):
    label, group, region, weight = counted
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


def test_costs_become_labels_and_weights_that_sum_to_the_rows_own(counted):
    label, group, region, weight = counted
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


def test_the_least_cost_is_that_of_selecting_where_it_saves(counted):
    label, group, _, weight = counted
    plain = Cells.from_columns(label, {"group": group}, weight=weight)
    utility = {"profit": np.random.default_rng(2).random((N, 2))}
    for cells in (plain, layered(plain, utilities=utility)):
        costs = np.random.default_rng(3).normal(size=len(cells.limits()[0]))
        units = np.eye(N)
        each = np.array([cells.sum(unit) @ costs for unit in units])  # of selecting one row
        best = cells.least_cost_shares(costs)
        assert best @ costs == pytest.approx(np.minimum(each, 0).sum())


def test_layers_without_rows_refuse_what_needs_rows(counted):
    label, group, _, weight = counted
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


steady = settings(deadline=None, derandomize=True, max_examples=60)


@st.composite
def columns(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of `Cells.from_columns`, as lists of one entry per example."""
    n = draw(st.integers(1, 25))

    def column(values: st.SearchStrategy) -> list:
        return draw(st.lists(values, min_size=n, max_size=n))

    arguments: dict[str, Any] = {"label": column(st.integers(0, 1))}
    arguments["sensitive"] = {"sex": column(st.sampled_from("FM"))}
    if draw(st.booleans()):
        arguments["sensitive"]["age"] = column(st.integers(-1, 2))
    if draw(st.booleans()):
        arguments["control"] = {"region": column(st.sampled_from(["north", "south"]))}
    if draw(st.booleans()):
        arguments["weight"] = column(st.floats(0, 8))
        arguments["weight"][draw(st.integers(0, n - 1))] += 1.0  # not all zero
    return arguments


def rows(arguments: dict[str, Any]) -> list[tuple]:
    """Return the cell of every example, as the tuple of its values."""
    control = arguments.get("control", {}).values()
    return list(zip(*control, *arguments["sensitive"].values(), arguments["label"], strict=True))


def names(cells: Cells) -> list[tuple]:
    """Return the values that each cell of the table stands for."""
    table = (*cells.control.values(), *cells.sensitive.values(), cells.label)
    return [tuple(np.asarray(value).item() for value in cell) for cell in zip(*table, strict=True)]


def weights(arguments: dict[str, Any]) -> np.ndarray:
    return np.array(arguments.get("weight", [1.0] * len(arguments["label"])))


def by_name(cells: Cells, values: np.ndarray) -> dict[tuple, float]:
    return dict(zip(names(cells), np.asarray(values).tolist(), strict=True))


def take(arguments: dict[str, Any], order: list[int]) -> dict[str, Any]:
    """Return the same arguments with only these examples, in this order."""

    def pick(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: pick(entries) for name, entries in value.items()}
        return [value[i] for i in order]

    return {name: pick(value) for name, value in arguments.items()}


@steady
@given(columns(), st.data())
def test_table_and_sums_are_those_of_a_loop_over_the_rows(arguments: dict, data: st.DataObject):
    h = np.array(data.draw(st.lists(st.integers(0, 1), min_size=25, max_size=25)))
    h = h[: len(arguments["label"])]
    cells = Cells.from_columns(**arguments)
    w = weights(arguments)
    mass, selected, count = defaultdict(float), defaultdict(float), Counter(rows(arguments))
    for cell, weight, decision in zip(rows(arguments), w, h, strict=True):
        mass[cell] += weight / w.sum()
        selected[cell] += weight * decision / w.sum()
    assert by_name(cells, cells.mass) == pytest.approx(dict(mass))
    assert by_name(cells, cells.count) == dict(count)
    assert by_name(cells, cells.sum(h)) == pytest.approx(dict(selected))
    assert by_name(cells, cells.sum(h.astype(bool))) == pytest.approx(dict(selected))
    assert [names(cells)[c] for c in cells.code] == rows(arguments)


@steady
@given(columns(), st.integers(0, 2**32 - 1))
def test_spread_is_the_adjoint_of_sum(arguments: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = Cells.from_columns(**arguments)
    h, table = rng.normal(size=len(cells.code)), rng.normal(size=cells.n_cells)
    w = weights(arguments)
    inner_product_of_rows = np.sum(w / w.sum() * h * cells.spread(table))
    assert cells.sum(h) @ table == pytest.approx(inner_product_of_rows, abs=1e-12)


@steady
@given(columns(), st.randoms(use_true_random=False))
def test_permuting_rows_changes_nothing(arguments: dict, random: Any) -> None:
    order = list(range(len(arguments["label"])))
    random.shuffle(order)
    h = np.arange(len(order)) % 2
    cells, permuted = Cells.from_columns(**arguments), Cells.from_columns(**take(arguments, order))
    assert names(permuted) == names(cells)
    assert permuted.mass == pytest.approx(cells.mass)
    assert permuted.sum(h[order]) == pytest.approx(cells.sum(h))
    assert permuted.n_effective == pytest.approx(cells.n_effective)


@steady
@given(columns())
def test_renaming_groups_renames_the_cells_and_changes_nothing_else(arguments: dict) -> None:
    new = {"F": "zebra", "M": "aardvark"}  # sorts the other way round
    renamed = {**arguments, "sensitive": dict(arguments["sensitive"])}
    renamed["sensitive"]["sex"] = [new[sex] for sex in arguments["sensitive"]["sex"]]
    at = len(arguments.get("control", {}))
    h = np.arange(len(arguments["label"])) % 2

    def rename(table: dict[tuple, float]) -> dict[tuple, float]:
        return {(*k[:at], new[k[at]], *k[at + 1 :]): value for k, value in table.items()}

    before, after = Cells.from_columns(**arguments), Cells.from_columns(**renamed)
    assert by_name(after, after.mass) == pytest.approx(rename(by_name(before, before.mass)))
    assert by_name(after, after.sum(h)) == pytest.approx(rename(by_name(before, before.sum(h))))


@steady
@given(columns(), st.data())
def test_a_row_of_weight_two_is_two_rows_of_weight_one(arguments: dict, data: st.DataObject):
    n = len(arguments["label"])
    chosen = data.draw(st.integers(0, n - 1))
    arguments["weight"] = weights(arguments).tolist()
    arguments["weight"][chosen] = 2.0
    split = take(arguments, [*range(n), chosen])
    split["weight"][chosen] = split["weight"][-1] = 1.0
    h = np.arange(n) % 3 == 0
    one, two = Cells.from_columns(**arguments), Cells.from_columns(**split)
    assert names(one) == names(two)
    assert two.mass == pytest.approx(one.mass)
    assert two.sum(np.append(h, h[chosen])) == pytest.approx(one.sum(h))


def test_the_unit_of_the_weights_does_not_matter() -> None:
    label, group, weight = [0, 1, 1, 0], ["a", "a", "b", "b"], np.array([1.0, 2.0, 3.0, 0.5])
    one = Cells.from_columns(label, {"group": group}, weight=weight)
    other = Cells.from_columns(label, {"group": group}, weight=1000 * weight)
    assert other.mass == pytest.approx(one.mass)
    assert other.sum([1, 0, 1, 1]) == pytest.approx(one.sum([1, 0, 1, 1]))
    assert other.n_effective == pytest.approx(6.5**2 / (1 + 4 + 9 + 0.25))
    assert Cells.from_columns(label, {"group": group}).n_effective == 4


@steady
@given(columns())
def test_groups_and_strata_are_masks_over_the_cells(arguments: dict) -> None:
    cells = Cells.from_columns(**arguments)
    for sex, mask in cells.groups("sex").items():
        assert mask[cells.code].tolist() == [s == sex for s in arguments["sensitive"]["sex"]]
    combinations = list(zip(*arguments["sensitive"].values(), strict=True))
    keys = combinations if len(cells.sensitive) > 1 else [sex for (sex,) in combinations]
    assert set(cells.groups()) == set(keys)
    for group, mask in cells.groups().items():
        assert mask[cells.code].tolist() == [key == group for key in keys]
    for stratum, mask in cells.strata().items():
        region = arguments.get("control", {}).get("region", [None] * len(arguments["label"]))
        assert mask[cells.code].tolist() == [value == stratum for value in region]


def test_an_unknown_sensitive_feature_is_named() -> None:
    with pytest.raises(ValueError, match="no sensitive feature is called 'race'; there are 'sex'"):
        Cells.from_columns([0, 1], {"sex": ["F", "M"]}).groups("race")


def test_more_combinations_than_can_be_counted_are_numbered_all_the_same() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    sensitive = {name: rng.integers(0, 300, n) for name in ("zip", "employer", "school")}
    label = rng.integers(0, 2, n)
    cells = Cells.from_columns(label, sensitive)  # 300^3 combinations are possible
    expected = Counter(zip(*(v.tolist() for v in sensitive.values()), label.tolist(), strict=True))
    assert by_name(cells, cells.count) == dict(expected)
    assert [names(cells)[c] for c in cells.code[:50]] == rows(
        {"label": label.tolist()[:50], "sensitive": {k: v[:50] for k, v in sensitive.items()}}
    )


COLUMNS = {
    "bool": np.array([True, False, True]),
    "int8": np.array([3, -1, 3], dtype=np.int8),
    "int64": np.array([2**62, -5, 0, 2**62]),
    "uint64": np.array([2**64 - 1, 0, 2**64 - 1], dtype=np.uint64),
    "float32": np.array([0.5, -0.25, 0.5, np.inf], dtype=np.float32),
    "float64": np.array([1e-300, 0.0, -1e300, 0.0]),
    "complex": np.array([1 + 2j, 0, 1 + 2j]),
    "str": np.array(["b", "", "äöü", "b"]),
    "bytes": np.array([b"yes", b"no", b"yes"]),
    "datetime64": np.array(["2020-01-02", "1969-07-20", "2020-01-02"], dtype="datetime64[D]"),
    "timedelta64": np.array([3, 1, 3], dtype="timedelta64[s]"),
    "object str": np.array(["b", "a", "b"], dtype=object),
    "object int": np.array([10, 9, 10], dtype=object),
    "object mixed": np.array(["b", 1, 2.5, "a", 1], dtype=object),
    "object tuple": np.array([("F", 1), ("F", 0), ("M", 1), ("F", 1), None], dtype=object)[:-1],
    "list": ["x", "y", "x"],
    "one value": [7] * 300,
    "many values": np.arange(1000)[::-1],
}
if hasattr(np.dtypes, "StringDType"):  # NumPy 2
    COLUMNS["string dtype"] = np.array(["b", "a", "b"], dtype=np.dtypes.StringDType())


@pytest.mark.parametrize("kind", COLUMNS)
def test_factorize_gives_back_what_it_got(kind: str) -> None:
    values = np.asarray(COLUMNS[kind])
    codes, distinct = factorize(values)
    assert distinct[codes].tolist() == values.tolist()
    assert len(set(distinct.tolist())) == len(distinct) == len(set(values.tolist()))
    assert sorted(set(codes.tolist())) == list(range(len(distinct)))
    assert codes.dtype.kind in "ui"
    if kind not in ("object mixed", "complex"):
        assert distinct.tolist() == sorted(set(values.tolist()))


def test_factorize_orders_mixed_values_the_same_way_whatever_came_first() -> None:
    values = np.array(["b", 1, 2.5, "a"], dtype=object)
    assert factorize(values)[1].tolist() == factorize(values[::-1])[1].tolist()


@steady
@given(st.lists(st.one_of(st.integers(), st.text(max_size=3)), min_size=1, max_size=30))
def test_factorize_agrees_with_a_dictionary(values: list) -> None:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    codes, distinct = factorize(column)
    assert distinct[codes].tolist() == values
    assert len(distinct) == len(set(values))
