"""Members that encode: classifiers trained on encoded rows, as models that take a table."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from equipoise.estimators.frontier import Frontier
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.reductions import FairClassifier
from equipoise.oracles.cell_probabilities import (
    CellProbabilities,
    ClassProbabilities,
    OneAgainstRest,
)
from equipoise.oracles.plugin import PluginClassifier
from equipoise.oracles.thresholds import ThresholdedClassifier


def with_encoder(model: Frontier | FairClassifier, encoder: Any, example: Any) -> None:
    """Let a model that was fitted to encoded rows take tables: each member encodes first.

    Parameters
    ----------
    model : Frontier or FairClassifier
        Is changed.
    encoder : transformer
        Fitted; all members share it.
    example : table
        With the columns that the model takes from now on.
    """
    members = _Encoded(encoder)
    if isinstance(model, Frontier):
        model.pool_.classifiers[:] = [members.of(h) for h in model.pool_.classifiers]
    else:
        mixture = model.classifier_
        model.classifier_ = RandomizedClassifier(
            [members.of(h) for h in mixture.members],
            mixture.weights,
            mixture.classes_,
            mixture.random_state,
        )
    model.estimator = Pipeline([("encode", clone(encoder)), ("learner", model.estimator)])
    model._check_features(example, reset=True)


class _Encoded:
    """Puts an encoder before classifiers, and before those inside of others."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self._known: dict[int, CellProbabilities] = {}

    def of(self, classifier: Any) -> Any:
        if isinstance(classifier, DummyClassifier):  # looks at no feature
            return classifier
        if isinstance(classifier, ThresholdedClassifier):
            return ThresholdedClassifier(self.of(classifier.classifier), classifier.threshold)
        if isinstance(classifier, PluginClassifier):
            return PluginClassifier(self._cells(classifier.probabilities), classifier.costs)
        return Pipeline([("encode", self.encoder), ("learner", classifier)])

    def _cells(self, known: CellProbabilities) -> CellProbabilities:
        """Return them over tables; those of all members stay one object."""
        if id(known) not in self._known:
            group = [self._classes(part) for part in known.group]
            self._known[id(known)] = CellProbabilities(
                known.table, self._classes(known.label), group
            )
        return self._known[id(known)]

    def _classes(self, known: Any) -> Any:
        if isinstance(known, OneAgainstRest):
            return OneAgainstRest([self._classes(part) for part in known.parts])
        model = None if known.model is None else self.of(known.model)
        return ClassProbabilities(model, known.known, known.n_classes)
