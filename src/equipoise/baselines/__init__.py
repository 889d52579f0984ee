"""Baselines of the paper's section 4, as scikit-learn classifiers.

All are fitted alike, ``fit(X, y, sensitive_features=A)``.
"""

from equipoise.baselines.learner import Unconstrained
from equipoise.baselines.preprocessing import Relabeling, Reweighting
from equipoise.baselines.thresholds import ThresholdOptimizer

__all__ = ["Unconstrained", "Reweighting", "Relabeling", "ThresholdOptimizer"]
