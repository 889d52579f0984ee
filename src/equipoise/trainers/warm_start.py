"""Logistic regression, started from its last solution."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from equipoise.cells import Array
from equipoise.trainers.plain import KeepingTrainer, Trained


class WarmStartTrainer(KeepingTrainer):
    """Start each fit where the last one ended, for learners with ``warm_start=True``.

    The problem is convex: a warm start reaches the same solution as a cold one, up to the
    solver's own tolerance. Within it, the answer depends on what was asked before; two jobs or an
    interrupted fit then no longer find what one job finds to the last digit. So this is left to
    those who ask for it.
    """

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the learner asks for warm starts and has a solver that can be started anywhere.

        >>> WarmStartTrainer.suits(LogisticRegression(warm_start=True), None)
        True
        >>> WarmStartTrainer.suits(LogisticRegression(), None)
        False
        """
        return (
            type(estimator) is LogisticRegression
            and bool(estimator.warm_start)
            and estimator.solver != "liblinear"
        )

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Fit a clone of the learner, from the last solution on."""
        classifier = clone(self.estimator)
        if self._kept is not None:
            # scikit-learn starts from these two.
            classifier.coef_, classifier.intercept_ = (part.copy() for part in self._kept)
        classifier.fit(self.X, label, **{self.weight_parameter: weight})
        self._kept = classifier.coef_.copy(), classifier.intercept_.copy()
        return Trained(classifier, classifier, self.X)
