"""Dask estimators of LightGBM and XGBoost: the plain path, which hands rows over anew each fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from sklearn.base import clone

from equipoise.engines.dask.retry import retry
from equipoise.engines.dask.shard import Shard, Task
from equipoise.engines.dask.shards import Shards
from equipoise.oracles.trainers.xgboost_bins import with_trees

_DASK = ("DaskXGBClassifier", "DaskLGBMClassifier")


class DaskEstimatorTrainer:
    """Trains ``xgboost.dask.DaskXGBClassifier`` or ``lightgbm.DaskLGBMClassifier``.

    An ``LGBMClassifier`` is trained as the latter. What is returned is a classifier of the
    library's own kind without Dask, that predicts anywhere.
    """

    dtype = np.float32
    takes_soft_labels = False  # one label a row

    def __init__(self, estimator: Any, shards: Shards) -> None:
        self.estimator, self.shards = estimator, shards
        if type(estimator).__name__ == "LGBMClassifier":
            from lightgbm import DaskLGBMClassifier

            self.estimator = DaskLGBMClassifier(**estimator.get_params())

    @staticmethod
    def suits(estimator: Any) -> bool:
        """Whether the learner is one of these."""
        return type(estimator).__name__ in (*_DASK, "LGBMClassifier")

    def start_from(self, classifier: Any) -> None:
        """Do nothing: trees start from nothing."""

    def fit(self, task: Task) -> tuple[Any, None]:
        """Return the fitted classifier."""
        client = self.shards.client
        name = type(self.estimator).__name__
        return retry(client, f"training {name}", lambda limit: self._train(task, limit)), None

    def fit_soft(self, task: Task, labels: Any) -> NoReturn:
        """Raise: see `takes_soft_labels`."""
        raise NotImplementedError

    def _train(self, task: Task, limit: float) -> Any:
        import dask.array as da
        from dask import delayed

        self.shards.wait()
        rows = [(f, n) for f, n in zip(self.shards.futures, self.shards.sizes, strict=True) if n]

        def gathered(take: Callable[[Shard], Any], dtype: Any, *shape: int) -> Any:
            called = delayed(_taken)
            blocks = [da.from_delayed(called(take, f), (n, *shape), dtype=dtype) for f, n in rows]
            return da.concatenate(blocks, axis=0)

        learner = clone(self.estimator)
        learner.client = self.shards.client
        X = gathered(lambda shard: shard.X, self.dtype, self.shards.example.shape[1])
        y = gathered(lambda shard: shard.examples(task)[0], np.int64)
        weight = gathered(lambda shard: shard.examples(task)[1], np.float64)
        return _local(learner.fit(X, y, sample_weight=weight))


def _taken(take: Callable[[Shard], Any], shard: Shard) -> Any:
    """Return a part of a shard, on a worker that can write to disk whatever a fit lets it hold."""
    from equipoise.engines.dask import spilling  # noqa: F401  (tells Dask how)

    return take(shard)


def _local(learner: Any) -> Any:
    """Return the same trees in a classifier that needs no cluster."""
    if hasattr(learner, "to_local"):
        return learner.to_local()
    from xgboost import XGBClassifier

    params = {k: v for k, v in learner.get_params().items() if k != "client"}
    return with_trees(XGBClassifier(**params), learner.get_booster())
