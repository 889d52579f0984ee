"""Trainers: how the learner is fitted again and again to the same rows, as cheaply as it can be.

Every call of the learner sees the same X; only labels and weights change. A trainer keeps what
does not depend on these: the output of a pipeline's transformers, the binned features of a
boosting library, the distinct rows and the last solution of a convex problem. It is chosen from the
learner, and where nothing is known to be safe the learner is simply cloned and fitted.

A learner's fast path is one file with a `Trainer`, and one line in a list below.
"""

from __future__ import annotations

from typing import Any

from equipoise.oracles.trainers.base import (
    PlainTrainer,
    Trained,
    Trainer,
    constant_classifier,
    is_constant,
    weight_parameter,
)
from equipoise.oracles.trainers.lightgbm_bins import LightGBMTrainer
from equipoise.oracles.trainers.logistic import LogisticTrainer
from equipoise.oracles.trainers.pipeline_head import PipelineTrainer
from equipoise.oracles.trainers.xgboost_bins import XGBoostDiskTrainer, XGBoostTrainer
from equipoise.rows.parquet import ParquetRows

__all__ = [
    "PlainTrainer",
    "Trained",
    "Trainer",
    "choose_trainer",
    "constant_classifier",
    "is_constant",
    "weight_parameter",
]

#: The first that suits the learner trains it; the last one suits all.
_IN_MEMORY: tuple[type[Trainer], ...] = (
    PipelineTrainer,
    LogisticTrainer,
    LightGBMTrainer,
    XGBoostTrainer,
    PlainTrainer,
)
#: The same for rows that stay on disk, where few learners can be trained.
_ON_DISK: tuple[type[Trainer], ...] = (XGBoostDiskTrainer,)


def choose_trainer(estimator: Any, X: Any) -> Trainer:
    """Return the cheapest trainer that is known to suit this learner and these rows.

    Parameters
    ----------
    estimator : classifier
    X : table of n rows

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = [[0.0], [1.0]]
    >>> type(choose_trainer(GaussianNB(), X)).__name__
    'PlainTrainer'
    >>> type(choose_trainer(LogisticRegression(warm_start=True), X)).__name__
    'LogisticTrainer'
    """
    for kind in _ON_DISK if isinstance(X, ParquetRows) else _IN_MEMORY:
        if kind.learner in ("", type(estimator).__name__) and kind.suits(estimator, X):
            return kind(estimator, X)
    raise TypeError(
        f"estimator is {type(estimator).__name__} but X is rows on disk (ParquetRows). "
        "Only an XGBClassifier is trained from these, one with the default objective, "
        "booster and tree method and without callbacks, early stopping or categories. "
        "Use one, or load the table into memory."
    )
