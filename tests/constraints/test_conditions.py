"""Conditions: events by name, and utilities over cells."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import random_crowd
from listed import cells_of

from equipoise.constraints.conditions import Event, event_mask, tabulate, utility_table


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
