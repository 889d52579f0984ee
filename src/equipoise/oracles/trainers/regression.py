"""Regressors fitted again and again to the same rows: only target and weights change."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from equipoise.cells.table import Array
from equipoise.oracles.decisions import Guard
from equipoise.oracles.trainers.base import is_binnable
from equipoise.oracles.trainers.lightgbm_bins import can_split, form_of, is_plain
from equipoise.oracles.trainers.xgboost_bins import (
    bins_in_memory,
    bins_on_disk,
    has_known_settings,
    with_trees,
)
from equipoise.rows.parquet import ParquetRows
from equipoise.rows.tables import batches, take_rows


def weight_name(estimator: Any) -> str | None:
    """Return the name under which a regressor's ``fit`` takes weights; None if it takes none."""
    predicts = hasattr(estimator, "predict") or hasattr(type(estimator), "predict")
    if isinstance(estimator, type) or not (predicts and hasattr(estimator, "fit")):
        raise TypeError(
            f"estimator is {estimator!r}; expected a regressor object with fit and predict."
        )
    try:
        classifies = is_classifier(estimator)
    except AttributeError:  # a learner of the user's own need not know scikit-learn's tags
        classifies = False
    if classifies:
        raise TypeError(
            f"estimator is {type(estimator).__name__}, a classifier; expected a regressor. Use "
            "FairClassifier for labels."
        )
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def fitted_regressor(estimator: Any, X: Any, target: Array, weight: Array | None) -> Any:
    """Return a copy of a regressor, fitted with weights of mean one; an error if it takes none."""
    given = {}
    if weight is not None:
        if (name := weight_name(estimator)) is None:
            raise TypeError(
                f"{type(estimator).__name__}.fit takes no sample_weight, which is needed here: "
                "there are sample weights, or the loss of some groups is to count more. Use a "
                "regressor that takes them."
            )
        given = {name: weight / weight.mean()}

    def train(X: Any, target: Array, *weight: Array) -> Any:
        model = clone(estimator, safe=False)
        with config_context(enable_metadata_routing=False):
            model.fit(X, target, **dict(zip(given, weight, strict=True)))
        return model

    return Guard()(train, X, target, *given.values())


def numbers(model: Any, X: Any, n: int) -> Array:
    """Return what a regressor predicts, checked."""
    parts = [np.asarray(Guard()(model.predict, rows), dtype=float) for rows in batches(X)]
    found = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if found.shape == (n, 1):
        found = found[:, 0]
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(
            f"{type(model).__name__}.predict returned an array of shape {found.shape}; expected a "
            f"finite number for each of {n} rows."
        )
    return found


class PlainRegressionTrainer:
    """Clone the learner and fit it: right for every regressor."""

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator, self.X = estimator, X

    @staticmethod
    def suits(estimator: Any, X: Any) -> bool:
        """Return True: nothing is assumed of the learner."""
        return True

    def fit(self, target: Array, weight: Array | None) -> Any:
        """Return the learner fitted; rows without weight are left out."""
        X = self.X
        if weight is not None and not (weight > 0).all():
            rows = np.flatnonzero(weight > 0)
            X, target, weight = take_rows(X, rows), target[rows], weight[rows]
        return fitted_regressor(self.estimator, X, target, weight)


class LightGBMRegressionTrainer:
    """Bin the features once; then only swap target and weights.

    Bins depend on the features alone, so the trees are those of a plain fit.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator, self.X = estimator, X
        self._made: tuple[Any, Any] | None = None

    @staticmethod
    def suits(estimator: Any, X: Any) -> bool:
        """Whether the learner is an LGBMRegressor of plain settings, on a table of numbers."""
        objectives = (None, "regression", "l2", "mse", "regression_l1", "l1")
        return is_plain(estimator, X, "LGBMRegressor", objectives)

    def fit(self, target: Array, weight: Array | None) -> Any:
        """Return the learner fitted on the bins."""
        import lightgbm

        form, bins = self._made = self._made or self._prepare()
        if not can_split(bins):
            return PlainRegressionTrainer(self.estimator, self.X).fit(target, weight)
        # set_weight takes weights of one for none at all, and would leave the last ones.
        bins.set_field("weight", None)
        bins.set_label(target)
        if weight is not None:
            bins.set_weight(weight / weight.mean())
        booster = lightgbm.train(dict(bins.params), bins, self.estimator.n_estimators)
        model = copy(form)
        model._Booster = booster
        return model

    def _prepare(self) -> tuple[Any, Any]:
        """Return a regressor without its trees, and the bins."""
        import lightgbm

        form, params = form_of(self.estimator, self.X, np.arange(2))
        nothing = np.zeros(self.X.shape[0])
        return form, lightgbm.Dataset(self.X, label=nothing, params=params).construct()


class XGBoostRegressionTrainer:
    """Bin the features once; then only swap target and weights.

    XGBoost places its cuts by weight; here they are placed once, all rows weighing the same.
    """

    _binned = staticmethod(bins_in_memory)

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator, self.X = estimator, X
        self._bins: Any = None

    @staticmethod
    def suits(estimator: Any, X: Any) -> bool:
        """Whether the learner is an XGBRegressor of plain settings, on a table of numbers."""
        return is_binnable(X) and is_plain_xgboost(estimator, categories=True)

    def fit(self, target: Array, weight: Array | None) -> Any:
        """Return the learner fitted on the bins."""
        import xgboost

        e = self.estimator
        if self._bins is None:
            self._bins = self._binned(e, self.X)
        self._bins.set_label(target)
        weight = np.ones(len(target)) if weight is None else weight / weight.mean()
        self._bins.set_weight(weight)
        rounds = e.get_num_boosting_rounds()
        return with_trees(clone(e), xgboost.train(e.get_xgb_params(), self._bins, rounds))


class XGBoostDiskRegressionTrainer(XGBoostRegressionTrainer):
    """Bin the rows into a file once, batch by batch; then only swap target and weights."""

    _binned = staticmethod(bins_on_disk)

    @staticmethod
    def suits(estimator: Any, X: Any) -> bool:
        """Whether the rows are on disk and the learner is an XGBRegressor of plain settings."""
        return isinstance(X, ParquetRows) and is_plain_xgboost(estimator, categories=False)


def is_plain_xgboost(estimator: Any, categories: bool) -> bool:
    """Whether a learner is an XGBRegressor of plain settings."""
    objectives = (None, "reg:squarederror", "reg:absoluteerror")
    return has_known_settings(estimator, categories, "XGBRegressor", objectives)


RegressionTrainer = PlainRegressionTrainer | LightGBMRegressionTrainer | XGBoostRegressionTrainer
_FAST = (LightGBMRegressionTrainer, XGBoostRegressionTrainer, XGBoostDiskRegressionTrainer)


def choose_regression_trainer(estimator: Any, X: Any) -> RegressionTrainer:
    """Return the cheapest trainer that is known to suit this learner and these rows.

    >>> from sklearn.linear_model import LinearRegression
    >>> type(choose_regression_trainer(LinearRegression(), np.zeros((2, 1)))).__name__
    'PlainRegressionTrainer'
    """
    kind = next((kind for kind in _FAST if kind.suits(estimator, X)), PlainRegressionTrainer)
    return kind(estimator, X)
