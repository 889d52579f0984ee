"""Pipelines on a cluster: rows are transformed as they are read, the last step is trained.

The transformers before the learner must be fitted already, and frozen
(`sklearn.frozen.FrozenEstimator`): nothing but the learner is trained where the rows are.
"""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from equipoise.cells.table import Array
from equipoise.engines.dask.lazy import lazily
from equipoise.game.rounds import Oracle, Response
from equipoise.oracles.decisions import TransformedClassifier
from equipoise.oracles.thresholds import Guard


def is_frozen_pipeline(estimator: Any) -> bool:
    """Whether all steps before the learner are frozen transformers.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0], [1.0]])
    >>> is_frozen_pipeline(Pipeline([("s", FrozenEstimator(scaler)), ("l", LogisticRegression())]))
    True
    >>> is_frozen_pipeline(Pipeline([("s", scaler), ("l", LogisticRegression())]))
    False
    """
    if not isinstance(estimator, Pipeline):
        return False
    return all(isinstance(step, FrozenEstimator) for _, step in estimator.steps[:-1])


def transformed(X: Any, transformer: Any) -> Any:
    """Return a Dask collection after a fitted transformer, not computed yet."""
    width = len(transformer.get_feature_names_out())
    return lazily(lambda number, X: Guard()(transformer.transform, X), X, columns=width)


class TransformedOracle:
    """The answers of an oracle over transformed rows, as classifiers of rows as they were.

    Parameters
    ----------
    oracle : Oracle
    transformer : object with ``transform``
    """

    def __init__(self, oracle: Oracle, transformer: Any) -> None:
        self.oracle, self.transformer = oracle, transformer
        self.exact, self.out_of_fold = oracle.exact, oracle.out_of_fold

    def best_response(self, costs: Array) -> Response:
        """Return the inner oracle's classifier, behind the transformer."""
        classifier, s = self.oracle.best_response(costs)
        return Response(TransformedClassifier(self.transformer, classifier), s)

    def start_from(self, classifier: Any) -> None:
        """Let learners that can start from a solution start from this one."""
        self.oracle.start_from(after_transform(classifier))


def after_transform(classifier: Any) -> Any:
    """Return the part of a classifier that takes transformed rows."""
    return classifier.classifier if isinstance(classifier, TransformedClassifier) else classifier
