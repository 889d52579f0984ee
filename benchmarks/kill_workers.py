"""Workers that are killed again and again while a frontier is fitted on a Dask cluster.

    python benchmarks/kill_workers.py [--kills 20] [--learner trees|logistic] [--quick]

Two workers hold made-up rows; a frontier is fitted, undisturbed first. Then one of the workers,
drawn at random, is sent SIGKILL at a random moment of the fit, and the fit goes on as it can; this
is done until ``--kills`` fits were hit. Points, mixtures and decisions are compared with the
undisturbed ones, and calls of the learner are counted.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
import warnings
from typing import Any

import numpy as np
from _machine import machine, markdown_table


def fitted(learner: Any, data: tuple[Any, Any, Any]) -> Any:
    from equipoise import EqualizedOdds, Frontier

    X, y, A = data
    frontier = Frontier(learner, EqualizedOdds(), bounds=[0.01, 0.03, 0.1], nu=0.002)
    return frontier.fit(X, y, sensitive_features=A)


def summary(frontier: Any, rows: np.ndarray) -> list[Any]:
    """Return all that must be the same."""
    points = [(p.error, p.lower, p.gap, p.disparity) for p in frontier.points_]
    return [points, frontier.n_calls_, frontier.at(0.02).predict(rows).tolist()]


def kill_later(client: Any, seconds: float, number: int, killed: list[float]) -> threading.Timer:
    """Kill a worker after some seconds."""

    def kill() -> None:
        try:
            pid = list(client.run(os.getpid).values())[number]
            os.kill(pid, signal.SIGKILL)
            killed.append(seconds)
        except (OSError, IndexError):
            pass  # at this moment there is no such worker

    timer = threading.Timer(seconds, kill)
    timer.start()
    return timer


def back_to_two(cluster: Any, client: Any) -> None:
    """Wait for the successor of the worker; where Dask started none, start both anew."""
    try:
        client.wait_for_workers(2, timeout=20)
    except TimeoutError:
        cluster.scale(0)
        cluster.scale(2)
        client.wait_for_workers(2, timeout=120)


def main() -> None:
    from dask import array as da
    from distributed import Client, LocalCluster
    from sklearn.linear_model import LogisticRegression
    from xgboost import XGBClassifier

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--learner", choices=["trees", "logistic"], default="trees")
    parser.add_argument("--quick", action="store_true", help="one kill, few rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, kills = (5000, 1) if options.quick else (options.rows, options.kills)
    learner = {
        "trees": XGBClassifier(n_estimators=20, max_depth=5, n_jobs=1),
        "logistic": LogisticRegression(C=0.1),
    }[options.learner]
    rng, lines = np.random.default_rng(0), []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        state = da.random.default_rng(0)
        X = state.normal(size=(rows, 10), chunks=(rows // 6, 10)).astype(np.float32)
        A = state.integers(0, 2, rows, chunks=rows // 6)
        noise = state.normal(size=rows, chunks=rows // 6)
        data = X, (X[:, 0] + A + noise > 0.5).astype(np.int8), A
        some = X[:2000].compute()
        fitted(learner, data)  # workers have their imports behind them after this
        start = time.perf_counter()
        expected = summary(fitted(learner, data), some)
        usual = time.perf_counter() - start
        while len(lines) < kills:
            killed: list[float] = []
            timer = kill_later(client, rng.uniform(0, usual), int(rng.integers(2)), killed)
            start = time.perf_counter()
            found = summary(fitted(learner, data), some)
            seconds = time.perf_counter() - start
            timer.join()
            back_to_two(cluster, client)
            if not killed or killed[0] > seconds:
                continue  # the fit was over already
            lines.append([killed[0], seconds, found == expected])
            print(f"kill {len(lines)}: {lines[-1]}", flush=True)
        print(f"\n{machine()}\n\n{rows:,} rows; undisturbed {usual:.1f} s, {expected[1]} fits.\n")
        print(
            markdown_table(
                ["kills", "same frontier, bit for bit", "median seconds", "longest"],
                [
                    [
                        len(lines),
                        sum(line[2] for line in lines),
                        f"{np.median([line[1] for line in lines]):.1f}",
                        f"{max(line[1] for line in lines):.1f}",
                    ]
                ],
            )
        )


if __name__ == "__main__":
    main()
