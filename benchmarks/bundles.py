"""LightGBM with its features bundled, or kept apart: what a call of the learner costs either way.

    python benchmarks/bundles.py [--rows 50000]

Columns of one-hot encodings and five numbers, 100 trees, one thread; CPU seconds, the least of
three. Where features are bundled the booster's own scores of the training rows are not those of its
trees, so that a call is a training and a prediction. Kept apart it is a training alone.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import lightgbm
import numpy as np
from _machine import machine, markdown_table, parse


def encoded(rng: np.random.Generator, rows: int, columns: int, values: int) -> tuple[Any, ...]:
    """Return columns of a one-hot encoding and five numbers, and labels that depend on them."""
    codes = [rng.choice(values, rows, p=rng.dirichlet(np.ones(values))) for _ in range(columns)]
    numbers = rng.normal(size=(rows, 5))
    score = numbers[:, 0] + 0.5 * sum(rng.normal(size=values)[code] for code in codes)
    X = np.column_stack([*(np.eye(values)[code] for code in codes), numbers])
    return X, (score + rng.logistic(size=rows) > 0).astype(int)


def seconds_of(X: np.ndarray, y: np.ndarray, bundled: bool) -> tuple[float, float]:
    """Return the seconds of a training and of a prediction."""
    params = {"objective": "binary", "verbose": -1, "num_threads": 1, "enable_bundle": bundled}
    bins = lightgbm.Dataset(X, label=y, params=params, free_raw_data=False).construct()
    training, predicting = [], []
    for seed in range(3):
        bins.set_weight(np.random.default_rng(seed).random(len(y)))
        start = time.process_time()
        booster = lightgbm.train(params, bins, 100, keep_training_booster=True)
        training.append(time.process_time() - start)
        trees = lightgbm.Booster(model_str=booster.model_to_string())
        start = time.process_time()
        trees.predict(X, num_threads=1)
        predicting.append(time.process_time() - start)
    return min(training), min(predicting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    rows = parse(parser, rows=2000).rows
    table = []
    for columns, values in ((5, 20), (5, 60), (10, 60), (10, 100)):
        X, y = encoded(np.random.default_rng(0), rows, columns, values)
        (bundled, predicting), (apart, _) = (seconds_of(X, y, how) for how in (True, False))
        one = [f"{s:.2f}" for s in (bundled, predicting, bundled + predicting, apart)]
        table.append([X.shape[1], *one])
    print(f"{machine()}\n\n{rows:,} rows.\n")
    header = ["features", "bundled: training, s", "prediction, s", "a call, s", "apart: a call, s"]
    print(markdown_table(header, table))


if __name__ == "__main__":
    main()
