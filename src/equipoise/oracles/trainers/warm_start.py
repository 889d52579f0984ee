"""Logistic regression, started from the solution of a similar problem."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from equipoise.cells.table import Array
from equipoise.oracles.trainers.base import Trained, Trainer

#: Solvers that can be started anywhere and draw nothing at random.
_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")


class WarmStartTrainer(Trainer):
    """Start each fit from the solution that was named last.

    The problem is convex: a warm start reaches the same solution as a cold one, up to the
    solver's own tolerance. The start is named from outside, by the pool, and not simply the last
    solution, so that a fit that was interrupted and resumed finds what an undisturbed one finds.
    """

    def __init__(self, estimator: Any, X: Any, weight_parameter: str) -> None:
        super().__init__(estimator, X, weight_parameter)
        self._start: tuple[NDArray, NDArray] | None = None

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the learner has a solver that can be started anywhere.

        >>> WarmStartTrainer.suits(LogisticRegression(), None)
        True
        >>> WarmStartTrainer.suits(LogisticRegression(solver="saga"), None)
        False
        """
        return type(estimator) is LogisticRegression and estimator.solver in _SOLVERS

    def start_from(self, classifier: Any) -> None:
        """Start all later fits from the solution of this one."""
        if isinstance(classifier, LogisticRegression):
            self._start = classifier.coef_, classifier.intercept_

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Fit a clone of the learner, from the start if there is one."""

        def train(X: Any, label: NDArray, weight: Array) -> Any:
            classifier = clone(self.estimator).set_params(warm_start=True)
            if self._start is not None:
                # scikit-learn starts from these two.
                classifier.coef_, classifier.intercept_ = (part.copy() for part in self._start)
            classifier.fit(X, label, **{self.weight_parameter: weight})
            return classifier.set_params(warm_start=self.estimator.warm_start)

        classifier = self._guard(train, self.X, label, weight)
        return Trained(classifier, classifier, self.X)
