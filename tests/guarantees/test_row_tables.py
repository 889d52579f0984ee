"""Rows as tables: events and what is averaged, against raw arrays."""

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.constraints import EqualizedOdds, UtilityParity
from equipoise.guarantees.row_tables import RowTables


def test_every_row_follows_from_its_tables():
    rng = np.random.default_rng(0)
    A, y, h = rng.choice(["F", "M"], 200), rng.integers(0, 2, 200), rng.random(200)
    cells = Cells.from_columns(y, {"sex": A})
    tables = RowTables.compiled(EqualizedOdds(0.1), cells.table())
    selected = cells.sum(h) / cells.mass
    averaged = tables.g[:, :, 0] + selected * (tables.g[:, :, 1] - tables.g[:, :, 0])
    mass = tables.event * cells.mass
    value = tables.M @ ((mass * averaged).sum(axis=1) / mass.sum(axis=1))
    at = list(map(str, tables.moments.rows)).index("equalized odds given label 1: F above overall")
    assert value[at] == pytest.approx(h[(A == "F") & (y == 1)].mean() - h[y == 1].mean())


def test_utilities_of_persons_are_refused():
    cells = Cells.from_columns([0, 1], {"sex": ["F", "M"]})
    with pytest.raises(ValueError, match="the constraint is on the utility 'profit'"):
        RowTables.compiled(UtilityParity(0.05, utility="profit"), cells.table())
