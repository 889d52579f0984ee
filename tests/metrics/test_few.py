"""The one rule on few people: who is in a group of few, and that nobody else is left out."""

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.cells.table import CellTable
from equipoise.cells.values import UNKNOWN
from equipoise.metrics.audit import Tally
from equipoise.metrics.few import FEW_LIMIT, cells_of_few, check_limit


def groups_left_out(counts, limit=FEW_LIMIT):
    sex = np.repeat(list(counts), list(counts.values()))
    cells = Cells.from_columns(np.arange(len(sex)) % 2, {"sex": sex}).table()
    return set(cells.sensitive["sex"][cells_of_few(cells, limit)].tolist())


@pytest.mark.parametrize(
    ("counts", "few"),
    [
        ({"F": 50, "M": 40, "D": 30}, set()),
        ({"F": 50, "M": 40, "X": 3}, {"X"}),  # and nobody else
        ({"F": 16000, "M": 32000, "X": 4}, {"X"}),
        ({"F": 50, "X": 9, "Y": 10}, {"X"}),
        ({"F": 3, "M": 4}, {"F", "M"}),
    ],
)
def test_people_of_small_groups_are_left_out_and_nobody_else(counts, few):
    assert groups_left_out(counts) == few
    assert groups_left_out(counts, limit=0) == set()


def test_a_group_is_a_combination_of_all_features_and_strata():
    sex = np.array(["F"] * 40 + ["M"] * 40)
    race = np.array((["b"] * 20 + ["w"] * 20) * 2)
    town = np.full(80, "u", dtype=object)
    race[:4], town[70:75] = "x", "v"
    cells = Cells.from_columns(np.zeros(80), {"sex": sex, "race": race}, {"town": town}).table()
    few = cells_of_few(cells, 10)
    columns = (cells.sensitive["sex"], cells.sensitive["race"], cells.control["town"])
    assert set(zip(*(column[few] for column in columns), strict=True)) == {
        ("F", "x", "u"),
        ("M", "w", "v"),
    }


def test_a_group_that_is_not_known_counts_as_one():
    sex = np.array(["F"] * 30 + ["M"] * 30 + [UNKNOWN] * 4, dtype=object)
    cells = Cells.from_columns(np.zeros(64), {"sex": sex}).table()
    assert cells.count[cells_of_few(cells, 10)].tolist() == [4]


def test_labels_make_no_groups():
    """Three people of a group of many have the label; the group is shown as it is."""
    label = np.zeros(60)
    label[:3] = 1
    cells = Cells.from_columns(label, {"sex": np.repeat(["F", "M"], 30)}).table()
    assert not cells_of_few(cells, 10).any()


@pytest.mark.parametrize("limit", [-1, 2.5, "ten", None, True])
def test_a_limit_is_a_number_of_people(limit):
    with pytest.raises(ValueError, match="expected a number of people, 0 or more"):
        check_limit(limit)


def test_a_part_is_the_table_of_its_people_alone():
    rng = np.random.default_rng(0)
    sex, label = rng.choice(["F", "M", "X"], 200), rng.integers(0, 2, 200)
    weight, chance = rng.uniform(0.5, 2.0, 200), rng.uniform(size=200)

    def tally(rows):
        cells = Cells.from_columns(label[rows], {"sex": sex[rows]}, {}, weight[rows])
        return Tally.of_people(cells, chance[rows])

    whole, expected = tally(slice(None)), tally(sex != "X")
    inside = whole.cells.sensitive["sex"] != "X"
    table = whole.cells.part(inside)
    part = whole.part(inside, table)
    assert isinstance(table, CellTable)
    for name in ("mass", "count", "square", "label"):
        np.testing.assert_allclose(getattr(table, name), getattr(expected.cells, name), rtol=1e-12)
    assert table.total_weight == pytest.approx(expected.cells.total_weight)
    np.testing.assert_allclose(part.s, expected.s, rtol=1e-12)
    for found, square in zip(part.squares, expected.squares, strict=True):
        np.testing.assert_allclose(found, square, rtol=1e-12)
