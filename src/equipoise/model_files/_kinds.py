"""What a model file may hold as plain data: the closed list of this package's own types."""

from __future__ import annotations

from typing import Any, NoReturn

from sklearn.pipeline import Pipeline

from equipoise import bounds, catalogue
from equipoise.cell_counts import CellCounts
from equipoise.cell_probabilities import (
    CellProbabilities,
    CellTable,
    ClassProbabilities,
    OneAgainstRest,
)
from equipoise.cells import Cells
from equipoise.certificate import Certificate
from equipoise.constraints import All, Linear
from equipoise.expressions import Expression, Inequality, Term
from equipoise.frontier import Frontier
from equipoise.frontier_point import FrontierPoint
from equipoise.grid_search import Candidate, GridSearch
from equipoise.layers import LayeredCells
from equipoise.moments import Row
from equipoise.objectives import BalancedError, Costs
from equipoise.oracles import Relabelled
from equipoise.plugin import PluginClassifier
from equipoise.randomized import RandomizedClassifier
from equipoise.reductions import ExponentiatedGradient, FairClassifier
from equipoise.saddle_point import Pool
from equipoise.thresholds import ThresholdedClassifier
from equipoise.violations import Tally


class NotKept:
    """Stands for a part of a model that its file does not hold, such as a function of the user's.

    >>> NotKept("function benefit")
    <not kept in the model file: function benefit>
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<not kept in the model file: {self.what}>"

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Raise: there is nothing to call."""
        raise RuntimeError(
            f"{self.what} is code, which model files do not hold. Predictions do not need it; to "
            "fit or certify again, set the parameter of the model anew."
        )


#: The kinds that `save` takes; a Pipeline may end in one of them.
MODELS = (FairClassifier, ExponentiatedGradient, GridSearch, Frontier, RandomizedClassifier)

_PARITIES = (
    catalogue.AccuracyEquality,
    catalogue.DemographicParity,
    catalogue.EqualOpportunity,
    catalogue.EqualizedOdds,
    catalogue.ErrorRateBalance,
    catalogue.FalseNegativeRateParity,
    catalogue.FalsePositiveRateParity,
    catalogue.FourFifthsRule,
    catalogue.UtilityParity,
)
_BOUNDS = (
    bounds.BoundedGroupError,
    bounds.MinimaxGroupError,
    bounds.SelectionRate,
    bounds.TreatmentEquality,
)
_OTHERS = (
    *(All, Linear, Inequality, Expression, Term, Row, Costs, BalancedError),
    *(Certificate, FrontierPoint, Candidate, Cells, CellCounts, LayeredCells, Pool),
    *(ThresholdedClassifier, PluginClassifier, CellProbabilities, ClassProbabilities, CellTable),
    *(OneAgainstRest, Relabelled, Tally, Pipeline),
)
#: By the names under which files know them. Renaming a class here is a new format version.
KINDS: dict[str, type[Any]] = {
    kind.__name__.lstrip("_"): kind for kind in (*MODELS, *_PARITIES, *_BOUNDS, *_OTHERS)
}
NAMES = {kind: name for name, kind in KINDS.items()}


def is_model(value: Any) -> bool:
    """Whether `save` takes it: a model of this package, or a Pipeline that ends in one.

    >>> is_model(RandomizedClassifier([None], [1.0])), is_model(Pipeline([("a", None)]))
    (True, False)
    """
    if type(value) is Pipeline:
        return is_model(value.steps[-1][1])
    return type(value) in MODELS
