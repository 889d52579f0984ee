"""What a model file may hold as plain data: the closed list of this package's own types."""

from __future__ import annotations

from typing import Any, NoReturn

from sklearn.pipeline import Pipeline

from equipoise.cells.layered import LayeredTable
from equipoise.cells.table import CellTable
from equipoise.constraints import CATALOGUE, All, Inequality, Linear, Row
from equipoise.constraints.conditions import Event
from equipoise.constraints.expressions import Expression, Term
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.grid_search import Candidate, GridSearch
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.reductions import ExponentiatedGradient, FairClassifier
from equipoise.game.certificate import Certificate, Scope
from equipoise.game.column_generation import Queries
from equipoise.game.evidence import Evidence
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.least_random import Lottery
from equipoise.game.mixture import Mixture
from equipoise.game.objectives import BalancedError, Costs, PersonCosts
from equipoise.game.pool import Pool
from equipoise.metrics.tallies import Tally
from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.cell_probabilities import (
    CellGroups,
    CellProbabilities,
    ClassProbabilities,
    OneAgainstRest,
)
from equipoise.oracles.cut import LinearCut
from equipoise.oracles.plugin import PluginClassifier
from equipoise.oracles.specs import BestOf, Plugin, Refit
from equipoise.oracles.thresholds import ThresholdedClassifier
from equipoise.oracles.transformed import TransformedClassifier
from equipoise.rows.fingerprint import Fingerprint


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

_OTHERS = (
    *(All, Linear, Inequality, Expression, Term, Row, Event, Costs, BalancedError, PersonCosts),
    *(Certificate, FrontierPoint, Candidate, CellTable, LayeredTable, Pool),
    *(ThresholdedClassifier, PluginClassifier, CellProbabilities, ClassProbabilities, CellGroups),
    *(OneAgainstRest, LabelAdapter, LinearCut, Tally, TransformedClassifier, Pipeline),
    *(Evidence, Scope, Lottery, Lagrangian, Mixture, Queries, Refit, Plugin, BestOf, Fingerprint),
)
#: By the names under which files know them. Renaming a class here is a new format version.
KINDS: dict[str, type[Any]] = {
    kind.__name__.lstrip("_"): kind for kind in (*MODELS, *CATALOGUE, *_OTHERS)
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
