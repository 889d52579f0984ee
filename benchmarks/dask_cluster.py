"""Seconds an iteration on a Dask cluster, what the reduction adds to the learner, and who grows.

    python benchmarks/dask_cluster.py [--rows 1000000 10000000] [--trees 10] [--rounds 5] [--quick]

A local cluster, one thread a worker; rows are generated on the workers. For every size, in a fresh
process: seconds on the clock of one best response (costs out, a classifier and sums back), beside
the learner's own distributed fit on the same resident bins, labels and weights being there already;
milliseconds that weights and moments take a worker; a whole fit (demographic parity within 0.02),
the reading of the data included; the largest resident memory of the driver. Then the loops that
one would write with ``xgboost.dask`` and ``lightgbm.dask``: their estimators fitted with new labels
and weights each time, and the moments of their predictions. Medians of ``--rounds``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from _machine import machine, markdown_table

FEATURES, GROUPS = 20, 2


def generate(rows: int, parts: int) -> tuple[Any, Any, Any]:
    """Return features, labels and groups as Dask arrays that workers make."""
    import dask.array as da

    state, chunk = da.random.default_rng(0), rows // parts
    X = state.normal(size=(rows, FEATURES), chunks=(chunk, FEATURES)).astype(np.float32)
    A = state.integers(0, GROUPS, rows, chunks=chunk)
    X = X + A[:, None] * np.eye(1, FEATURES, dtype=np.float32)  # the first tells the group
    noise = state.normal(size=rows, chunks=chunk)
    y = (X[:, :3].sum(axis=1) + noise > 0.5).astype(np.int8)
    return X, y, A


def questions(cells: Any, n: int) -> list[np.ndarray]:
    """Return costs of cells that differ a little each time, as those of a game do."""
    rng = np.random.default_rng(1)
    base = np.where(cells.label == 1, -1.0, 1.0)
    return [base + 0.2 * rng.normal(size=len(base)) for _ in range(n)]


def clocked(work: Any, arguments: list[Any]) -> float:
    """Return the median of the seconds on the clock; the first call is not counted."""
    seconds = []
    for argument in arguments:
        start = time.perf_counter()
        work(argument)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))


def bare(shards: list, numbers: tuple, bins: Any, params: dict, rounds: int, meeting: dict) -> int:
    """Train on this worker's bins, with the labels that are there: the learner, and no more."""
    import xgboost

    from equipoise.engines.dask.trainers.xgboost_resident import resident, together

    data = resident(shards, numbers, bins, params["nthread"])
    with together(meeting):
        booster = xgboost.Booster(params, [data])
        for turn in range(rounds):
            booster.update(data, turn)
        booster.predict(data)
    return len(data.get_label())


def learner_alone(oracle: Any) -> Any:
    """Return what runs the learner's own distributed fit, as `ResidentTrainer` does it."""
    from equipoise.engines.dask.retry import gather
    from equipoise.engines.dask.trainers.xgboost_resident import meet

    trainer = oracle._trainer
    shards, e = trainer.shards, trainer.estimator
    params = {k: v for k, v in e.get_xgb_params().items() if v is not None} | {"nthread": 1}

    def fit(_: Any) -> None:
        places = shards.placed()
        meeting = meet(shards.client, len(places)) if len(places) > 1 else {}
        tasks = [
            shards.client.submit(
                bare,
                [shards.futures[n] for n in numbers],
                tuple(numbers),
                trainer._bins,
                params,
                e.n_estimators,
                meeting and meeting | {"dmlc_task_id": f"{rank:05d}"},
                workers=[address],
                pure=False,
            )
            for rank, (address, numbers) in enumerate(places.items())
        ]
        gather(shards.client, tasks, 600.0, list(places))

    return fit


def weights_and_moments(shard: Any, task: Any) -> float:
    """Return the milliseconds that one worker takes for a million rows."""
    start = time.perf_counter()
    label, _ = shard.examples(task)
    shard.sum(label == 1)
    return (time.perf_counter() - start) * 1e9 / len(shard)


def measure(rows: int, workers: int, trees: int, rounds: int, stock: bool) -> dict[str, float]:
    """Measure one size, in this process."""
    from distributed import Client, LocalCluster
    from xgboost import XGBClassifier

    from equipoise import DemographicParity, FairClassifier
    from equipoise.engines.dask.engine import DaskEngine
    from equipoise.engines.dask.shard import Task
    from equipoise.rows.people import People

    warnings.simplefilter("ignore")
    found: dict[str, float] = {"rows": rows, "workers": workers}
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        X, y, A = generate(rows, parts=2 * workers)
        learner = XGBClassifier(n_estimators=trees, max_depth=6, n_jobs=1)
        engine = DaskEngine.open(People(X, y, A), estimator=learner)
        oracle, costs = engine.refit(learner), questions(engine.cells, rounds + 1)
        found["ours"] = clocked(oracle.best_response, costs)
        found["alone"] = clocked(learner_alone(oracle), costs)
        task = Task(*engine.cells.relabel(costs[0]))
        found["table ms"] = float(np.median(engine.shards.map(weights_and_moments, task)))
        start = time.perf_counter()
        clf = FairClassifier(learner, DemographicParity(eps=0.02), nu=0.002)
        clf.fit(X, y, sensitive_features=A)
        found["fit"], found["calls"] = time.perf_counter() - start, clf.n_calls_
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found["driver MiB"] = peak / 1024
        if stock:
            for name, other in stock_learners(trees).items():
                theirs = engine.refit(other)
                found[name] = clocked(theirs.best_response, costs[: max(rounds // 2, 1) + 1])
    return found


def stock_learners(trees: int) -> dict[str, Any]:
    """Return the Dask estimators of the libraries, with the same settings where they have them."""
    from lightgbm import DaskLGBMClassifier
    from xgboost.dask import DaskXGBClassifier

    return {
        "xgboost.dask": DaskXGBClassifier(n_estimators=trees, max_depth=6, n_jobs=1),
        "lightgbm.dask": DaskLGBMClassifier(
            n_estimators=trees, num_leaves=64, n_jobs=1, verbose=-1
        ),
    }


def in_fresh_process(*arguments: object) -> dict[str, float]:
    """Measure one size in a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    parser.add_argument("--one", nargs=5, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        rows, workers, trees, rounds, stock = options.one
        print(json.dumps(measure(rows, workers, trees, rounds, bool(stock))))
        return
    sizes = [20_000] if options.quick else options.rows
    trees, rounds = options.trees, 2 if options.quick else options.rounds
    print(f"{machine()}\n\n{FEATURES} features, {trees} trees of depth 6, {GROUPS} groups.\n")
    header = [
        *("rows", "workers", "seconds an iteration", "learner alone", "overhead, %"),
        *("weights and moments, ms a million rows", "a whole fit, s", "its calls"),
        *("driver's peak, MiB", "xgboost.dask, s", "lightgbm.dask, s"),
    ]
    plans = [(sizes[0], 1, False), *((n, 2, True) for n in sizes), (2 * sizes[0], 2, False)]
    lines = []
    for rows, workers, stock in plans:
        m = in_fresh_process(rows, workers, trees, rounds, int(stock))
        lines.append(
            [
                *(f"{rows:,}", workers, f"{m['ours']:.3f}", f"{m['alone']:.3f}"),
                f"{100 * (m['ours'] / m['alone'] - 1):.1f}",
                *(f"{m['table ms']:.0f}", f"{m['fit']:.1f}", int(m["calls"])),
                f"{m['driver MiB']:.0f}",
                *(f"{m[n]:.2f}" if n in m else "" for n in ("xgboost.dask", "lightgbm.dask")),
            ]
        )
        print(f"{rows:,} rows, {workers} workers: {m}", file=sys.stderr, flush=True)
    print(markdown_table(header, lines))


if __name__ == "__main__":
    main()
