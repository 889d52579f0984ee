"""Axes of the picture: every number has a place, and there are round ticks."""

import pytest

from equipoise.report.chart import Axis


@pytest.mark.parametrize("values", [[0.1, 0.1], [0.0, 0.3], [0.001, 0.2], [0.0, 0.0], [0.0, 1e-7]])
def test_axes_take_any_numbers(values):
    axis = Axis.over(values, 10, 110, ratios=True)
    assert all(10 <= axis.place(value) <= 110 for value in [*values, -1.0, 2.0])
    assert axis.place(min(values)) <= axis.place(max(values))
    assert 1 <= len(axis.ticks()) < 9
