"""Bounds are compared by one quantity: the largest difference of comparisons of enough people."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, Frontier, FrontierDisplay
from equipoise.cli import terminal
from equipoise.cli.result_tables import show_frontier
from equipoise.report import report_of

SIZES = {"A": 900, "B": 700, "C": 45, "D": 35, "rare": 12}


def people(seed):
    rng = np.random.default_rng(seed)
    group = np.repeat(list(SIZES), list(SIZES.values()))
    shift = np.repeat([0.0, 0.5, 1.0, -0.7, 2.0], list(SIZES.values()))
    X = rng.normal(size=(len(group), 2)) + shift[:, None]
    y = (X.sum(axis=1) + rng.normal(size=len(group)) > 0.5).astype(int)
    return X, y, group


@pytest.fixture(scope="module")
def traced():
    X, y, group = people(0)
    bounds = [0.01, 0.02, 0.04, 0.08, 0.16]
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=bounds)
    return frontier.fit(X, y, sensitive_features=group), people(1)


def by_hand(model, X, group):
    """The largest difference from everybody of a group of 30 or more people, and of any."""
    selected = model.predict_proba(X)[:, 1]
    away = {a: abs(selected[group == a].mean() - selected.mean()) for a in SIZES}
    return max(away[a] for a in SIZES if SIZES[a] >= 30), max(away.values())


@pytest.fixture(scope="module")
def contents(traced):
    frontier, (X, y, group) = traced
    X_fit, y_fit, group_fit = people(0)
    test = {"X_test": X, "y_test": y, "sensitive_features_test": group}
    return report_of(frontier, X_fit, y_fit, sensitive_features=group_fit, **test)


def test_every_bound_states_the_same_quantity(traced, contents):
    frontier, (X, _, group) = traced
    rows = []
    differences = []
    for point in contents.points:
        entry = point.on("test")
        many, every = by_hand(frontier.at(point.eps), X, group)
        assert entry.difference.estimate == pytest.approx(many)
        differences.append(every - many)
        assert entry.difference.low <= many <= entry.difference.high
        training = point.on("training")
        assert training.difference.estimate == pytest.approx(point.disparity)
        rows.append({row.text for row in entry._compared})
    assert len(set(map(frozenset, rows))) == 1
    assert max(differences) > 0.01  # the few say something else


def test_the_report_of_a_frontier_states_it_too(traced, contents):
    frontier, (X, y, group) = traced
    report = frontier.report(X, y, sensitive_features=group)
    for entry, point in zip(report["test"], contents.points, strict=True):
        stated = point.on("test").difference.estimate
        assert entry.shown()["largest_difference"] == pytest.approx(stated)
        assert entry.largest.people >= 30
    assert "of the comparisons of 30 or more people" in str(report)


def test_the_command_line_prints_it(contents, capsys):
    terminal.start(machine=False)
    show_frontier(contents)
    lines = capsys.readouterr().out.splitlines()
    for point in contents.points:
        (line,) = (text for text in lines if text.split()[:1] == [f"{point.eps:.4f}"])
        assert f"{point.on('test').difference.estimate:.4f} [" in line


def test_the_picture_of_test_data_shows_it_with_intervals(traced, contents):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib")
    frontier, (X, y, group) = traced
    display = FrontierDisplay.from_estimator(frontier, X, y, sensitive_features=group)
    measured = frontier.report(X, y, sensitive_features=group)["test"]
    values = sorted(entry.compared_difference for entry in measured)
    curve = display.curves[0]
    assert list(curve.disparity) == pytest.approx([value.estimate for value in values])
    assert list(curve.across[0]) == pytest.approx([value.low for value in values])
    assert list(curve.across[1]) == pytest.approx([value.high for value in values])
    free = contents.unconstrained.on("test").difference.estimate
    assert display.points["unconstrained"][0] == pytest.approx(free)
    assert display.ax_.get_xlabel().endswith("test data")
    assert display.ax_.get_ylabel() == "error, test data"
    pyplot.close("all")
