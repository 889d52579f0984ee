"""Envelopes against all pairs of points."""

from itertools import combinations

import numpy as np
import pytest

from equipoise.experiments.comparisons import envelope_error
from equipoise.plotting import MonitorDisplay, convex_envelope, pareto


def cheapest_mixture(points, violation):
    """The least error of any mixture of two points within a violation, by trying all pairs."""
    best = min((e for v, e in points if v <= violation), default=np.inf)
    for (v, e), (w, f) in combinations(points, 2):
        if min(v, w) <= violation <= max(v, w) and v != w:
            best = min(best, e + (f - e) * (violation - v) / (w - v))
    return best


def test_envelopes_against_all_pairs():
    rng = np.random.default_rng(0)
    for _ in range(30):
        points = rng.random((rng.integers(1, 9), 2)).round(2)
        for at in rng.uniform(points[:, 0].min(), 1, 5):
            assert envelope_error(points, at) == pytest.approx(cheapest_mixture(points, at))
        assert set(convex_envelope(*points.T)) <= set(pareto(*points.T))


def test_nobody_beats_a_point_on_the_pareto_frontier():
    points = np.random.default_rng(1).random((50, 2)).round(1)
    chosen = pareto(*points.T)
    for at, point in enumerate(points):
        beaten = ((points <= point).all(axis=1) & (points < point).any(axis=1)).any()
        assert (point.tolist() in points[chosen].tolist()) == (not beaten), at


def test_a_monitor_is_drawn_in_powers_of_ten():
    pytest.importorskip("matplotlib")
    display = MonitorDisplay([np.log(10), 2000.0], alarm_at=100.0, alarm_day=2).plot()
    assert display.line_.get_ydata() == pytest.approx([0, 1, 2000 / np.log(10)])
    alarm = display.ax_.lines[1].get_ydata()
    assert alarm[0] == pytest.approx(2)
