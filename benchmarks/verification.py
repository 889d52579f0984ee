"""What it costs to ask the classifiers of a result about the training rows once more.

One pass, before a fit returns, gives three things: that the classifiers deployed are those measured
(their shares are the recorded ones), the share of people decided by lot, and who is decided on
differently than without constraints. It asks the members that could have a part in FairClassifier's
mixture, the pool of a Frontier, the candidates of GridSearch. Out of fold, the models of every fold
are asked twice besides, which is part of the seconds of the pass.
Seconds are processor seconds of the fit and of the pass within it.

Adult, 48,842 rows, LogisticRegression(C=0.01): scaled one-hot features as an array, and a pipeline
that scales them. LGBMClassifier and a pipeline that encodes the raw table follow for comparison.

Run ``python benchmarks/verification.py``; ``--quick`` for a small version.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np
from _machine import machine, markdown_table
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from equipoise import DemographicParity, FairClassifier, Frontier, GridSearch
from equipoise.engines.memory import MemoryEngine
from equipoise.oracles import CrossFittedOracle, Refit


class Clock:
    """Adds up the processor seconds of the functions it wraps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, its seconds counted."""

        def call(*args: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **named)
            finally:
                self.seconds += time.process_time() - start

        return call


@contextmanager
def watching(clock: Clock) -> Iterator[None]:
    """Count the seconds of the pass; folds are measured twice, and one of these is a check."""
    half = Clock()
    compare, measure = clock.timed(MemoryEngine.compare), half.timed(CrossFittedOracle._measure)
    with (
        patch.object(MemoryEngine, "compare", lambda *args: compare(*args)),
        patch.object(CrossFittedOracle, "_measure", lambda *args: measure(*args)),
    ):
        yield
    clock.seconds += half.seconds / 2


def learners(adult: Any, quick: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield a name, a learner and its table."""
    logistic = LogisticRegression(C=0.01, max_iter=1000)
    yield "logistic regression", logistic, StandardScaler().fit_transform(adult.data)
    yield "the same after StandardScaler", make_pipeline(StandardScaler(), logistic), adult.data
    if quick:
        return
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    )
    yield "the same after one-hot encoding", make_pipeline(encoded, logistic), adult.frame
    from lightgbm import LGBMClassifier

    yield "LightGBM, 100 trees", LGBMClassifier(n_jobs=1, verbose=-1), adult.data


def reductions(learner: Any) -> Iterator[tuple[str, Any]]:
    """Yield a name and an unfitted reduction."""
    bound = DemographicParity(eps=0.02)
    yield "FairClassifier", FairClassifier(learner, bound)
    yield "FairClassifier, Refit(cv=5)", FairClassifier(learner, bound, oracle=Refit(cv=5))
    yield "Frontier, 20 bounds", Frontier(learner, bound)
    yield "GridSearch, 21 points", GridSearch(learner, bound)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4,000 rows, two learners")
    parser.add_argument("--learners", type=int, default=4, help="so many of them, the first")
    parser.add_argument("--repeats", type=int, default=3, help="fits; the median share counts")
    asked = parser.parse_args()
    quick = asked.quick
    from equipoise.datasets import load_adult

    adult = load_adult()
    rows = np.random.default_rng(0).permutation(len(adult.target))[: 4000 if quick else None]
    adult.data, adult.target = adult.data[rows], adult.target[rows]
    groups = np.asarray(adult.sensitive["sex"])[rows]
    adult.frame = load_adult(as_frame=True).data.iloc[rows]
    table = []
    for name, learner, X in islice(learners(adult, quick), asked.learners):
        for kind, reduction in reductions(learner):
            found = []
            for _ in range(asked.repeats):
                clock, start = Clock(), time.process_time()
                with watching(clock), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    reduction.fit(X, adult.target, sensitive_features=groups)
                seconds = time.process_time() - start
                found.append((clock.seconds / seconds, seconds, clock.seconds))
            share, seconds, check = sorted(found)[len(found) // 2]
            table.append((name, kind, f"{seconds:.2f}", f"{check:.3f}", f"{share:.1%}"))
    print(machine())
    print(f"{len(rows):,} rows.\n")
    print(markdown_table(("learner", "reduction", "fit (s)", "pass (s)", "share"), table))


if __name__ == "__main__":
    main()
