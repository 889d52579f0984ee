"""Several fits at a time, each with its share of the cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from joblib import Parallel, cpu_count, delayed
from sklearn.base import clone

from equipoise.cells.rows import Array
from equipoise.game.pool import Oracle, Respond, Response


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
    share, params = max(cpu_count() // n_jobs, 1), estimator.get_params()
    greedy = {}
    for name, asked in params.items():
        path, _, last = name.rpartition("__")
        if last == "n_jobs" and _exceeds(asked, share, params.get(path, estimator)):
            greedy[name] = share
    return clone(estimator).set_params(**greedy) if greedy else estimator


def _exceeds(n_jobs: int | None, share: int, learner: Any) -> bool:
    """Whether a learner that was given these ``n_jobs`` uses more cores than its share."""
    if n_jobs is None:  # one core in scikit-learn, all of them elsewhere
        return not type(learner).__module__.startswith("sklearn.")
    return not 1 <= n_jobs <= share
