"""Oracles over shards: costs of cells go out, a classifier and sums over cells come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.labels import savings
from equipoise.cells.table import Array, Mask
from equipoise.engines.dask.cuts import best_threshold
from equipoise.engines.dask.shard import Shard, Task, cost_sums, selected_by, selected_out_of_fold
from equipoise.engines.dask.shards import Shards
from equipoise.engines.dask.trainers import ShardTrainer, trainer_kind
from equipoise.game.rounds import Oracle, Response
from equipoise.oracles.agreement import check_probabilities, check_shares
from equipoise.oracles.cell_probabilities import (
    CellGroups,
    CellProbabilities,
    ClassProbabilities,
    OneAgainstRest,
)
from equipoise.oracles.decisions import (
    PluginClassifier,
    ThresholdedClassifier,
    TransformedClassifier,
    learner_of,
)
from equipoise.oracles.thresholds import is_tuned
from equipoise.oracles.trainers import constant_classifier


class ShardOracle(Oracle):
    """Best_h over shards: fit the learner where the rows are.

    The parameters are those of `equipoise.oracles.refit.RefitOracle`; two or more folds measure
    shares out of fold, as `equipoise.oracles.cross_fit.CrossFittedOracle` does.
    """

    exact = False

    def __init__(
        self, estimator: Any, shards: Shards, threshold: str = "learner", n_folds: int = 1
    ) -> None:
        self.shards, self.n_folds = shards, n_folds
        self.threshold = threshold
        self.out_of_fold = n_folds > 1
        self._trainer: ShardTrainer = trainer_kind(estimator)(estimator, shards)
        if shards.cells.n_decisions > 2 and not self._trainer.takes_soft_labels:
            raise TypeError(
                f"{type(estimator).__name__} is not trained for {shards.cells.n_decisions} labels "
                "on a Dask collection. Use an XGBClassifier or a LogisticRegression, or "
                "oracle='plugin', or load the data into memory."
            )

    def best_response(self, costs: Array) -> Response:
        """Fit the learner for these costs."""
        cells = self.shards.cells
        task = self._task(costs)
        classifier, selected = self._answer(task)
        if self.n_folds > 1:
            tasks = (task._replace(left_out=fold) for fold in range(self.n_folds))
            members = [self._answer(without)[0] for without in tasks]
            selected, again = (self.shards.total(selected_out_of_fold, members) for _ in range(2))
            total = cells.total_weight
            check_shares([selected / total], [again / total], members[:1])
        elif selected is None:
            selected = self.shards.total(selected_by, [classifier])[0]
        return Response(classifier, selected / cells.total_weight)

    def _task(self, costs: Array) -> Task:
        """Return the task of a learner; all weights together are those of the rows."""
        cells, labels = self.shards.cells, np.arange(self.shards.cells.n_decisions)
        if cells.is_plain and len(labels) > 2:
            return Task(labels, savings(cells.by_decision(costs), cells.mass), self.n_folds)
        if cells.is_plain:
            return Task(*cells.relabel(costs), self.n_folds)
        sums = self.shards.total(cost_sums, costs)
        mean = float(sums.sum()) / cells.total_weight or 1.0
        labels = np.array([1, 0]) if len(labels) == 2 else labels
        return Task(labels, sums, self.n_folds, -1, costs / mean)

    def start_from(self, classifier: Any) -> None:
        """Let learners that can start from a solution start from this one."""
        self._trainer.start_from(learner_of(classifier))

    def _answer(self, task: Task) -> tuple[Any, Array | None]:
        labels, V = task.labels(self.shards.cells), self.shards.cells.n_decisions
        if len(labels) < 2:
            return constant_classifier(max(labels, default=0), V), None
        if V > 2:
            return self._trainer.fit_soft(task, np.array(sorted(labels)))
        classifier, selected = self._trainer.fit(task)
        if not is_tuned(self.threshold, classifier):
            return classifier, selected
        threshold = best_threshold(self.shards, classifier, task)
        return ThresholdedClassifier(classifier, threshold), None


class ShardPluginOracle(Oracle):
    """The plug-in oracle over shards; see `equipoise.oracles.plugin.PluginOracle`.

    Groups beyond two are told apart one against the rest, and so are labels by learners that take
    one label a row. Folds are dealt by row number.
    """

    exact, out_of_fold = False, True

    def __init__(self, estimator: Any, shards: Shards, n_folds: int = 5) -> None:
        self.shards, self._table = shards, CellGroups(shards.cells)
        trainer = trainer_kind(estimator)(estimator, shards)
        self._folds = [self._learn(trainer, n_folds, fold) for fold in range(n_folds)]
        self.deployed = self._learn(trainer, n_folds, -1)
        self._probabilities: list[Any] | None = None

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
            weight = among.astype(float)
            task = Task(positive.astype(np.int64), weight, n_folds, left_out)
            known = np.unique(task.label[(weight > 0) & (cells.mass > 0)])
            model = trainer.fit(task)[0] if len(known) == 2 else None
            return ClassProbabilities(model, known, 2)

        def classes(code: NDArray, size: int, among: Mask) -> ClassProbabilities | OneAgainstRest:
            if size == 2:
                return probability(code == 1, among)
            return OneAgainstRest([probability(code == one, among) for one in range(size)])

        everybody, V = np.ones(cells.n_cells, dtype=bool), cells.n_decisions
        label: ClassProbabilities | OneAgainstRest
        if V > 2 and trainer.takes_soft_labels:
            each = np.where(cells.label[:, None] == np.arange(V), 1.0, 0.0)
            task = Task(np.arange(V), each, n_folds, left_out)
            label = ClassProbabilities(trainer.fit_soft(task, np.arange(V))[0], np.arange(V), V)
        else:
            label = classes(cells.label, V, everybody)
        given = [classes(table.group, table.n_groups, cells.label == y) for y in range(V)]
        return CellProbabilities(table, label, given)


def _probabilities(shard: Shard, models: Sequence[CellProbabilities]) -> Array:
    """Return P(cell | x) for the rows of a shard, each from the models without its fold."""
    result = np.zeros((len(shard), shard.n_cells))
    fold = shard.folds(len(models))
    for number, model in enumerate(models):
        if (rows := fold == number).any():
            result[rows] = model(shard.X[rows])
            check_probabilities(result[rows], model(shard.X[rows]), model.label)
    return result


def _selected(shard: Shard, classifier: PluginClassifier, probabilities: Array) -> Array:
    return shard.sum(classifier.select(probabilities))


class TransformedOracle(Oracle):
    """The answers of an oracle over transformed rows, as classifiers of rows as they were."""

    def __init__(self, oracle: Oracle, transformer: Any) -> None:
        self.oracle, self.transformer = oracle, transformer
        self.exact, self.out_of_fold = oracle.exact, oracle.out_of_fold

    def best_response(self, costs: Array) -> Response:
        """Return the inner oracle's classifier, behind the transformer."""
        classifier, s = self.oracle.best_response(costs)
        return Response(TransformedClassifier(self.transformer, classifier), s)

    def start_from(self, classifier: Any) -> None:
        """Let learners that can start from a solution start from this one."""
        before = isinstance(classifier, TransformedClassifier)
        self.oracle.start_from(classifier.classifier if before else classifier)
