"""Moments: another bound without compiling again, and rows as fields."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import fields

import numpy as np
import pytest
from by_hand import Crowd, random_crowd
from definitions import crowds
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of

from equipoise.constraints import (
    CATALOGUE,
    All,
    BoundedGroupError,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    MinimaxGroupError,
    Moments,
    Parity,
    SelectionRate,
    TreatmentEquality,
    rate,
)
from equipoise.constraints.moments import event_mask, tabulate, utility_table
from equipoise.constraints.rows import Event, Rows
from equipoise.exceptions import SmallGroupWarning
from equipoise.files.state import Encoder

WITH_EPS = [
    kind for kind in CATALOGUE if "eps" in {field.name for field in fields(kind)} and kind.traceable
]


def made(kind: type[Constraint], eps: float, form: dict) -> Constraint:
    more = {"tau": 1.5} if kind is TreatmentEquality else {}
    if issubclass(kind, Parity):
        more = {"reference": form["reference"], "ratio": form["ratio"]}
    return kind(eps, min_size=form["min_size"], small=form["small"], **more)


forms = st.fixed_dictionaries(
    {
        "reference": st.sampled_from(["overall", "pairwise"]),
        "ratio": st.sampled_from([1.0, 0.8]),
        "min_size": st.sampled_from([1, 8]),
        "small": st.sampled_from(["drop", "merge"]),
    }
)


def assert_equal(one: Moments, other: Moments) -> None:
    assert one.rows == other.rows
    assert (one.M != other.M).nnz == (one.U != other.U).nnz == 0
    for name in ("offset", "c", "event_count", "follows_eps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.elastic is other.elastic is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    crowd=crowds,
    kinds=st.lists(st.sampled_from(WITH_EPS), min_size=1, max_size=3),
    form=forms,
    before=st.floats(0, 1),
    eps=st.floats(0, 1),
)
def test_another_bound_is_what_compiling_with_it_gives(crowd, kinds, form, before, eps) -> None:
    cells = cells_of(crowd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallGroupWarning)
        compiled, again = (
            All(tuple(made(kind, bound, form) for kind in kinds)).moments(cells)
            for bound in (before, eps)
        )
    assert_equal(compiled.with_bound(eps), again)
    assert compiled.with_bound(eps).c.tolist() == [eps] * len(again.rows)


def test_all_constraints_with_an_eps_were_tried() -> None:
    assert len(WITH_EPS) == 10


@pytest.mark.parametrize(
    "eps", [{"a": 0.1, "b": 0.2}, {"label=0": 0.1, "else": 0.3}, [0.01 * k for k in range(8)]]
)
def test_one_bound_takes_the_place_of_a_mapping_or_a_list(eps) -> None:
    cells = cells_of(random_crowd(0))
    compiled = EqualizedOdds(eps).moments(cells)
    assert len(set(compiled.c)) > 1
    assert_equal(compiled.with_bound(0.05), EqualizedOdds(0.05).moments(cells))
    assert len(set(compiled.c)) > 1  # it is left as it was


@pytest.mark.parametrize(
    ("constraint", "row"),
    [
        (BoundedGroupError(0.2), "bounded group error: error of a"),
        (MinimaxGroupError(), "worst group error: error of a"),
        (DemographicParity() & SelectionRate(at_most=0.5), "everybody at most 0.5"),
        (Constraint.from_moments([None], [[0, 1], [0, 1]], [[1.0]], [0.5]), "custom: row 0"),
        (rate("tpr") >= 0.1, "rate"),
    ],
)
def test_bounds_that_are_no_eps_cannot_be_changed(constraint: Constraint, row: str) -> None:
    moments = constraint.moments(cells_of(random_crowd(0)))
    with pytest.raises(TypeError, match=f"{row}.* has no eps to trace a frontier over"):
        moments.with_bound(0.1)


@pytest.mark.parametrize("eps", [-0.1, float("nan"), float("inf"), "0.1", True])
def test_bad_bounds_are_refused(eps) -> None:
    moments = DemographicParity().moments(cells_of(random_crowd(0)))
    with pytest.raises(ValueError, match="expected a finite number >= 0"):
        moments.with_bound(eps)


def test_rows_say_what_they_are_about() -> None:
    crowd = random_crowd(0, control=True)
    rows = EqualOpportunity({"a": 0.1, "else": 0.2}, reference="b").moments(cells_of(crowd)).rows
    found = {
        (row.constraint, row.group, row.against, *row.event, row.side, row.bound) for row in rows
    }
    assert found == {
        ("equal opportunity", "a", "b", stratum, 1, None, side, 0.1)
        for stratum in ("old", "young")
        for side in (1, -1)
    }
    floor, cap = SelectionRate(0.1, 0.6).moments(cells_of(random_crowd(0))).rows
    assert (floor.side, floor.bound, cap.side, cap.bound) == (-1, -0.1, 1, 0.6)
    assert all(row.bound is None for row in MinimaxGroupError().moments(cells_of(crowd)).rows)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(crowd=crowds)
def test_the_side_is_the_sign_of_the_group(crowd: Crowd) -> None:
    """Selecting more of a group raises the row that bounds it from above, and lowers the other."""
    if not crowd.columns:
        return
    on = next(iter(crowd.columns))
    cells = cells_of(crowd)
    moments = DemographicParity(reference="pairwise", on=on).moments(cells)
    gamma = [moments.M @ moments.mu(cells.sum(np.full(crowd.n, h))) for h in (0.0, 1.0)]
    np.testing.assert_allclose(gamma[0], gamma[1], atol=1e-12)
    for k, row in enumerate(moments.rows):
        members = (crowd.columns[on] == row.group).astype(float)
        assert row.side * ((moments.M @ moments.mu(cells.sum(members))) - gamma[0])[k] > 0


@pytest.mark.parametrize(
    ("event", "words", "names"),
    [
        (Event(), "", ()),
        (Event(label=0), " given label 0", ("label=0",)),
        (Event("old"), " within old", ("old",)),
        (Event("old", 1), " within old given label 1", ("old, label=1", "old", "label=1")),
    ],
)
def test_events_in_words_and_by_name(event: Event, words: str, names) -> None:
    assert str(event) == words
    assert event.names == names


def test_masks_agree_with_the_columns_of_the_cells() -> None:
    cells = cells_of(random_crowd(0, columns=2, control=True))
    sex, race, old = cells.sensitive["sex"], cells.sensitive["race"], cells.control["stratum"]
    expected = (sex == "a") & (old == "old") & (cells.label == 1)
    condition = {"sex": "a", "stratum": ["old"], "label": 1}
    np.testing.assert_array_equal(event_mask(condition, cells), expected)
    found = event_mask(lambda who: who["sex"] == "a" or who["race"] == "b", cells)
    np.testing.assert_array_equal(found, (sex == "a") | (race == "b"))
    assert event_mask(None, cells).all()


def test_tables_functions_and_names() -> None:
    cells = cells_of(random_crowd(0))
    by_label = np.array([[0.0, 1.0], [0.25, 0.5]])
    expected = np.array([by_label[label] for label in cells.label])
    np.testing.assert_array_equal(utility_table(by_label, cells), expected)
    np.testing.assert_array_equal(tabulate(lambda a, y, h: by_label[y, h], cells), expected)
    assert utility_table("profit", cells) == "profit"


def test_rows_with_another_bound_are_made_when_they_are_looked_at() -> None:
    moments = EqualizedOdds(0.1).moments(cells_of(random_crowd(0)))
    rows = moments.with_bound(0.05).rows
    assert isinstance(rows, Rows)
    assert rows == tuple(row._replace(bound=0.05) for row in moments.rows)
    assert rows != moments.rows
    assert rows[1:3] == tuple(rows)[1:3]
    assert Rows(rows, 0.2)._rows is moments.rows  # none are made for others
    assert Encoder().encode(rows) == Encoder().encode(tuple(rows))
    assert pickle.loads(pickle.dumps(rows)) == rows
