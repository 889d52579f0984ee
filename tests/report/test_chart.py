"""Axes of the picture: every number has a place, and there are round ticks."""

import pytest

from equipoise.report.chart import Axis, rate_axis
from equipoise.report.contents import GroupContents
from equipoise.report.measurement import Range


@pytest.mark.parametrize("values", [[0.1, 0.1], [0.0, 0.3], [0.001, 0.2], [0.0, 0.0], [0.0, 1e-7]])
def test_axes_take_any_numbers(values):
    axis = Axis.over(values, 10, 110, ratios=True)
    assert all(10 <= axis.place(value) <= 110 for value in [*values, -1.0, 2.0])
    assert axis.place(min(values)) <= axis.place(max(values))
    assert 1 <= len(axis.ticks()) < 9


@pytest.mark.parametrize(
    ("rates", "first", "last"),
    [([0.012, 0.031], 0.015, 0.03), ([0.0, 0.95], 0.0, 1.0), ([0.91, 0.94], 0.91, 0.94)],
)
def test_the_axis_of_rates_fits_them(rates, first, last):
    groups = [GroupContents("a", "b", 9, {"r": Range(rate, rate, rate)}) for rate in rates]
    axis = rate_axis([(group, None) for group in groups], "r")
    assert (axis.ticks()[0], axis.ticks()[-1]) == pytest.approx((first, last))
    assert [round(axis.place(rate)) for rate in rates] == pytest.approx([5, 95], abs=5)


def test_rates_that_are_not_known_have_an_axis_too():
    nobody = GroupContents("a", "b", None, {})
    assert rate_axis([(nobody, nobody)], "r").ticks()[-1] == 1.0
