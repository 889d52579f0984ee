"""equipoise: classifiers that are as accurate as fairness allows, with a certificate.

An implementation, in full, of Agarwal, Beygelzimer, Dudík, Langford and Wallach, "A Reductions
Approach to Fair Classification" (ICML 2018), and some steps beyond it.
"""

from equipoise.blindness import PriceOfBlindness, price_of_blindness
from equipoise.bounds import (
    BoundedGroupError,
    BoundedGroupLoss,
    MinimaxGroupError,
    SelectionRate,
    TreatmentEquality,
)
from equipoise.catalogue import (
    AccuracyEquality,
    Calibration,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateBalance,
    ErrorRateParity,
    FalseNegativeRateParity,
    FalsePositiveRateParity,
    FourFifthsRule,
    PredictiveParity,
    TruePositiveRateParity,
    UtilityParity,
)
from equipoise.cells import Cells
from equipoise.certificate import Certificate
from equipoise.constraints import Constraint
from equipoise.cross_fit import CrossFittedOracle
from equipoise.exceptions import (
    EmptyCellWarning,
    EquipoiseWarning,
    InfeasibleWarning,
    ModelFileError,
    SmallGroupWarning,
    UntrustedTypeError,
)
from equipoise.expressions import rate
from equipoise.frontier import Frontier
from equipoise.frontier_point import FrontierPoint
from equipoise.grid_search import GridSearch
from equipoise.lagrangian import Lagrangian
from equipoise.model_files import load, save
from equipoise.moments import Moments
from equipoise.objectives import BalancedError, Costs
from equipoise.oracles import ExactOracle, RefitOracle, ResampledClassifier
from equipoise.parquet import ParquetRows
from equipoise.plotting import FrontierDisplay
from equipoise.plugin import BothOracle, PluginOracle
from equipoise.probabilities import Probabilities
from equipoise.randomized import RandomizedClassifier
from equipoise.reductions import ExponentiatedGradient, FairClassifier
from equipoise.saddle_point import Oracle, Play, Pool
from equipoise.violations import Measured, ViolationReport

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
    "BothOracle",
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
