"""Trainers on shards: how a learner is fitted again and again to rows that workers hold."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.engines.dask.shard import Task
from equipoise.engines.dask.shards import Shards
from equipoise.engines.dask.trainers.dask_estimators import DaskEstimatorTrainer
from equipoise.engines.dask.trainers.logistic import LogisticTrainer
from equipoise.engines.dask.trainers.xgboost_resident import ResidentTrainer

_TRAINERS = (LogisticTrainer, ResidentTrainer, DaskEstimatorTrainer)


class ShardTrainer(Protocol):
    """Fits a learner to rows that workers hold."""

    #: The type of numbers that features are kept as.
    dtype: Any
    #: Whether it can be trained for more than two labels.
    takes_soft_labels: bool

    def __init__(self, estimator: Any, shards: Shards) -> None: ...

    def fit(self, task: Task) -> tuple[Any, Array | None]:
        """Return a classifier, and the weight that it selects in each cell if that is known."""
        ...

    def fit_soft(self, task: Task, labels: NDArray) -> tuple[Any, Array | None]:
        """Return the same for more than two labels, given those that save something."""
        ...

    def start_from(self, classifier: Any) -> None:
        """Take note of a classifier trained before, from which later fits may start."""
        ...


def trainer_kind(estimator: Any) -> type[ShardTrainer]:
    """Return the class that trains this learner on shards; raise where there is none."""
    for kind in _TRAINERS:
        if kind.suits(estimator):
            return kind
    raise TypeError(
        f"{type(estimator).__name__} cannot be trained on a Dask collection. Use an XGBClassifier "
        "(default objective, booster and tree method; no callbacks or categories), an "
        "LGBMClassifier, a LogisticRegression (default penalty, no class weights), "
        "xgboost.dask.DaskXGBClassifier or lightgbm.DaskLGBMClassifier; transform the features "
        "with Dask before, or put fitted transformers before the learner, frozen: "
        "make_pipeline(FrozenEstimator(transformer), learner). Or load the data into memory."
    )
