"""The headline: intervals decide, and where nothing is certain, people who are not few."""

import numpy as np
import pytest

from equipoise.constraints.rows import DIFFERENCE, Row
from equipoise.metrics import compare_groups, demographic_parity_violation
from equipoise.metrics.headline import first, headline
from equipoise.metrics.intervals import Interval

NOTHING = Interval(np.nan, np.nan, np.nan)


@pytest.mark.parametrize(
    ("values", "people", "at"),
    [
        ([Interval(0.1, -0.2, 0.4), Interval(0.02, 0.01, 0.03)], [40, 900], 1),  # certain
        ([Interval(0.5, 0.02, 0.9), Interval(0.02, 0.01, 0.03)], [12, 900], 0),  # so are few
        ([Interval(0.01, -0.02, 0.04), Interval(0.005, -0.01, 0.02)], [300, 900], 0),  # nothing is
        ([Interval(0.1, -0.2, 0.4), Interval(0.005, -0.01, 0.02)], [29, 30], 1),
        ([Interval(0.1, -0.2, 0.4), Interval(0.005, -0.01, 0.02)], [29, 29], 1),  # all are few
        ([Interval(0.1, np.nan, np.nan), Interval(0.2, np.nan, np.nan)], [900, 3], 1),  # no limits
        ([NOTHING, Interval(-0.1, -0.2, 0.1)], [900, 900], 1),
        ([NOTHING], [900], None),
        ([], [], None),
    ],
)
def test_what_stands_first(values, people, at):
    assert first(values, people) == at


def test_a_difference_is_certain_where_it_is_above_zero_and_not_above_its_bound():
    sure = Row("dp", "F below overall", bound=0.1, limit=DIFFERENCE), Interval(-0.02, -0.03, -0.01)
    wide = Row("dp", "X below overall", bound=0.1, limit=DIFFERENCE), Interval(-0.01, -0.2, 0.2)
    assert headline([wide, sure], np.array([40, 900])).row is sure[0]
    # A rate that must not exceed a bound is no difference: nothing is certain below the bound.
    sure, wide = ((row._replace(limit=""), excess) for row, excess in (sure, wide))
    assert headline([wide, sure], np.array([40, 900])).row is wide[0]


def test_of_two_groups_the_one_further_from_all_stands_first_whatever_is_certain():
    for women, men in ((100, 300), (300, 100)):
        group = np.repeat(["F", "M"], [women, men])
        selected = np.concatenate([np.arange(n) < share for n, share in ((women, 40), (men, 50))])
        everybody = selected.mean()
        away = {g: abs(selected[group == g].mean() - everybody) for g in "FM"}
        pairs = compare_groups(
            demographic_parity_violation, selected, selected, sensitive_features=group
        )
        named = {pairs.headline.group, pairs.headline.against} - {"overall"}
        assert named == {max(away, key=away.get)}
        assert pairs.headline == pairs.largest
