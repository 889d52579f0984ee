"""Regressors on Dask collections: the losses of groups, by learners that are trained there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import fsum
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from sklearn.base import clone

from equipoise.cells.codes import add_up, look_up
from equipoise.cells.table import Array, CellTable
from equipoise.cells.threshold_table import LossFunction, ThresholdTable
from equipoise.engines.dask.collections import check_number_columns, example_of
from equipoise.engines.dask.shard import Shard, digest_of
from equipoise.engines.dask.shards import Shards
from equipoise.engines.dask.trainers.xgboost_resident import ResidentTrainer, base_score, grown
from equipoise.game.rounds import Oracle, Response
from equipoise.oracles.agreement import check_numbers
from equipoise.oracles.regression import Keep, steps_of
from equipoise.oracles.trainers.regression import is_plain_xgboost, numbers
from equipoise.rows.people import People
from equipoise.rows.tables import describe_columns

#: Quantiles of the target that a partition sends, and constants that are tried.
_SENT, _TRIED = 2001, 201


class LossTask(NamedTuple):
    """What a regressor is to learn: the price of a unit of loss in each cell, times row weights."""

    price: Array
    loss: LossFunction

    def weights(self, shard: Shard) -> Array:
        """Return the weight of each row."""
        return look_up(shard.code, self.price) * shard.row_weights()


class DaskNumbers:
    """Rows with a number each on the workers of a Dask cluster."""

    keeps_answers: ClassVar[bool] = True

    def __init__(
        self, people: People, loss: LossFunction, estimator: Any, at_thresholds: bool
    ) -> None:
        people.check()
        people.check_known("regressors")
        kind = _trainer_kind(estimator)
        if at_thresholds:
            _refuse_thresholds()
        check_number_columns(example_of(people.X))
        self._columns = describe_columns(example_of(people.X))
        self.loss, self._kind = loss, kind
        self.shards = Shards(people, dtype=kind.dtype, numbers=True)

    @property
    def groups(self) -> CellTable:
        """The cells, which are groups and strata."""
        return self.shards.cells

    def target_sums(self) -> Array:
        """Return the exact sums of the target and of its square."""
        parts = self.shards.map(exact_sums)
        return np.array([fsum(chain.from_iterable(each)) for each in zip(*parts, strict=True)])

    def best_constant(self) -> tuple[float, float]:
        """Return the number of least mean loss, and that loss; but for squares, of 201 tried."""
        total = self.groups.total_weight
        if self.loss is np.square:
            candidates = self.shards.total(weighted_target) / total
        else:
            sent = self.shards.map(quantiles_of)
            values, mass = np.concatenate([part for part in sent if len(part)]).T
            order = np.argsort(values, kind="stable")
            places = (np.cumsum(mass[order]) - mass[order] / 2) / mass.sum()
            tried = np.interp(np.linspace(0.0, 1.0, _TRIED), places, values[order])
            candidates = np.unique(np.append(tried, 0.5 * (tried[0] + tried[-1])))
        losses = self.shards.total(losses_of_constants, candidates, self.loss) / total
        best = int(losses.argmin())
        return float(candidates[best]), float(losses[best])

    def refit(self, estimator: Any, wanted: Any, scale: float, keep: Keep) -> ShardLossOracle:
        """Return the oracle that trains the learner where the rows are."""
        return ShardLossOracle(self._kind(estimator, self.shards), self.shards, self.loss, scale)

    def plugin(self, *args: Any) -> NoReturn:
        """Raise: the plug-in oracle is about thresholds."""
        _refuse_thresholds()

    def columns(self) -> list[str]:
        """Return the kind of table, and the names and types of its columns."""
        return self._columns

    def identity(self) -> Iterator[bytes]:
        """Yield digests that distinguish these data from others, in order."""
        yield from self.shards.map(digest_of)


class ShardLossOracle(Oracle):
    """Best responses by training the learner where the rows are, with prices as weights."""

    exact, out_of_fold = False, False

    def __init__(self, trainer: Any, shards: Shards, loss: LossFunction, scale: float) -> None:
        self.trainer, self.shards, self.loss = trainer, shards, loss
        self.cells = shards.cells.as_kind(ThresholdTable, thresholds=np.array([]), scale=scale)

    def best_response(self, costs: Array) -> Response:
        """Train for these costs."""
        price, _ = steps_of(costs, self.cells)
        mean = float(price @ self.cells.mass) * self.cells.total_weight / self.cells.n_examples
        model, lost = self.trainer.fit(LossTask(price / mean, self.loss))
        return Response(model, self._share(lost))

    def shares(self, model: Any) -> Array:
        """Return s(f) of an answer, or of a constant."""
        return self._share(self.shards.total(lost_by, model, self.loss))

    def _share(self, lost: Array) -> Array:
        return lost / (self.cells.total_weight * self.cells.scale)

    def is_constant(self, models: Iterable[Any]) -> bool:
        """Whether these models predict one number for all people learned from."""
        ends = np.array([part for model in models for part in self.shards.map(ends_of, model)])
        return bool(ends[:, 0].min() == ends[:, 1].max())

    def verify(self, members: Sequence[Any], s: Array) -> None:
        """Raise unless members lose, asked once more, what was recorded of them."""
        for model, recorded in zip(members, s, strict=True):
            check_numbers(recorded, self.shares(model), model)

    def predicted(self, model: Any) -> NoReturn:
        """Raise: predictions of all rows are looked at together for thresholds alone."""
        _refuse_thresholds()

    def rows_at_thresholds(self) -> NoReturn:
        """Raise, for the same reason."""
        _refuse_thresholds()


class LeastSquaresTrainer:
    """Fits a `sklearn.linear_model.LinearRegression` by sums of products over shards."""

    dtype = np.float64

    def __init__(self, estimator: Any, shards: Shards) -> None:
        self.estimator, self.shards = estimator, shards
        rows = shards.total(row_sums)
        self._centre = rows[:-1] / rows[-1]  # sums of products lose less near zero

    @staticmethod
    def suits(estimator: Any) -> bool:
        """Whether it is a least-squares regression without a sign for coefficients."""
        return type(estimator).__name__ == "LinearRegression" and not estimator.positive

    def fit(self, task: LossTask) -> tuple[Any, Array]:
        """Return the fitted regressor, and its loss in each cell."""
        sums, d = self.shards.total(products, task, self._centre), len(self._centre) - 1
        mean = np.zeros(d + 1)
        shifted = self._centre
        if self.estimator.fit_intercept:
            mean = sums[-1, :-1] / sums[-1, -1]
        else:
            shifted = np.zeros(d + 1)
            sums = self.shards.total(products, task, shifted)
        around = sums[:-1, :-1] - sums[-1, -1] * np.outer(mean, mean)
        model = clone(self.estimator)
        model.coef_ = np.linalg.lstsq(around[:d, :d], around[:d, d], rcond=1e-13)[0]
        at = mean + shifted
        model.intercept_ = float(at[d] - at[:d] @ model.coef_)
        model.n_features_in_ = d
        if hasattr(self.shards.example, "columns"):
            model.feature_names_in_ = np.asarray(self.shards.example.columns, dtype=object)
        return model, self.shards.total(lost_by, model, task.loss)


class XGBoostTrainer(ResidentTrainer):
    """Bins stay with the workers; a fit sends a price for each cell."""

    @staticmethod
    def suits(estimator: Any, *_: Any) -> bool:
        """Whether it is an XGBRegressor of plain settings, for squared errors."""
        is_squared = getattr(estimator, "objective", "") in (None, "reg:squarederror")
        return is_plain_xgboost(estimator, categories=False) and is_squared

    @staticmethod
    def learn(
        shards: list[Shard], task: Any, data: Any, params: dict[str, Any], rounds: int, shared: bool
    ) -> tuple[Any, Array]:
        """Train on shards, with other workers where ``shared``; return trees and losses."""
        rows = [(shard.target, task.weights(shard)) for shard in shards]
        data.set_label(np.concatenate([target for target, _ in rows]))
        data.set_weight(np.concatenate([weight for _, weight in rows]))
        booster = grown({"base_score": base_score(rows, shared)} | params, rounds, data)
        ends = np.cumsum([len(shard) for shard in shards])[:-1]
        parts = np.split(booster.predict(data).astype(float), ends)
        each = zip(shards, parts, strict=True)
        return booster, np.sum([_losses(shard, f, task.loss) for shard, f in each], axis=0)


_TRAINERS: tuple[Any, ...] = (LeastSquaresTrainer, XGBoostTrainer)


def _trainer_kind(estimator: Any) -> Any:
    """Return the class that trains this regressor on shards; raise where there is none."""
    for kind in _TRAINERS:
        if kind.suits(estimator):
            return kind
    raise TypeError(
        f"{type(estimator).__name__} cannot be trained on a Dask collection. Use an XGBRegressor "
        "(squared error, default booster and tree method; no callbacks or categories) or a "
        "LinearRegression; or load the data, or a sample of them, into memory."
    )


def _refuse_thresholds() -> NoReturn:
    raise TypeError(
        "DemographicParity of a regressor compares all predictions at thresholds, which is not "
        "built for Dask collections. Load the data, or a sample of them, into memory, for example "
        "dask.compute(X, y, groups); or bound the losses of groups, BoundedGroupLoss or "
        "MinimaxGroupLoss."
    )


# What follows runs on the workers.


def lost_by(shard: Shard, model: Any, loss: LossFunction) -> Array:
    """Return the loss of a regressor in each cell of a shard, times weight."""
    if not len(shard):
        return np.zeros(shard.n_cells)
    return _losses(shard, numbers(model, shard.X, len(shard)), loss)


def _losses(shard: Shard, predicted: Array, loss: LossFunction) -> Array:
    lost = shard.row_weights() * loss(predicted - shard.target)
    return add_up(shard.code, shard.n_cells, lost)


def ends_of(shard: Shard, model: Any) -> tuple[float, float]:
    """Return the least and the largest prediction for a shard."""
    if not len(shard):
        return np.inf, -np.inf
    predicted = numbers(model, shard.X, len(shard))
    return float(predicted.min()), float(predicted.max())


def exact_sums(shard: Shard) -> list[list[float]]:
    """Return numbers that add up to the exact sum of the target, and of its square."""
    found = []
    for values in (shard.target, np.square(shard.target)):
        parts: list[float] = []
        while rest := fsum([*values.tolist(), *(-part for part in parts)]):
            parts.append(rest)
        found.append(parts)
    return found


def weighted_target(shard: Shard) -> Array:
    """Return the sum of the target by weight."""
    return np.array([shard.row_weights() @ shard.target])


def quantiles_of(shard: Shard) -> Array:
    """Return values that stand for the target of a shard, and what they weigh, (q, 2)."""
    weight = shard.row_weights()
    if not weight.sum() > 0:
        return np.zeros((0, 2))
    order = np.argsort(shard.target, kind="stable")
    if len(order) <= _SENT:
        return np.column_stack([shard.target[order], weight[order]])
    places = np.cumsum(weight[order]) / weight.sum()
    at = np.searchsorted(places, np.linspace(0.0, 1.0, _SENT))
    some = shard.target[order][np.minimum(at, len(order) - 1)]
    return np.column_stack([some, np.full(_SENT, weight.sum() / _SENT)])


def losses_of_constants(shard: Shard, constants: Array, loss: LossFunction) -> Array:
    """Return the loss of each of some constants."""
    weight = shard.row_weights()
    return np.array([float(weight @ loss(u - shard.target)) for u in constants])


def row_sums(shard: Shard) -> Array:
    """Return the sums of features and target, and the number of rows."""
    return np.concatenate([shard.X.sum(axis=0), [shard.target.sum(), len(shard)]])


def products(shard: Shard, task: LossTask, centre: Array) -> Array:
    """Return the weighted products of features, target and one with each other."""
    own = np.column_stack([shard.X - centre[:-1], shard.target - centre[-1], np.ones(len(shard))])
    return own.T @ (own * task.weights(shard)[:, None])
