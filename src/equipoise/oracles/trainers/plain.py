"""The plain trainer, which clones the learner and fits it: right for every learner."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from equipoise.cells.table import Array
from equipoise.oracles.trainers.base import Trained, Trainer


class PlainTrainer(Trainer):
    """Clone the learner, fit it, ask it about the rows: right for every learner."""

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Return True: nothing is assumed of the learner."""
        return True

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Fit a clone of the learner."""

        def train(X: Any, label: NDArray, weight: Array) -> Any:
            classifier = clone(self.estimator, safe=False)
            classifier.fit(X, label, **{self.weight_parameter: weight})
            return classifier

        classifier = self._guard(train, self.X, label, weight)
        return Trained(classifier, classifier, self.X)
