"""Members that share their first trees: CPU seconds, training and test errors, beside whole ones.

    python benchmarks/shared_trees.py [--learner lightgbm|xgboost] [--share 0.75] [--problems ...]
    python benchmarks/shared_trees.py --quick

A frontier with ``Refit(shared_trees=share)`` and one with members that are trained whole, both in
one run, on three quarters of at most ``--rows`` rows, in ``--splits`` splits. Errors on the other
rows are compared at equal violations there, as ``frontier.py --test`` does; the standard error is
the jackknife's over the splits. The share of 0.75 was tuned on none of these problems.

Data are read from EQUIPOISE_DATA; Adult comes with the package. Learners have one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from frontier import NOTIONS, PROBLEMS, Rows, at_equal_violation, jackknife, measure
from sklearn.model_selection import train_test_split
from step import REAL, made_up

from equipoise import Frontier, datasets
from equipoise.oracles import Refit

LOADED: dict[str, tuple[Callable[[], Any], str]] = {
    **REAL,
    **{name: PROBLEMS[name] for name in ("adult", "compas", "law", "dutch")},
    "acs": (datasets.load_acs_income, "sex"),
}
HEADER = [
    *("problem", "fits, whole", "shared", "CPU s, whole", "shared", "ratio"),
    *("training error, shared minus whole", "test error at equal violation", "standard error"),
]


def read(name: str, rows: int) -> Rows:
    """Return features, labels and groups of a sample."""
    if name == "made up":
        X, y, A = made_up(0, 3, rows)
        return X, y, A
    load, attribute = LOADED[name]
    data = load()
    sample = np.random.default_rng(0).permutation(len(data.target))[:rows]
    X = np.asarray(data.data, dtype=float)[sample]
    return X, np.asarray(data.target)[sample], np.asarray(data.sensitive[attribute])[sample]


def learner(name: str) -> Any:
    """Return a learner of 100 trees with one thread."""
    if name == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=1)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def traced(
    share: float, fitted: Rows, judged: Rows, notion: str, estimator: Any, bounds: np.ndarray
) -> tuple[int, float, float, np.ndarray]:
    """Return fits, CPU seconds, mean training error, and (error, violation) on other rows."""
    constraint, _, labels = NOTIONS[notion]
    start = time.process_time()
    frontier = Frontier(
        estimator, constraint(), bounds=bounds, oracle=Refit(shared_trees=share)
    ).fit(*fitted[:2], sensitive_features=fitted[2])
    seconds = time.process_time() - start
    chances = [frontier.at(eps).predict_proba(judged[0])[:, 1] for eps in bounds]
    points = np.array([measure(selected, *judged[1:], labels) for selected in chances])
    training = float(np.mean([point.error for point in frontier.points_]))
    return frontier.n_calls_, seconds, training, points


def compare(name: str, notion: str, asked: argparse.Namespace) -> list[str]:
    """Return a row of the table."""
    rows, bounds = read(name, asked.rows), np.geomspace(0.005, 0.1, asked.bounds)
    sides = []
    for seed in range(asked.splits):
        halves = train_test_split(*rows, test_size=0.25, random_state=seed, stratify=rows[1])
        parts = halves[::2], halves[1::2], notion, learner(asked.learner), bounds
        sides.append([traced(share, *parts) for share in (asked.share, 0.0)])
    numbers = np.array([[side[:3] for side in split] for split in sides]).mean(axis=0)
    points = np.array([[side[3] for side in split] for split in sides])
    (calls, seconds, errors) = numbers.T
    return [
        f"{name} {notion}",
        *(f"{fits:.1f}" for fits in calls[::-1]),
        *(f"{second:.2f}" for second in seconds[::-1]),
        f"{seconds[1] / seconds[0]:.1f}",
        f"{np.subtract(*errors):+.4f}",
        f"{at_equal_violation(*points.mean(axis=0)):+.4f}",
        f"{jackknife(points):.4f}" if asked.splits > 1 else "",
    ]


def main() -> None:
    """Print the table, a row as soon as it is known."""
    names = [*REAL, "made up", *(name for name in LOADED if name not in REAL)]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="made-up people, 600 rows, 2 splits")
    parser.add_argument("--learner", default="lightgbm", choices=["lightgbm", "xgboost"])
    parser.add_argument("--share", type=float, default=0.75)
    parser.add_argument("--problems", nargs="*", choices=names, default=names)
    parser.add_argument("--rows", type=int, default=8000, help="the most rows of a problem")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--bounds", type=int, default=5)
    asked = parser.parse_args()
    if asked.quick:
        quick = {"problems": ["made up"], "rows": 600, "splits": 2, "bounds": 2}
        parser.set_defaults(**quick)
        asked = parser.parse_args()
    warnings.simplefilter("ignore")
    show = partial(print, flush=True)
    show(f"{machine()}\n\n{asked.learner}, share {asked.share:g}, {asked.splits} splits, ", end="")
    show(f"{asked.bounds} bounds, at most {asked.rows:,} rows\n")
    show(markdown_table(HEADER, []))
    for name, notion in product(asked.problems, NOTIONS):
        show(f"| {' | '.join(compare(name, notion, asked))} |")


if __name__ == "__main__":
    main()
