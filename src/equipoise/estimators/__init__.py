"""Estimators: the scikit-learn face of the reductions (section 3)."""

from equipoise.estimators.blindness import PriceOfBlindness, price_of_blindness
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.grid_search import GridSearch
from equipoise.estimators.guarantees.comparison import Comparison, prove_better
from equipoise.estimators.guarantees.monitor import Monitor
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.reductions import ExponentiatedGradient, FairClassifier
from equipoise.estimators.regression.randomized import RandomizedRegressor
from equipoise.estimators.regression.regressor import FairRegressor

__all__ = [
    "Comparison",
    "ExponentiatedGradient",
    "FairClassifier",
    "FairRegressor",
    "Frontier",
    "FrontierPoint",
    "GridSearch",
    "Monitor",
    "PriceOfBlindness",
    "RandomizedClassifier",
    "RandomizedRegressor",
    "price_of_blindness",
    "prove_better",
]
