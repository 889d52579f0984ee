"""The table of rates against raw arrays, and its names against the functions of the metrics."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import random_crowd
from listed import cells_of

from equipoise import metrics
from equipoise.constraints.rates import BASE, GROUP_RATES, RATES, Rate

#: Name -> (what is averaged, over whom) of labels y and decisions h.
DEFINITIONS = {
    "selection": lambda y, h: (h, y >= 0),
    "rejection": lambda y, h: (1 - h, y >= 0),
    "error": lambda y, h: (y != h, y >= 0),
    "accuracy": lambda y, h: (y == h, y >= 0),
    "tpr": lambda y, h: (h, y == 1),
    "fpr": lambda y, h: (h, y == 0),
    "fnr": lambda y, h: (1 - h, y == 1),
    "tnr": lambda y, h: (1 - h, y == 0),
    "base": lambda y, h: (y, y >= 0),
}


@pytest.mark.parametrize("rate", [*RATES.values(), BASE], ids=lambda rate: rate.name)
def test_rates_are_what_they_are_called(rate: Rate) -> None:
    crowd = random_crowd(0, n=80)
    cells = cells_of(crowd)
    offset, slope = cells.average(rate.event(cells), rate.table(cells))
    for h in crowd.H:
        value, event = DEFINITIONS[rate.name](crowd.y, h)
        assert offset + slope @ cells.sum(h) == pytest.approx(np.mean(value[event]))
        function = getattr(metrics, rate.column, None)
        if function is not None:
            assert function(crowd.y, h) == pytest.approx(np.mean(value[event]))


def test_every_rate_has_its_own_names_and_tables_have_columns_for_them() -> None:
    rates = [*RATES.values(), BASE]
    assert set(DEFINITIONS) == {rate.name for rate in rates}
    for name in ("name", "column", "words", "meaning"):
        assert len({getattr(rate, name) for rate in rates}) == len(rates)
    table = metrics.group_table([0, 1], [0, 1], sensitive_features=["a", "b"])
    assert list(table.columns) == ["count", *(rate.column for rate in GROUP_RATES)]
