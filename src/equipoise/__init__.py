"""equipoise: classifiers that are as accurate as fairness allows, with a certificate.

An implementation, in full, of Agarwal, Beygelzimer, Dudík, Langford and Wallach, "A Reductions
Approach to Fair Classification" (ICML 2018), and some steps beyond it.

Here are the names that most users need. The others are in their packages: `equipoise.constraints`,
`equipoise.oracles`, `equipoise.metrics`, `equipoise.estimators`, `equipoise.game`,
`equipoise.exceptions`.
"""

from equipoise.constraints import (
    AccuracyEquality,
    BoundedGroupError,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    FalsePositiveRateParity,
    FourFifthsRule,
    MinimaxGroupError,
    SelectionRate,
    rate,
)
from equipoise.estimators import (
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    FrontierPoint,
    GridSearch,
    Monitor,
    RandomizedClassifier,
)
from equipoise.files import load, save
from equipoise.game import BalancedError, Certificate, Costs
from equipoise.guarantees import Proof, people_needed
from equipoise.oracles import ResampledClassifier
from equipoise.plotting import FrontierDisplay
from equipoise.rows import ParquetRows, Probabilities

__version__ = "0.1.0"

__all__ = [
    "FairClassifier",
    "Frontier",
    "FrontierPoint",
    "FrontierDisplay",
    "ExponentiatedGradient",
    "GridSearch",
    "RandomizedClassifier",
    "ResampledClassifier",
    "Monitor",
    "Certificate",
    "Proof",
    "people_needed",
    "DemographicParity",
    "EqualizedOdds",
    "EqualOpportunity",
    "FalsePositiveRateParity",
    "AccuracyEquality",
    "FourFifthsRule",
    "BoundedGroupError",
    "MinimaxGroupError",
    "SelectionRate",
    "rate",
    "Costs",
    "BalancedError",
    "Probabilities",
    "ParquetRows",
    "save",
    "load",
]
