from __future__ import annotations

import copy
import pickle

import numpy as np

from equipoise.cells.codes import factorize
from equipoise.cells.values import UNKNOWN, Level, levels


def test_unknown_is_one_object_wherever_it_is_sent() -> None:
    assert pickle.loads(pickle.dumps(UNKNOWN)) is UNKNOWN
    assert copy.deepcopy([UNKNOWN])[0] is UNKNOWN
    assert UNKNOWN != "unknown"
    assert UNKNOWN is not None
    assert UNKNOWN.__class__ != UNKNOWN


def test_unknown_comes_last_and_leaves_the_order_of_the_others() -> None:
    for values in ([10, 2, UNKNOWN, 9], ["b", UNKNOWN, "a"], [UNKNOWN, 1.5, -2.0]):
        column = np.empty(len(values), dtype=object)
        column[:] = values
        codes, distinct = factorize(column)
        known = sorted(value for value in values if value is not UNKNOWN)
        assert distinct.tolist() == [*known, UNKNOWN]
        assert [distinct[code] for code in codes] == values


def test_levels_are_texts_in_their_own_order() -> None:
    low, mid, high = levels(["low", "mid", "high"])
    assert sorted([high, low, mid]) == ["low", "mid", "high"]
    assert {low: 1}["low"] == 1
    assert low == "low"
    assert f"{low}" == "low"
    again = pickle.loads(pickle.dumps([high, low]))
    assert [(str(level), level.place) for level in again] == [("high", 2), ("low", 0)]
    assert copy.deepcopy(mid) < high
    assert isinstance(copy.deepcopy(mid), Level)
    assert factorize(np.array([high, UNKNOWN, low], dtype=object))[1].tolist() == [
        "low",
        "high",
        UNKNOWN,
    ]
