"""Envelopes against all pairs of points; curves against the points they are of."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, Frontier, FrontierDisplay
from equipoise.experiments.comparisons import envelope_error
from equipoise.plotting import convex_envelope, pareto


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


@pytest.fixture(scope="module")
def traced():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 2)) + A[:, None]
    y = (X.sum(axis=1) + rng.normal(size=500) > 1).astype(int)
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.01, 0.05, 0.1])
    return frontier.fit(X, y, sensitive_features=A)


def test_display_draws_curves_and_points(traced):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib")
    pyplot.close("all")
    display = FrontierDisplay.from_estimator(traced, points={"other": (0.1, 0.3)})
    assert pyplot.gcf() is display.figure_  # which plt.show() and notebooks show
    assert len(display.lines_) == 1
    np.testing.assert_allclose(
        display.lines_[0].get_xdata(), [point.disparity for point in traced.points_]
    )
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown == ["DemographicParity", "unconstrained", "other"]
    both = FrontierDisplay.from_frontiers({"a": traced, "b": traced}, ax=display.ax_)
    assert both.ax_ is display.ax_
    assert len(both.plot(display.ax_, envelope=False).lines_) == 2
    points = FrontierDisplay.from_points(traced.points_[:2], n=500, name="two", ax=display.ax_)
    error = np.array([point.error for point in traced.points_[:2]])
    half = 1.96 * np.sqrt(error * (1 - error) / 500)
    assert points.curves[0].band[1] == pytest.approx(error + half)  # by growing disparity
    assert pyplot.get_fignums() == [1]
    pyplot.close("all")


def test_no_curve_is_black_on_black(traced):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    with pyplot.style.context("dark_background"):
        display = FrontierDisplay.from_frontiers({str(n): traced for n in range(7)})
        colours = {line.get_color() for line in display.lines_}
    assert len(colours) == 7
    assert not colours & {"black", "k", "#000000"}
    pyplot.close("all")


def test_one_point_has_a_mark_in_the_legend_and_an_interval(traced):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    display = FrontierDisplay.from_points(traced.points_[:1], n=500)
    (handle,) = display.ax_.get_legend().legend_handles
    assert handle.get_marker() == "o"
    (interval,) = display.ax_.collections
    (ends,) = interval.get_segments()
    assert ends[:, 1] == pytest.approx([end[0] for end in display.curves[0].band])
    pyplot.close("all")


def test_bounds_of_many_sizes_have_room(traced):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    wide = FrontierDisplay.from_estimator(traced, points={"other": (0.5, 0.3)})
    assert wide.ax_.get_xscale() == "log"
    left, right = wide.ax_.get_xlim()
    assert left < min(point.disparity for point in traced.points_)
    assert right > 0.5
    narrow = FrontierDisplay.from_points(traced.points_[1:])
    assert narrow.ax_.get_xscale() == "linear"
    assert FrontierDisplay.from_estimator(traced).ax_.get_ylabel() == "error, training data"
    pyplot.close("all")
