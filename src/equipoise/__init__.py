"""equipoise: classifiers that are as accurate as fairness allows, with a certificate.

An implementation, in full, of Agarwal, Beygelzimer, Dudík, Langford and Wallach, "A Reductions
Approach to Fair Classification" (ICML 2018), and some steps beyond it.
"""

from equipoise.catalogue import DemographicParity, EqualizedOdds
from equipoise.cells import Cells
from equipoise.certificate import Certificate
from equipoise.constraints import Constraint
from equipoise.exceptions import EmptyCellWarning, EquipoiseWarning, InfeasibleWarning
from equipoise.grid_search import GridSearch
from equipoise.lagrangian import Costs, Lagrangian
from equipoise.moments import Moments
from equipoise.oracles import ExactOracle, RefitOracle, ResampledClassifier
from equipoise.randomized import RandomizedClassifier
from equipoise.reductions import ExponentiatedGradient, FairClassifier
from equipoise.saddle_point import Oracle, Play, Pool

__version__ = "0.1.0"

__all__ = [
    "FairClassifier",
    "ExponentiatedGradient",
    "GridSearch",
    "RandomizedClassifier",
    "ResampledClassifier",
    "Certificate",
    "Constraint",
    "DemographicParity",
    "EqualizedOdds",
    "Costs",
    "Cells",
    "Moments",
    "Lagrangian",
    "Oracle",
    "RefitOracle",
    "ExactOracle",
    "Pool",
    "Play",
    "EquipoiseWarning",
    "EmptyCellWarning",
    "InfeasibleWarning",
]
