"""The four-fifths rule on Adult, between every pair of the race x sex groups: what it costs.

    python benchmarks/four_fifths.py            all rows; about half a minute on one core
    python benchmarks/four_fifths.py --quick    4,000 rows, smaller learners

For each learner the error and the least ratio of selection rates between two groups, before and
after, computed from the expected decisions on the training data and not by the library's metrics.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from _machine import machine, markdown_table
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import FairClassifier, FourFifthsRule, SelectionRate
from equipoise.datasets import load_adult
from equipoise.exceptions import SmallGroupWarning

HEADER = [
    "learner",
    "error, free",
    "least ratio, free",
    "error, four fifths",
    "least ratio, four fifths",
    "price in error",
    "pairs",
    "met exactly",
    "fits",
    "seconds",
]


class Outcome(NamedTuple):
    """Error, and the least ratio of selection rates between two groups."""

    error: float
    ratio: float


def learners(quick: bool) -> dict[str, Any]:
    trees = 20 if quick else 100
    return {
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(C=0.01, max_iter=1000)
        ),
        "LightGBM": LGBMClassifier(
            n_estimators=trees, num_leaves=15, verbose=-1, n_jobs=1, deterministic=True
        ),
    }


def measure(selected: np.ndarray, y: np.ndarray, groups: list[np.ndarray]) -> Outcome:
    """Compute both figures from the expected decisions."""
    rates = [selected[members].mean() for members in groups]
    worst = min(a / b for a, b in permutations(rates, 2))
    return Outcome(float(np.abs(selected - y).mean()), float(worst))


def compare(name: str, learner: Any, X: Any, y: Any, race: Any, sex: Any, size: int) -> list[Any]:
    """Fit with and without the rule; return a row of the table."""
    groups = [
        members
        for r in np.unique(race)
        for s in np.unique(sex)
        if (members := (race == r) & (sex == s)).sum() >= size
    ]
    A = {"race": race, "sex": sex}
    # The same estimator under a constraint that everything meets.
    unbound = FairClassifier(learner, SelectionRate(at_most=1.0)).fit(X, y, sensitive_features=A)
    free = measure(unbound.predict_proba(X)[:, 1], y, groups)
    started = time.perf_counter()
    clf = FairClassifier(learner, FourFifthsRule(min_size=size), max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallGroupWarning)  # the table says how many are left
        clf.fit(X, y, sensitive_features=A)
    seconds = time.perf_counter() - started
    fair = measure(clf.predict_proba(X)[:, 1], y, groups)
    return [
        name,
        f"{free.error:.4f}",
        f"{free.ratio:.3f}",
        f"{fair.error:.4f}",
        f"{fair.ratio:.6f}",
        f"{fair.error - free.error:+.4f}",
        len(groups) * (len(groups) - 1) // 2,
        "yes" if fair.ratio >= 0.8 - 1e-9 else "no",
        clf.n_calls_,
        f"{seconds:.0f}",
    ]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small version of the same")
    parser.add_argument("--min-size", type=int, default=100, help="smallest group to constrain")
    options = parser.parse_args(argv)
    adult = load_adult()
    X, y = adult.data, np.asarray(adult.target)
    race, sex = (np.asarray(adult.sensitive[name]) for name in ("race", "sex"))
    if options.quick:
        rows = np.random.default_rng(0).permutation(len(y))[:4000]
        X, y, race, sex = X[rows], y[rows], race[rows], sex[rows]
    table = [
        compare(name, learner, X, y, race, sex, options.min_size)
        for name, learner in learners(options.quick).items()
    ]
    print(f"Adult, {len(y)} rows, groups of at least {options.min_size}. {machine()}\n")
    print(markdown_table(HEADER, table))


if __name__ == "__main__":
    main()
