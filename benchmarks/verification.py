"""What it costs to check, before a fit returns, that the classifiers deployed are those measured.

The classifiers of a result decide about the training rows once more, and their shares are compared
with the recorded ones: the members of FairClassifier's mixture, the pool of a Frontier, the
candidates of GridSearch. Out of fold, the models of every fold are asked twice.

Seconds are processor seconds: of the fit; within it, of asking the classifiers once more ("asked");
and of what the check alone takes ("check"). The answers also say on whom classifiers differ, for
the mixture that decides fewest by lot, and whose decision switches, for which they would be asked
without the check as well: those seconds are in "asked" only.

Adult, 48,842 rows, LogisticRegression(C=0.01): scaled one-hot features as an array, and a pipeline
that scales them. LGBMClassifier and a pipeline that encodes the raw table follow for comparison.

Run ``python benchmarks/verification.py``; ``--quick`` for a small version.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
from equipoise.estimators import frontier, grid_search, results
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
def watching(clock: Clock, asked: Clock) -> Iterator[None]:
    """Count the seconds of every check; folds are measured twice, and one of these is a check."""
    with ExitStack() as stack:
        comparing = asked.timed(MemoryEngine.compare)
        compare = patch.object(MemoryEngine, "compare", lambda *args: comparing(*args))
        stack.enter_context(compare)
        for module in (results, frontier, grid_search):
            stack.enter_context(patch.object(module, "verify", clock.timed(results.verify)))
        half = Clock()
        measured = half.timed(CrossFittedOracle._measure)
        kept = patch.object(CrossFittedOracle, "_measure", lambda *args: measured(*args))
        stack.enter_context(kept)
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
    for name, learner, X in learners(adult, quick):
        for kind, reduction in reductions(learner):
            found = []
            for _ in range(asked.repeats):
                clock, again, start = Clock(), Clock(), time.process_time()
                with watching(clock, again), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    reduction.fit(X, adult.target, sensitive_features=groups)
                seconds = time.process_time() - start
                share = clock.seconds / seconds
                found.append((share, seconds, again.seconds, clock.seconds))
            share, *each = sorted(found)[len(found) // 2]
            table.append((name, kind, *(f"{seconds:.2f}" for seconds in each), f"{share:.1%}"))
    print(machine())
    print(f"{len(rows):,} rows.\n")
    columns = ("learner", "reduction", "fit (s)", "asked (s)", "check (s)", "check, share")
    print(markdown_table(columns, table))


if __name__ == "__main__":
    main()
