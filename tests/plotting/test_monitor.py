"""The picture of a monitor against its numbers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier, Monitor
from equipoise.plotting import MonitorDisplay


def test_present_values_are_drawn_with_their_limits():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 2000)
    X = np.column_stack([rng.normal(size=2000) + (sex == "M"), rng.normal(size=2000)])
    y = (X.sum(axis=1) > 0.5).astype(int)
    rule = DemographicParity(0.05, reference="pairwise")
    model = FairClassifier(LogisticRegression(), rule).fit(X, y, sensitive_features=sex)
    monitor = Monitor(model).update(X[sex == "F"][:50], sensitive_features=sex[sex == "F"][:50])
    monitor.update(X, sensitive_features=sex, decisions=(sex == "M").astype(int))
    display = MonitorDisplay.from_monitor(monitor)
    assert pyplot.gcf() is display.figure_
    name = "demographic parity: F below M by at most 0.05"
    assert display.ax_.get_title() == name == monitor.alarms_[0].row
    assert display.line_.get_xdata().tolist() == [50, 2050]
    row = monitor.rows_[1]
    assert display.present[1] == pytest.approx([row.present, row.low, row.high], abs=1e-6)
    assert np.isnan(display.line_.get_ydata()[0])
    _, bound, alarm = display.ax_.lines
    assert list(bound.get_ydata()) == [0.05, 0.05]
    assert list(alarm.get_xdata()) == [2050, 2050]
    other = MonitorDisplay.from_monitor(monitor, row=monitor.rows_[0].name, ax=display.ax_)
    assert other.line_.get_ydata()[1] == -display.line_.get_ydata()[1]
    with pytest.raises(ValueError, match="row is 'F below M'; expected one of 'demographic"):
        MonitorDisplay.from_monitor(monitor, row="F below M")
    assert MonitorDisplay([], [], 0.05).plot(display.ax_).figure_ is display.figure_
    pyplot.close("all")
