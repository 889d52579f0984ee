"""Calls of the learner, cheaper: bins made once against plain refits, and warm starts.

The first table is boosting: random rows, labels and weights that change from call to call as a
reduction changes them. A call is a fit and the scores of the training rows, which the reduction
needs. Both ways are timed in turns, on the same labels and weights, in one process. Seconds are
those of the processor, all threads together, so that other work on the machine counts little. The
median is over the calls after the first, in which the bins are made; that one is shown as well.

"excess error" is the weighted training error of the bin-once classifier minus that of the plain
one, and "decisions" the share of training rows on which the two agree, both averaged over calls.

The second table is the frontier of logistic regression on Adult, demographic parity and equalized
odds at twenty bounds: scikit-learn's fits from zero ("cold"), from the solution of the most similar
one ("warm"), and the same on rows that are merged where they are equal and stored without common
values ("compact"), where the first call is the one that makes these.

Run ``python benchmarks/bin_once.py``; ``--quick`` for a small version.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from pandas import DataFrame
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from equipoise import DemographicParity, EqualizedOdds, Frontier
from equipoise.datasets import load_adult
from equipoise.oracles.decisions import scores
from equipoise.oracles.trainers import (
    LogisticTrainer,
    PlainTrainer,
    Trainer,
    choose_trainer,
    logistic,
)


def asked(n: int, features: int, calls: int) -> tuple[NDArray, list[tuple[NDArray, NDArray]]]:
    """Make rows, and the labels and weights of two groups under growing multipliers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, features))
    group = rng.integers(0, 2, n)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * group + rng.normal(size=n) > 0.5).astype(np.int64)
    found = []
    for call in range(calls):
        cost = np.where(y == 1, -1.0, 1.0) + 0.3 * call / calls * np.where(group == 1, 1.0, -1.0)
        weight = np.abs(cost)
        found.append(((cost < 0).astype(np.int64), weight / weight.mean()))
    return X, found


def timed(trainer: Trainer, label: NDArray, weight: NDArray) -> tuple[float, NDArray]:
    """Return the seconds of one call, and its decisions on the training rows."""
    start = time.process_time()
    trained = trainer.fit(label, weight)
    scores(trained.local, trained.rows)
    seconds = time.process_time() - start
    return seconds, np.asarray(trained.local.predict(trained.rows))


def compare(learner: Any, table: Any, n: int, features: int, calls: int) -> list[str]:
    """Time both ways in turns; return a row of the table."""
    X, questions = asked(n, features, calls)
    X = table(X)
    once = choose_trainer(learner, X)
    plain = PlainTrainer(learner, X)
    assert type(once) is not PlainTrainer
    seconds, excess, same = [], [], []
    for label, weight in questions:
        (ours, h), (theirs, g) = timed(once, label, weight), timed(plain, label, weight)
        seconds.append((theirs, ours))
        excess.append(
            np.average(h != label, weights=weight) - np.average(g != label, weights=weight)
        )
        same.append(np.mean(h == g))
    theirs, ours = np.median(seconds[1:], axis=0)
    return [
        type(learner).__name__,
        f"{type(X).__name__}, {n:,} x {features}",
        f"{theirs:.2f}",
        f"{ours:.2f}",
        f"{theirs / ours:.2f}",
        f"{seconds[0][1]:.2f}",
        f"{np.mean(excess):+.5f}",
        f"{np.mean(same):.4f}",
    ]


def warm_rows(quick: bool) -> Iterator[list[str]]:
    """Yield, for each constraint and solver, calls, iterations and seconds, cold and warm."""
    adult = load_adult()
    rows = slice(0, 5000 if quick else None)
    X = StandardScaler().fit_transform(np.asarray(adult.data, dtype=float)[rows])
    y, sex = np.asarray(adult.target)[rows], np.asarray(adult.sensitive["sex"])[rows]
    for constraint, solver, way in product(
        (DemographicParity(), EqualizedOdds()), ("lbfgs", "newton-cholesky"), WAYS
    ):
        if way == "compact" and solver != "lbfgs":
            continue
        kind = FromZero if way == "cold" else LogisticRegression
        frontier = Frontier(kind(C=0.01, solver=solver, max_iter=1000), constraint)
        with _Counted(is_compact=way == "compact") as counted:
            frontier.fit(X, y, sensitive_features=sex)
        yield [
            type(constraint).__name__,
            solver,
            way,
            str(frontier.n_calls_),
            f"{np.mean(counted.steps):.1f}",
            f"{np.mean(counted.seconds):.3f}",
            f"{np.mean([point.error for point in frontier.points_]):.5f}",
        ]


LOGISTIC = ["constraint", "solver", "way", "calls", "steps a call", "seconds a call", "mean error"]
#: Each fit from zero; from the most similar solution; the same on compact rows, as it is done.
WAYS = ("cold", "warm", "compact")


class FromZero(LogisticRegression):
    """Logistic regression under another name, for which no start is known to be safe."""


class _Counted:
    """Counts the steps and seconds of trainers while it is entered; rows are compact if asked."""

    def __init__(self, is_compact: bool) -> None:
        self.is_compact = is_compact
        self.steps: list[int] = []
        self.seconds: list[float] = []

    def __enter__(self) -> _Counted:
        self._changed = [(PlainTrainer, "fit", self.counting(PlainTrainer.fit))]
        self._changed.append((LogisticTrainer, "fit", self.counting(LogisticTrainer.fit)))
        if not self.is_compact:
            self._changed.append((logistic, "has_plain_loss", lambda estimator: False))
        self._before = [(where, name, getattr(where, name)) for where, name, _ in self._changed]
        for change in self._changed:
            setattr(*change)
        return self

    def counting(self, fit: Any) -> Any:
        def counted(trainer: Trainer, *args: Any) -> Any:
            start = time.process_time()
            trained = fit(trainer, *args)
            self.seconds.append(time.process_time() - start)
            self.steps.append(int(trained.classifier.n_iter_[0]))
            return trained

        return counted

    def __exit__(self, *_: object) -> None:
        for change in self._before:
            setattr(*change)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20,000 rows instead of 500,000")
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="threads of the learner")
    parser.add_argument("--logistic", action="store_true", help="the second table alone")
    options = parser.parse_args()
    n = 20_000 if options.quick else 500_000
    print(machine())
    if not options.logistic:
        boosting(options, n)
    print(markdown_table(LOGISTIC, warm_rows(options.quick)))


def boosting(options: argparse.Namespace, n: int) -> None:
    """Print the first table."""
    print(
        f"{options.jobs} thread(s), 100 trees, median of {options.calls - 1} calls.\n", flush=True
    )
    learners = [
        LGBMClassifier(n_estimators=100, n_jobs=options.jobs, verbose=-1),
        XGBClassifier(n_estimators=100, n_jobs=options.jobs),
    ]
    header = ["learner", "rows", "plain (s)", "bin once (s)", "ratio", "first call (s)"]
    header += ["excess error", "decisions"]
    tables = np.asarray, DataFrame
    rows = [compare(*what, n, 20, options.calls) for what in product(learners, tables)]
    print(markdown_table(header, rows), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
