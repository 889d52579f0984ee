"""Rows that stay on the disk of this machine."""

from __future__ import annotations

from typing import Any, NoReturn

from equipoise.engines.memory import MemoryEngine
from equipoise.game.rounds import Oracle


class DiskEngine(MemoryEngine):
    """Rows that are read in batches, such as `equipoise.ParquetRows`.

    Labels, groups and weights, a few bytes a row, are in memory. So are all sums over cells; what
    decides on batches is `equipoise.oracles.decisions.decisions`.
    """

    def refit(self, learner: Any, threshold: str = "learner", cv: Any = None) -> Oracle:
        """Return the oracle that trains the learner for every query."""
        if cv is not None:
            _refuse(f"cv={cv!r}")
        return super().refit(learner, threshold)

    def plugin(self, learner: Any, cv: Any = 5, aware: bool = False) -> NoReturn:
        """Raise: probabilities are learned from some of the rows."""
        _refuse("the plug-in oracle")


def _refuse(what: str) -> NoReturn:
    raise TypeError(
        f"{what} takes single rows, but X is rows on disk, which are read in batches and never as "
        "a whole. They go with an XGBClassifier, oracle='refit' and no cv; for anything else load "
        "the table into memory."
    )
