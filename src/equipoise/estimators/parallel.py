"""Several fits at a time."""

from __future__ import annotations

from collections.abc import Sequence

from joblib import Parallel, delayed

from equipoise.cells.rows import Array
from equipoise.game.pool import Oracle, Respond, Response


def in_parallel(n_jobs: int) -> Respond:
    """Return what puts a list of costs to an oracle, ``n_jobs`` at a time."""

    def respond(oracle: Oracle, costs: list[Array]) -> Sequence[Response]:
        return Parallel(n_jobs=n_jobs)(delayed(oracle.best_response)(c) for c in costs)

    return respond
