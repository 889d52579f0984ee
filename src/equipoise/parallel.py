"""Several fits at a time, each with its share of the cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from joblib import Parallel, cpu_count, delayed
from sklearn.base import clone

from equipoise.cells import Array
from equipoise.saddle_point import Oracle, Respond, Response


def in_parallel(n_jobs: int) -> Respond:
    """Return what puts a list of costs to an oracle, ``n_jobs`` at a time."""

    def respond(oracle: Oracle, costs: list[Array]) -> Sequence[Response]:
        return Parallel(n_jobs=n_jobs)(delayed(oracle.best_response)(c) for c in costs)

    return respond


def with_cores(estimator: Any, n_jobs: int) -> Any:
    """Return the learner with its share of the cores, when several are trained at a time.

    Two learners of two threads each on two cores can be a hundred times slower than one.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> with_cores(RandomForestClassifier(n_jobs=-1), 10_000).n_jobs
    1
    """
    if n_jobs == 1 or not hasattr(estimator, "get_params"):
        return estimator
    share = max(cpu_count() // n_jobs, 1)
    names = [n for n in estimator.get_params() if n == "n_jobs" or n.endswith("__n_jobs")]
    return clone(estimator).set_params(**dict.fromkeys(names, share))
