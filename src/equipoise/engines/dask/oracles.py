"""Oracles over shards: costs of cells go out, a classifier and sums over cells come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.rows import Array, Mask
from equipoise.cells.table import CellCounts
from equipoise.engines.dask.cuts import best_threshold
from equipoise.engines.dask.dask_estimators import DaskEstimatorTrainer
from equipoise.engines.dask.lessons import Lesson
from equipoise.engines.dask.logistic import LogisticTrainer
from equipoise.engines.dask.shard import Shard, selected_by, selected_out_of_fold
from equipoise.engines.dask.shards import Shards
from equipoise.engines.dask.xgboost_resident import ResidentTrainer
from equipoise.game.pool import Response
from equipoise.oracles.cell_probabilities import (
    CellProbabilities,
    CellTable,
    ClassProbabilities,
    OneAgainstRest,
)
from equipoise.oracles.plugin import PluginClassifier
from equipoise.oracles.refit import ExactOracle, Relabelled, constant_classifier
from equipoise.oracles.thresholds import ThresholdedClassifier, has_scores, is_linear

_TRAINERS = (LogisticTrainer, ResidentTrainer, DaskEstimatorTrainer)


class ShardTrainer(Protocol):
    """Fits a learner to rows that workers hold."""

    def fit(self, lesson: Lesson) -> tuple[Any, Array | None]:
        """Return a classifier, and the weight that it selects in each cell if that is known."""
        ...

    def start_from(self, classifier: Any) -> None:
        """Take note of a classifier trained before, from which later fits may start."""
        ...


def trainer_kind(estimator: Any) -> Any:
    """Return the class that trains this learner on shards; an error where there is none."""
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


class ShardOracle:
    """Best_h over shards: fit the learner where the rows are.

    Parameters
    ----------
    estimator : classifier
        See `trainer_kind`.
    shards : Shards
    threshold : "auto", "tuned" or "learner"
        As for `equipoise.oracles.refit.RefitOracle`.
    n_folds : int, default=1
        Two or more measure shares out of fold, as
        `equipoise.oracles.cross_fit.CrossFittedOracle` does.
    """

    exact = False

    def __init__(
        self, estimator: Any, shards: Shards, threshold: str = "learner", n_folds: int = 1
    ) -> None:
        if threshold not in ("auto", "tuned", "learner"):
            raise ValueError(f"threshold is {threshold!r}; expected 'auto', 'tuned' or 'learner'.")
        self.shards, self.threshold, self.n_folds = shards, threshold, n_folds
        self.out_of_fold = n_folds > 1
        self._trainer: ShardTrainer = trainer_kind(estimator)(estimator, shards)

    def counts(self) -> CellCounts:
        """Return the cells, counted."""
        return self.shards.cells

    def best_response(self, costs: Array) -> Response:
        """Fit the learner for these costs."""
        cells = self.shards.cells
        classifier, selected = self._answer(Lesson.of_costs(costs, cells))
        if self.n_folds > 1:
            lessons = (
                Lesson.of_costs(costs, cells, self.n_folds, fold) for fold in range(self.n_folds)
            )
            members = [self._answer(lesson)[0] for lesson in lessons]
            selected = self.shards.total(selected_out_of_fold, members)
        elif selected is None:
            selected = self.shards.total(selected_by, [classifier])[0]
        return Response(classifier, selected / cells.total_weight)

    def start_from(self, classifier: Any) -> None:
        """Let learners that can start from a solution start from this one."""
        if isinstance(classifier, ThresholdedClassifier):
            classifier = classifier.classifier
        self._trainer.start_from(classifier)

    def _answer(self, lesson: Lesson) -> tuple[Any, Array | None]:
        labels = lesson.labels(self.shards.cells)
        if len(labels) < 2:
            return constant_classifier(max(labels, default=0)), None
        classifier, selected = self._trainer.fit(lesson)
        if not self._tunes(classifier):
            return classifier, selected
        threshold = best_threshold(self.shards, classifier, lesson)
        return ThresholdedClassifier(classifier, threshold), None

    def _tunes(self, classifier: Any) -> bool:
        if self.threshold == "learner" or not has_scores(classifier):
            return False
        return self.threshold == "tuned" or is_linear(classifier)


class ShardPluginOracle:
    """The plug-in oracle over shards; see `equipoise.oracles.plugin.PluginOracle`.

    Groups beyond two are told apart one against the rest. Folds are dealt by row number.

    Parameters
    ----------
    estimator : classifier
        As for `ShardOracle`, with ``predict_proba``.
    shards : Shards
    n_folds : int, default=5
    """

    exact, out_of_fold = False, True

    def __init__(self, estimator: Any, shards: Shards, n_folds: int = 5) -> None:
        self.shards, self._table = shards, CellTable(shards.cells)
        trainer = trainer_kind(estimator)(estimator, shards)
        folds = [self._learn(trainer, n_folds, fold) for fold in range(n_folds)]
        self.deployed = self._learn(trainer, n_folds, -1)
        self._folds = folds
        self._probabilities: list[Any] | None = None

    def counts(self) -> CellCounts:
        """Return the cells, counted."""
        return self.shards.cells

    def best_response(self, costs: Array) -> Response:
        """Select those who cost less than nothing."""
        classifier = PluginClassifier(self.deployed, costs)
        futures = self._out_of_fold()
        counted = self.shards.map(_selected, classifier, each=[futures])
        return Response(classifier, sum(counted) / self.shards.cells.total_weight)

    def _out_of_fold(self) -> list[Any]:
        """Return the probabilities of all rows, kept where the rows are."""
        if self._probabilities is None:
            submit = self.shards.client.submit
            self._probabilities = [
                submit(_probabilities, shard, self._folds, pure=False)
                for shard in self.shards.futures
            ]
        return self._probabilities

    def _learn(self, trainer: ShardTrainer, n_folds: int, left_out: int) -> CellProbabilities:
        cells, table = self.shards.cells, self._table

        def probability(positive: Mask, among: Mask) -> ClassProbabilities:
            mean = cells.mass[among].sum() * cells.total_weight / cells.count[among].sum()
            weight = np.where(among, 1.0 / mean, 0.0)
            lesson = Lesson(positive.astype(np.int64), weight, n_folds, left_out)
            known = np.array(sorted(lesson.labels(cells)), dtype=np.int64)
            model = trainer.fit(lesson)[0] if len(known) == 2 else None
            return ClassProbabilities(model, known, 2)

        def groups(among: Mask) -> ClassProbabilities | OneAgainstRest:
            if table.n_groups == 2:
                return probability(table.group == 1, among)
            each = range(table.n_groups)
            return OneAgainstRest([probability(table.group == g, among) for g in each])

        everybody = np.ones(cells.n_cells, dtype=bool)
        return CellProbabilities(
            table,
            probability(cells.label == 1, everybody),
            [groups(cells.label == y) for y in (0, 1)],
        )


def candidates_on(candidates: Sequence[Any], shards: Shards, classes: NDArray) -> ExactOracle:
    """Return the exact oracle over a list of fitted classifiers."""
    if not candidates:
        raise ValueError("estimator is an empty list; expected one or more fitted classifiers.")
    members = [Relabelled(candidate, classes) for candidate in candidates]
    return ExactOracle(members, shards.shares(members))


def _probabilities(shard: Shard, models: Sequence[CellProbabilities]) -> Array:
    """Return P(cell | x) for the rows of a shard, each from the models without its fold."""
    result = np.zeros((len(shard), shard.n_cells))
    fold = shard.folds(len(models))
    for number, model in enumerate(models):
        if (rows := fold == number).any():
            result[rows] = model(shard.X[rows])
    return result


def _selected(shard: Shard, classifier: PluginClassifier, probabilities: Array) -> Array:
    return shard.count(classifier.select(probabilities))
