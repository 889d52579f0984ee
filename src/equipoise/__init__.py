"""equipoise: classifiers that are as accurate as fairness allows, with a certificate.

An implementation, in full, of Agarwal, Beygelzimer, Dudík, Langford and Wallach, "A Reductions
Approach to Fair Classification" (ICML 2018), and some steps beyond it.
"""

from equipoise.cells.rows import Cells
from equipoise.constraints import (
    AccuracyEquality,
    BoundedGroupError,
    BoundedGroupLoss,
    Calibration,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateBalance,
    ErrorRateParity,
    FalseNegativeRateParity,
    FalsePositiveRateParity,
    FourFifthsRule,
    MinimaxGroupError,
    Moments,
    PredictiveParity,
    SelectionRate,
    TreatmentEquality,
    TruePositiveRateParity,
    UtilityParity,
    rate,
)
from equipoise.estimators.blindness import PriceOfBlindness, price_of_blindness
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.grid_search import GridSearch
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.reductions import ExponentiatedGradient, FairClassifier
from equipoise.exceptions import (
    EmptyCellWarning,
    EquipoiseWarning,
    InfeasibleWarning,
    ModelFileError,
    SmallGroupWarning,
    UntrustedTypeError,
)
from equipoise.files import load, save
from equipoise.game.certificate import Certificate
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.objectives import BalancedError, Costs
from equipoise.game.pool import Oracle, Play, Pool
from equipoise.metrics.violations import Measured, ViolationReport
from equipoise.oracles.best_of import BestOfOracle
from equipoise.oracles.candidates import ExactOracle
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.learners import ResampledClassifier
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.refit import RefitOracle
from equipoise.plotting import FrontierDisplay
from equipoise.rows.parquet import ParquetRows
from equipoise.rows.probabilities import Probabilities

__version__ = "0.1.0"

__all__ = [
    "FairClassifier",
    "Frontier",
    "FrontierPoint",
    "FrontierDisplay",
    "ViolationReport",
    "Measured",
    "price_of_blindness",
    "PriceOfBlindness",
    "ExponentiatedGradient",
    "GridSearch",
    "RandomizedClassifier",
    "ResampledClassifier",
    "Certificate",
    "Constraint",
    "DemographicParity",
    "EqualizedOdds",
    "EqualOpportunity",
    "TruePositiveRateParity",
    "FalsePositiveRateParity",
    "FalseNegativeRateParity",
    "ErrorRateBalance",
    "AccuracyEquality",
    "ErrorRateParity",
    "TreatmentEquality",
    "BoundedGroupError",
    "BoundedGroupLoss",
    "MinimaxGroupError",
    "FourFifthsRule",
    "SelectionRate",
    "UtilityParity",
    "PredictiveParity",
    "Calibration",
    "rate",
    "Probabilities",
    "ParquetRows",
    "Costs",
    "BalancedError",
    "Cells",
    "Moments",
    "Lagrangian",
    "Oracle",
    "RefitOracle",
    "CrossFittedOracle",
    "PluginOracle",
    "BestOfOracle",
    "ExactOracle",
    "Pool",
    "Play",
    "save",
    "load",
    "EquipoiseWarning",
    "EmptyCellWarning",
    "SmallGroupWarning",
    "InfeasibleWarning",
    "ModelFileError",
    "UntrustedTypeError",
]
