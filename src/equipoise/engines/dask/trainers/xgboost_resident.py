"""XGBoost on rows that workers hold: bins stay with the workers, labels and weights change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from equipoise.cells.table import Array
from equipoise.engines.dask.retry import gather, retry
from equipoise.engines.dask.shard import Shard, Task
from equipoise.engines.dask.shards import Shards
from equipoise.engines.dask.trainers.tracker import start_tracker, stop_tracker
from equipoise.oracles.trainers.xgboost_bins import (
    batch_iterator,
    has_known_settings,
    soft_booster,
    with_trees,
)

#: A partition tells this many quantiles of a feature for every bin that is asked for.
_FINER = 8
#: How many data sets a worker keeps bins of; those used least recently go first.
_KEPT = 2


class ResidentTrainer:
    """Each worker bins its rows once, with cuts that all share; a fit sends two small tables.

    The cuts come from quantiles of all partitions, so trees do not depend on how many workers there
    are or which of them hold which rows. Training is XGBoost's own, histograms being added up by
    ``xgboost.collective``.
    """

    dtype = np.float32
    takes_soft_labels = True

    def __init__(self, estimator: Any, shards: Shards) -> None:
        self.estimator, self.shards = estimator, shards
        max_bin = estimator.max_bin or 256
        names = getattr(shards.example, "columns", None)
        self._bins = Bins(
            uuid4().hex,
            shared_cuts(shards.map(summarise, max_bin, estimator.missing), max_bin),
            max_bin,
            estimator.missing,
            None if names is None else [str(name) for name in names],
        )

    suits = staticmethod(has_known_settings)

    @staticmethod
    def learn(
        shards: list[Shard],
        task: Task,
        data: Any,
        params: dict[str, Any],
        rounds: int,
        shared: bool,
    ) -> tuple[Any, Array]:
        """Train, with other workers where ``shared``; return trees and selected weight."""
        if not task.is_soft:
            rows = [shard.examples(task) for shard in shards]
            data.set_label(np.concatenate([label for label, _ in rows]))
            data.set_weight(np.concatenate([weight for _, weight in rows]))
            booster = grown({"base_score": base_score(rows, shared)} | params, rounds, data)
            selected = booster.predict(data) > 0.5
        else:
            from xgboost import collective

            saved = np.concatenate([shard.saved(task) for shard in shards])
            total = saved.sum(axis=0)
            if shared:
                total = collective.allreduce(total, collective.Op.SUM)
            booster = soft_booster(params, rounds, data, saved, total)
            selected = booster.predict(data).argmax(axis=1)
        ends = np.cumsum([len(shard) for shard in shards])
        parts = zip(shards, np.split(selected, ends[:-1]), strict=True)
        return booster, np.sum([shard.sum(part) for shard, part in parts], axis=0)

    def start_from(self, classifier: Any) -> None:
        """Do nothing: trees start from nothing."""

    def fit(self, task: Task) -> tuple[Any, Array]:
        """Return the fitted classifier, and the weight that it selects in each cell."""
        client = self.shards.client
        return retry(client, "training XGBoost", lambda limit: self._train(task, limit))

    def fit_soft(self, task: Task, labels: NDArray) -> tuple[Any, Array]:
        """Return the same for more than two labels, those that save nothing included."""
        return self.fit(task)

    def _train(self, task: Task, limit: float) -> tuple[Any, Array]:
        import xgboost

        places, client = self.shards.placed(), self.shards.client
        e = self.estimator
        meeting = meet(client, len(places)) if len(places) > 1 else {}
        params = {name: value for name, value in e.get_xgb_params().items() if value is not None}
        tasks = [
            client.submit(
                train_here,
                [self.shards.futures[n] for n in numbers],
                tuple(numbers),
                self._bins,
                task,
                self.learn,
                params | {"nthread": e.n_jobs},
                e.get_num_boosting_rounds(),
                meeting and meeting | {"dmlc_task_id": f"{rank:05d}"},
                workers=[address],
                allow_other_workers=False,
                pure=False,
            )
            for rank, (address, numbers) in enumerate(places.items())
        ]
        answers = gather(
            client, tasks, limit, list(places), lambda: client.run_on_scheduler(stop_tracker)
        )
        trees, *selected = zip(*answers, strict=True)
        booster = xgboost.Booster(model_file=bytearray(next(filter(None, trees))))
        return with_trees(clone(e), booster), sum(selected[0])


@dataclass(frozen=True, eq=False)
class Bins:
    """How rows are put into bins, and the name under which workers keep them."""

    name: str
    cuts: NDArray[np.float32]
    max_bin: int
    missing: float
    features: list[str] | None


def summarise(shard: Shard, max_bin: int, missing: float) -> list[tuple[Array, int]]:
    """Return values that stand for each feature of a shard, and how many rows they stand for."""
    found = []
    for column in shard.X.T:
        values = column[~np.isnan(column) & (column != missing)]
        distinct = np.unique(values)
        if len(distinct) > _FINER * max_bin:
            ranks = np.linspace(0, len(values) - 1, _FINER * max_bin).round().astype(int)
            distinct = np.partition(values, np.unique(ranks))[ranks]
        found.append((distinct, len(values)))
    return found


def shared_cuts(summaries: Sequence[list[tuple[Array, int]]], max_bin: int) -> NDArray[np.float32]:
    """Return at most ``max_bin`` values of each feature, shape (max_bin, d), the last repeated.

    All of its values where they are few, otherwise quantiles.

    >>> two_parts = [[(np.array([1.0, 2.0]), 5)], [(np.array([2.0, 3.0]), 5)]]
    >>> shared_cuts(two_parts, 4).T.tolist()
    [[1.0, 2.0, 3.0, 3.0]]
    """
    d = len(summaries[0])
    cuts = np.full((max_bin, d), np.nan, dtype=np.float32)  # of a feature that is never there
    for j in range(d):
        parts = [summary[j] for summary in summaries if len(summary[j][0])]
        if not parts:
            continue
        values = np.concatenate([part for part, _ in parts])
        distinct = np.unique(values)
        if len(distinct) > max_bin:
            mass = np.concatenate([np.full(len(part), n / len(part)) for part, n in parts])
            order = np.argsort(values, kind="stable")
            rank = np.cumsum(mass[order]) / mass.sum()
            at = np.searchsorted(rank, (np.arange(max_bin) + 0.5) / max_bin)
            distinct = np.unique(values[order][at])
        cuts[:, j] = np.pad(distinct, (0, max_bin - len(distinct)), mode="edge")
    return cuts


# What follows runs on the workers and the scheduler.

_resident: dict[str, tuple[tuple[int, ...], Any]] = {}


def train_here(
    shards: list[Shard],
    numbers: tuple[int, ...],
    bins: Bins,
    task: Any,
    learn: Callable[..., tuple[Any, Array]],
    params: dict[str, Any],
    rounds: int,
    meeting: dict[str, Any],
) -> tuple[bytes | None, Array]:
    """Train on the shards of this worker, together with the others; rank 0 returns the trees."""
    import xgboost
    from distributed import get_worker

    params["nthread"] = params["nthread"] or get_worker().state.nthreads
    data = resident(shards, numbers, bins, params["nthread"])
    with together(meeting):
        booster, counted = learn(shards, task, data, params, rounds, bool(meeting))
        first = not meeting or xgboost.collective.get_rank() == 0
        trees = bytes(booster.save_raw("ubj")) if first else None
    return trees, counted


def grown(params: dict[str, Any], rounds: int, data: Any) -> Any:
    """Return the trees that XGBoost grows on some bins."""
    import xgboost

    booster = xgboost.Booster(params, [data])
    for turn in range(rounds):
        booster.update(data, turn)
    return booster


def base_score(rows: list[tuple[NDArray, Array]], shared: bool) -> float:
    """Return the mean label of all rows, by weight, from which XGBoost's trees start.

    Were it left to XGBoost, its last bit would depend on which worker has which rows.
    """
    from xgboost import collective

    sums = np.zeros(2)
    for label, weight in rows:
        weight = weight.astype(np.float32).astype(float)
        sums += weight @ label, weight.sum()
    if shared:
        sums = collective.allreduce(sums, collective.Op.SUM)
    return float(np.float32(sums[0] / sums[1]))


@contextmanager
def together(meeting: dict[str, Any]) -> Iterator[None]:
    """Work with the other workers of a fit, if there are any."""
    from xgboost import collective

    if not meeting:
        yield
        return
    with redirect_stdout(StringIO()):  # every worker would tell its rank on every fit
        collective.init(**meeting)
    try:
        yield
    finally:
        collective.finalize()


def resident(shards: list[Shard], numbers: tuple[int, ...], bins: Bins, threads: int) -> Any:
    """Return the binned rows of this worker, made on the first call for them."""
    import xgboost

    kept = _resident.pop(bins.name, None)
    if kept is None or kept[0] != numbers:
        common = {"missing": bins.missing, "max_bin": bins.max_bin, "nthread": threads}
        names = {} if bins.features is None else {"feature_names": bins.features}
        reference = xgboost.QuantileDMatrix(bins.cuts, **common | {"missing": np.nan}, **names)
        tables = [shard.X for shard in shards]
        if len(tables) == 1:
            data = xgboost.QuantileDMatrix(tables[0], ref=reference, **common, **names)
        else:
            batches = batch_iterator(lambda: iter(tables), names)
            data = xgboost.QuantileDMatrix(batches, ref=reference, **common)
        kept = numbers, data
    _resident[bins.name] = kept  # the last of the dictionary
    while len(_resident) > _KEPT:
        del _resident[next(iter(_resident))]
    return kept[1]


def meet(client: Any, n_workers: int) -> dict[str, Any]:
    """Return the means by which workers of one fit find each other: the scheduler."""
    from distributed.comm import get_address_host

    host = get_address_host(client.scheduler.address)
    return client.run_on_scheduler(start_tracker, n_workers, host)
