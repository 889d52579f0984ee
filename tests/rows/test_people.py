"""People: one bundle of what a fit takes, read into cells."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise import Probabilities
from equipoise.cells import Cells
from equipoise.cells.layered import LayeredCells
from equipoise.rows.people import People
from equipoise.rows.tables import Batched, batches

X, Y, A = np.arange(4.0)[:, None], ["no", "yes", "yes", "no"], ["F", "F", "M", "M"]


def test_people_are_read_into_cells_and_classes():
    cells, classes = People(
        X, Y, A, control_features=[0, 1, 0, 1], sample_weight=[1, 2, 3, 4]
    ).read()
    assert type(cells) is Cells
    assert classes.tolist() == ["no", "yes"]
    found = zip(cells.control["stratum"], cells.sensitive["group"], cells.label, strict=True)
    assert [tuple(map(str, cell)) for cell in found] == [
        ("0", "F", "0"),
        ("0", "M", "1"),
        ("1", "F", "1"),
        ("1", "M", "0"),
    ]
    assert cells.mass.tolist() == [0.1, 0.3, 0.2, 0.4]


def test_weights_may_be_kept_out_of_the_constraints():
    people = People(X, Y, A, sample_weight=[1, 2, 3, 4])
    assert type(people.read()[0]) is Cells
    cells, _ = people.read(constraint_weights=False)
    assert isinstance(cells, LayeredCells)
    assert cells.population.tolist() == [0.25] * 4
    assert sorted(cells.mass.tolist()) == [0.1, 0.2, 0.3, 0.4]
    # Without weights both are the same.
    assert type(People(X, Y, A).read(constraint_weights=False)[0]) is Cells


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        People(X, Y).read()
    with pytest.raises(ValueError, match="y is None"):
        People(X, None, A).read()
    with pytest.raises(ValueError, match="zero wherever y is 'yes'"):
        People(X, Y, A, sample_weight=[1, 0, 0, 1]).read()
    guessed = Probabilities(np.full((4, 2), 0.5))
    assert isinstance(People(X, Y, guessed).read()[0], LayeredCells)
    with pytest.raises(ValueError, match="expected the groups themselves"):
        People(X, Y, guessed).read_plain()


def test_a_table_in_memory_is_one_batch():
    assert not isinstance(X, Batched)
    assert [batch is X for batch in batches(X)] == [True]
