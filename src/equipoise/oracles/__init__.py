"""Oracles: best responses to costs of cells (section 3.1)."""

from equipoise.oracles.best_of import BestOfOracle
from equipoise.oracles.candidates import ExactOracle
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.learners import ResampledClassifier
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.specs import BestOf, Plugin, Refit

__all__ = [
    "BestOf",
    "BestOfOracle",
    "CrossFittedOracle",
    "ExactOracle",
    "Plugin",
    "PluginOracle",
    "Refit",
    "RefitOracle",
    "ResampledClassifier",
]
