"""The learner's answer without constraints, which scores come from and others are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.rates import ERROR
from equipoise.estimators.base import Problem
from equipoise.oracles.decisions import decisions
from equipoise.oracles.plugin import PluginClassifier
from equipoise.oracles.scores import (
    has_order,
    has_probabilities,
    learner_name,
    order,
    probability,
)


class UnconstrainedModel:
    """The learner's answer without constraints, and how likely it takes the label to be.

    Parameters
    ----------
    classifier : classifier
        Predicts 0 and 1.
    classes : array of two labels
    odds : float or None
        What the odds of its probabilities are multiplied by to be those of the label: it was
        trained with costs, which weigh the two labels differently. None where costs differ within
        a label, which no factor undoes.
    """

    def __init__(self, classifier: Any, classes: NDArray, odds: float | None = 1.0) -> None:
        self.classifier, self.classes_, self.odds = classifier, classes, odds

    def __repr__(self) -> str:
        return f"<unconstrained model: {self.classifier!r}>"

    def predict(self, X: Any) -> NDArray:
        """Decide for each row, in memory, as without constraints."""
        (decided,) = decisions([self.classifier], X, len(self.classes_))
        return self.classes_[decided.astype(np.intp)]

    def label_proba(self, X: Any) -> Array:
        """Return the chance of each label for each row, in memory: shape (n, V)."""
        if why := self.why_no_probabilities():
            raise AttributeError(why)
        if (V := len(self.classes_)) > 2:
            return np.column_stack([probability(self.classifier, X, label) for label in range(V)])
        one = np.clip(probability(self.classifier, X), 0.0, 1.0)
        if self.odds is not None and not isinstance(self.classifier, PluginClassifier):
            one = self.odds * one / (self.odds * one + (1.0 - one))
        return np.column_stack([1.0 - one, one])

    def order(self, X: Any, label: int = 1) -> Array:
        """Return a number from 0 to 1 for each row: the chance of a label where it is known.

        Otherwise a number that orders people like the learner's own scores.
        """
        if not self.why_no_probabilities() or len(self.classes_) > 2:
            return self.label_proba(X)[:, label]
        found = order(self.classifier, X)
        return found if label else 1.0 - found

    def why_no_probabilities(self) -> str:
        """Return why there is no chance of the label; empty if there is one."""
        if not has_probabilities(self.classifier):
            name = learner_name(self.classifier)
            return (
                f"{name} has no predict_proba, so nothing says how likely the label is. Use a "
                f"learner that has one, or wrap it: CalibratedClassifierCV({name}(...))."
            )
        if self.odds is None and not isinstance(self.classifier, PluginClassifier):
            return (
                "the objective weighs people of the same label differently, or kinds of errors, so "
                "the learner's probabilities are not those of the label. Use oracle='plugin', "
                "which learns them apart from the costs."
            )
        return ""

    def why_no_order(self) -> str:
        """Return why people cannot be ranked; empty if they can."""
        if has_order(self.classifier) or len(self.classes_) > 2:
            return self.why_no_probabilities() if len(self.classes_) > 2 else ""
        return f"{learner_name(self.classifier)} has neither predict_proba nor decision_function."


def unconstrained_of(problem: Problem) -> UnconstrainedModel | None:
    """Return the unconstrained model of a fit; None if the learner was not asked for it."""
    if (classifier := problem.pool.free_answer) is None:
        return None
    slope = problem.lagrangian.error_slope
    odds = 1.0 if problem.oracle.exact else label_odds(slope, problem.cells)
    return UnconstrainedModel(classifier, problem.engine.classes, odds)


def label_odds(error_slope: Array, cells: CellTable) -> float | None:
    """Return the factor that undoes an objective in the odds of a learner trained for it.

    A learner to whom people of label 1 weigh five times as much gives them five times the odds.
    None where people of one label weigh differently, or nothing.

    >>> from equipoise import Costs
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 1], {"sex": ["F", "F", "M"]})
    >>> _, slope = cells.total(Costs(false_negative=5).table(cells))
    >>> label_odds(slope, cells)
    0.2
    >>> _, slope = cells.total(Costs(false_negative={"F": 5, "M": 1}).table(cells))
    >>> label_odds(slope, cells) is None
    True
    """
    if cells.n_decisions > 2:  # nothing undoes other costs than those of all errors alike
        _, error = cells.total(ERROR.table(cells))
        largest = np.abs(error_slope).max()
        return 1.0 if np.abs(error_slope - largest * error).max() <= 1e-9 * largest else None
    of_cells, of_people = np.split(error_slope, [len(cells.label)])
    if of_people.any():  # a cost of each person's own
        return None
    counted = cells.mass > 0
    wrong = np.where(cells.label == 1, -of_cells, of_cells)
    of_one, of_zero = (wrong[counted & (cells.label == label)] for label in (1, 0))
    if min(of_one.min(), of_zero.min()) <= 0:
        return None
    if max(np.ptp(of_one) / of_one.max(), np.ptp(of_zero) / of_zero.max()) > 1e-9:
        return None
    return float(of_zero[0] / of_one[0])
