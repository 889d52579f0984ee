"""Plots: numbers first, drawn later; needs matplotlib (``pip install equipoise[plot]``).

As with scikit-learn's displays, ``from_...`` draws at once, and ``plot`` draws again.
"""

from equipoise.plotting.figures import PALETTE, new_figure
from equipoise.plotting.frontier import Curve, FrontierDisplay, convex_envelope, pareto
from equipoise.plotting.groups import GroupRatesDisplay, SwitchedDisplay
from equipoise.plotting.monitor import MonitorDisplay

__all__ = [
    "FrontierDisplay",
    "Curve",
    "GroupRatesDisplay",
    "SwitchedDisplay",
    "MonitorDisplay",
    "PALETTE",
    "convex_envelope",
    "new_figure",
    "pareto",
]
