"""Baselines of the paper's section 4, as scikit-learn classifiers.

All are fitted alike, ``fit(X, y, sensitive_features=A)``.
"""

from equipoise.baselines._learner import Unconstrained
from equipoise.baselines._preprocessing import Relabeling, Reweighting
from equipoise.baselines._thresholds import ThresholdOptimizer

__all__ = ["Unconstrained", "Reweighting", "Relabeling", "ThresholdOptimizer"]
