"""Tallies: decisions added up by cell."""

from __future__ import annotations

import pytest
from people import make_people

from equipoise import EqualizedOdds
from equipoise.cells import Cells
from equipoise.metrics.tallies import Tally, weight_squares
from equipoise.metrics.violations import measure


def test_shares_alone_give_the_interval_of_drawn_decisions():
    people = make_people(500)
    cells = Cells.from_columns(people.y, {"A": people.A})
    h = (people.X[:, 0] > 0.3).astype(float)
    by_person = measure({"a": Tally.of_people(cells, h)}, EqualizedOdds(), None)[0]
    table = Tally.of_shares(cells.without_rows(), cells.sum(h), weight_squares(cells))
    by_share = measure({"a": table}, EqualizedOdds(), None)[0]
    assert by_share.excess == pytest.approx(by_person.excess)
    assert by_share.error == pytest.approx(by_person.error)
