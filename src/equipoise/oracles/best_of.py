"""Several oracles at once: the best of their answers counts."""

from __future__ import annotations

from typing import Any

from equipoise.cells.table import Array
from equipoise.game.pool import Oracle, Response


class BestOfOracle:
    """Several oracles over the same cells: the best of their answers counts.

    Parameters
    ----------
    *oracles : Oracle
        Their shares must be measured alike, all out of fold or all on the training data: else
        those who know their training data by heart would win.
    """

    exact = False

    def __init__(self, *oracles: Oracle) -> None:
        if len({oracle.out_of_fold for oracle in oracles}) != 1:
            how = [f"{type(o).__name__} (out_of_fold={o.out_of_fold})" for o in oracles]
            raise ValueError(
                f"got {', '.join(how) or 'no oracle'}; expected one or more that measure their "
                "shares alike, all out of fold or all on the training data."
            )
        self.oracles = oracles
        self.out_of_fold = oracles[0].out_of_fold

    def best_response(self, costs: Array) -> Response:
        """Ask all oracles and return the response of least cost; the first of equals."""
        responses = [oracle.best_response(costs) for oracle in self.oracles]
        return min(responses, key=lambda response: float(response.s @ costs))

    def start_from(self, classifier: Any) -> None:
        """Let all oracles start from this classifier, an earlier answer of one of them."""
        for oracle in self.oracles:
            oracle.start_from(classifier)
