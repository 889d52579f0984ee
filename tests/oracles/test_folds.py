"""Folds: everybody is held out once."""

from __future__ import annotations

import numpy as np
import pytest
from people import People
from sklearn.model_selection import KFold, ShuffleSplit

from equipoise.cells import Cells
from equipoise.oracles.folds import make_folds


def cells_of(people: People) -> Cells:
    return Cells.from_columns(people.y, {"A": people.A})


def test_every_cell_is_dealt_evenly_over_the_folds(people):
    cells = cells_of(people)
    folds = make_folds(cells, 4)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(people.y)))
    for train, test in folds:
        assert not set(train) & set(test)
        for code in range(cells.n_cells):
            size = np.count_nonzero(cells.code[test] == code)
            assert abs(size - np.count_nonzero(cells.code == code) / 4) < 1


def test_the_same_folds_every_time(people):
    one, two = make_folds(cells_of(people), 3), make_folds(cells_of(people), 3)
    assert all((a[1] == b[1]).all() for a, b in zip(one, two, strict=True))


def test_splitters_and_lists_of_folds_are_taken_as_they_are(people):
    cells, n = cells_of(people), len(people.y)
    splitter = KFold(4)
    expected = list(splitter.split(np.zeros(n)))
    for folds in (make_folds(cells, splitter), make_folds(cells, expected)):
        assert all((a[1] == b[1]).all() for a, b in zip(folds, expected, strict=True))


def test_cells_smaller_than_the_number_of_folds_do_no_harm():
    y, A = np.array([0] * 20 + [1] * 19 + [1]), np.array(["a"] * 39 + ["b"])
    folds = make_folds(Cells.from_columns(y, {"A": A}), 5)
    assert len(folds) == 5


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv is 1"),
        (True, "cv is True"),
        (401, "there are 400 examples"),
        (ShuffleSplit(2, test_size=0.6, random_state=0), "expected each exactly once"),
        ([(np.arange(200), np.arange(200, 400))], "200 of 400 examples out never"),
    ],
)
def test_folds_that_do_not_hold_everybody_out_once_are_refused(people, cv, message):
    with pytest.raises(ValueError, match=message):
        make_folds(cells_of(people), cv)
