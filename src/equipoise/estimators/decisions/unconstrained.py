"""The learner trained on the labels: scores come from it, decisions are compared with its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.estimators.base import Problem
from equipoise.oracles.decisions import decisions
from equipoise.oracles.scores import (
    has_order,
    has_probabilities,
    learner_name,
    order,
    probability,
)


class UnconstrainedModel:
    """The learner trained on the labels as they are: ``clone(estimator).fit(X, y, sample_weight)``.

    Its own cut decides, whatever the objective and the oracle. Of a list of fitted classifiers it
    is the one of least cost.

    Parameters
    ----------
    classifier : classifier
        Predicts 0 to V - 1.
    classes : array of V labels
    """

    def __init__(self, classifier: Any, classes: NDArray) -> None:
        self.classifier = classifier
        self.classes_ = classes

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
        return ""

    def why_no_order(self) -> str:
        """Return why people cannot be ranked; empty if they can."""
        if has_order(self.classifier) or len(self.classes_) > 2:
            return self.why_no_probabilities() if len(self.classes_) > 2 else ""
        return f"{learner_name(self.classifier)} has neither predict_proba nor decision_function."


def unconstrained_of(problem: Problem) -> UnconstrainedModel:
    """Return the unconstrained model of a fit, whose learner has learned the labels."""
    return UnconstrainedModel(problem.unconstrained, problem.engine.classes)
