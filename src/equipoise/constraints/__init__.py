"""Constraints: g, events, M and c (section 2). Every constraint by name.

`CATALOGUE` is the list of those that can be asked for by name: a new one is written in one file and
added here, and then model files and the command line know it.
"""

from equipoise.constraints.base import All, Calibration, Constraint, Linear, PredictiveParity
from equipoise.constraints.comparison import Parity
from equipoise.constraints.distribution import DistributionParity
from equipoise.constraints.expressions import Inequality, rate
from equipoise.constraints.group_bounds import (
    BoundedGroupError,
    MinimaxGroupError,
    SelectionRate,
    TreatmentEquality,
)
from equipoise.constraints.groups import GroupConstraint
from equipoise.constraints.moments import Moments
from equipoise.constraints.parity import (
    AccuracyEquality,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateBalance,
    FalseNegativeRateParity,
    FalsePositiveRateParity,
    FourFifthsRule,
    UtilityParity,
)
from equipoise.constraints.rates import Rate
from equipoise.constraints.regression import BoundedGroupLoss, MinimaxGroupLoss
from equipoise.constraints.rows import Row

#: The names of fairlearn, where they differ.
TruePositiveRateParity = EqualOpportunity
ErrorRateParity = AccuracyEquality

CATALOGUE: tuple[type[Constraint], ...] = (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    FalsePositiveRateParity,
    FalseNegativeRateParity,
    ErrorRateBalance,
    AccuracyEquality,
    FourFifthsRule,
    UtilityParity,
    TreatmentEquality,
    BoundedGroupError,
    MinimaxGroupError,
    SelectionRate,
    DistributionParity,
)

__all__ = [
    "CATALOGUE",
    "AccuracyEquality",
    "All",
    "BoundedGroupError",
    "BoundedGroupLoss",
    "Calibration",
    "Constraint",
    "DemographicParity",
    "DistributionParity",
    "EqualOpportunity",
    "EqualizedOdds",
    "ErrorRateBalance",
    "ErrorRateParity",
    "FalseNegativeRateParity",
    "FalsePositiveRateParity",
    "FourFifthsRule",
    "GroupConstraint",
    "Inequality",
    "Linear",
    "MinimaxGroupError",
    "MinimaxGroupLoss",
    "Moments",
    "Parity",
    "PredictiveParity",
    "Rate",
    "Row",
    "SelectionRate",
    "TreatmentEquality",
    "TruePositiveRateParity",
    "UtilityParity",
    "rate",
]
