"""The picture of a monitor against its numbers."""

import numpy as np
import pytest

from equipoise.plotting import MonitorDisplay


def test_a_monitor_is_drawn_in_powers_of_ten():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    display = MonitorDisplay([np.log(10), 2000.0], alarm_at=100.0, alarm_day=2).plot()
    assert pyplot.gcf() is display.figure_
    assert display.line_.get_ydata() == pytest.approx([0, 1, 2000 / np.log(10)])
    alarm = display.ax_.lines[1].get_ydata()
    assert alarm[0] == pytest.approx(2)
    assert MonitorDisplay([], alarm_at=20.0).plot(display.ax_).figure_ is display.figure_
    pyplot.close("all")
