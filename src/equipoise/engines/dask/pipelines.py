"""Pipelines on a cluster: rows are transformed as they are read, the last step is trained.

The transformers before the learner must be fitted already, and frozen
(`sklearn.frozen.FrozenEstimator`): nothing but the learner is trained where the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from equipoise.cells.rows import Array
from equipoise.engines.dask.lazy import lazily
from equipoise.engines.dask.shards import Shards
from equipoise.game.pool import Oracle, Response
from equipoise.metrics.violations import Tally
from equipoise.oracles.transformed import TransformedClassifier


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


class TransformedShards(Shards):
    """Shards that hold transformed rows, for classifiers that take rows as they were.

    Parameters
    ----------
    pipeline : Pipeline
        See `is_frozen_pipeline`.
    X, others
        As for `Shards`.
    dtype : dtype, optional
    """

    def __init__(self, pipeline: Pipeline, X: Any, *others: Any, dtype: Any = None) -> None:
        self.transformer = transformer = pipeline[:-1]
        width = len(transformer.get_feature_names_out())
        rows = lazily(lambda number, X: transformer.transform(X), X, columns=width)
        super().__init__(rows, *others, dtype=dtype)

    def shares(self, classifiers: Sequence[Any]) -> Array:
        """Return the selected share of each cell for every classifier, shape (P, C)."""
        return super().shares([_after_transform(h) for h in classifiers])

    def tally(self, mixture: Any) -> Tally:
        """Add up by cell how often a randomized classifier selects people."""
        members = [_after_transform(member) for member in mixture.members]
        return super().tally(type(mixture)(members, mixture.weights, mixture.classes_))


class TransformedOracle:
    """The answers of an oracle over transformed rows, as classifiers of rows as they were.

    Parameters
    ----------
    oracle : Oracle
    transformer : object with ``transform``
    """

    def __init__(self, oracle: Oracle, transformer: Any) -> None:
        self.oracle, self.transformer = oracle, transformer
        self.exact, self.out_of_fold = oracle.exact, getattr(oracle, "out_of_fold", False)

    def best_response(self, costs: Array) -> Response:
        """Return the inner oracle's classifier, behind the transformer."""
        classifier, s = self.oracle.best_response(costs)
        return Response(TransformedClassifier(self.transformer, classifier), s)

    def start_from(self, classifier: Any) -> None:
        """Let learners that can start from a solution start from this one."""
        if hasattr(self.oracle, "start_from"):
            self.oracle.start_from(_after_transform(classifier))


def _after_transform(classifier: Any) -> Any:
    """Return the part of a classifier that takes transformed rows."""
    return classifier.classifier if isinstance(classifier, TransformedClassifier) else classifier
