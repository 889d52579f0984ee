"""Oracles: best responses to costs of cells (section 3.1).

`Refit`, `Plugin` and `BestOf` are what an estimator takes as ``oracle=``; the classes whose names
end in "Oracle" answer queries over rows in memory.
"""

from equipoise.oracles.candidates import BestOfOracle, ExactOracle
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.learners import ResampledClassifier
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.specs import BestOf, Plugin, Refit

__all__ = [
    "Refit",
    "Plugin",
    "BestOf",
    "RefitOracle",
    "CrossFittedOracle",
    "PluginOracle",
    "BestOfOracle",
    "ExactOracle",
    "ResampledClassifier",
]
