"""What the bounds would cost decisions that see the group: thresholds by group on given scores.

Where the price of the bounds is large, this says whether not seeing the group is the reason. It
takes no fit: the scores are those of the unconstrained model, or its out-of-fold probabilities.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.codes import add_up
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.constraints.rates import shown
from equipoise.estimators.base import Problem
from equipoise.estimators.decisions.unconstrained import unconstrained_of
from equipoise.exceptions import LargePriceWarning
from equipoise.game.certificate import Certificate
from equipoise.game.column_generation import many_bounds
from equipoise.game.evidence import SeenGroups
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.rounds import Limits, Oracle, Pool, Response, Round, run
from equipoise.oracles.cell_probabilities import CellGroups
from equipoise.rows.tables import Batched, take_rows

#: A price is large from this share of the largest possible error on, and from this multiple of the
#: error without the constraints.
_LARGE, _OF_FREE = 0.03, 0.2
#: The most rounds of the search, and the most people that it looks at.
_MOST_ROUNDS, _MOST_PEOPLE = 50, 50_000


class GroupThresholds(Oracle):
    """Best responses of a threshold for each group on fixed scores.

    Parameters
    ----------
    scores : array of shape (n,)
    cells : Cells
        Of two labels.

    Examples
    --------
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> oracle = GroupThresholds(np.array([0.2, 0.4, 0.6, 0.8]), cells)
    >>> oracle.best_response(np.where(cells.label == 1, -1.0, 1.0)).s.tolist()
    [0.0, 0.25, 0.0, 0.25]
    """

    exact, out_of_fold = False, False

    def __init__(self, scores: Array, cells: Cells) -> None:
        group = CellGroups(cells).group[cells.code]
        order = np.lexsort((-scores, group))
        group, ranked = group[order], scores[order]
        weight = np.ones(len(order)) if cells.weight is None else cells.weight
        self.cells = cells
        self._code = cells.code[order]
        self._weight = weight[order] / weight.sum()
        new_group = group[1:] != group[:-1]
        #: The first row of each group, and whether a threshold may follow a row.
        self._start = np.flatnonzero(np.append(True, new_group))
        self._may_end = np.append(new_group | (ranked[1:] != ranked[:-1]), True)

    def best_response(self, costs: Array) -> Response:
        """Select in each group those above the threshold of least cost."""
        total = np.cumsum(costs[self._code] * self._weight)
        selected = np.zeros(len(total), dtype=bool)
        ends = np.append(self._start[1:], len(total))
        before = np.append(0.0, total)[self._start]
        for start, end, already in zip(self._start, ends, before, strict=True):
            cost = np.where(self._may_end[start:end], total[start:end] - already, np.inf)
            best = int(cost.argmin())
            if cost[best] < 0:
                selected[start : start + best + 1] = True
        weight = np.where(selected, self._weight, 0.0)
        s = add_up(self._code, self.cells.n_cells, weight)
        return Response(None, s)


def is_large(price: float, free_error: float, game: Lagrangian) -> bool:
    """Return whether the price of the bounds is large enough to look for a cheaper way."""
    return price >= _LARGE * game.scale and price >= _OF_FREE * free_error


def errors_if_seen(problem: Problem, games: Sequence[Lagrangian]) -> list[SeenGroups | None]:
    """Return the least errors of thresholds by group within the bounds of games.

    None where the bounds are not met, where rows are elsewhere or count in more ways than one, and
    of scores that the learner does not give.
    """
    unknown: list[SeenGroups | None] = [None] * len(games)
    cells, X = problem.cells.plain_rows(), problem.people.X
    if cells is None or cells.n_decisions > 2 or isinstance(X, Batched) or problem.oracle.exact:
        return unknown
    rows = _sample(cells)
    if (scores := _scores(problem, cells, rows)) is None:
        return unknown
    if rows is not None:
        cells = _of_sample(cells, rows)
    oracle, pool = GroupThresholds(scores, cells), Pool()
    for share in (np.zeros(cells.n_cells), cells.mass):
        pool.add(None, share)
    rounds = many_bounds(list(games), oracle, pool, nu=problem.nu)
    found = run(rounds, Limits(_MOST_ROUNDS)).last
    names = (*cells.sensitive, *cells.control)
    return [_seen(names, each, game) for each, game in zip(found, games, strict=True)]


def _scores(problem: Problem, cells: Cells, rows: NDArray[np.intp] | None) -> Array | None:
    if problem.oracle.shared is not None:
        measured = problem.oracle.shared.measured
        measured = measured if rows is None else measured[rows]
        return measured[:, cells.label == 1].sum(axis=1)
    model = unconstrained_of(problem)
    if model.why_no_order():
        return None
    X = problem.people.X
    return model.order(X if rows is None else take_rows(X, rows))


def _sample(cells: Cells) -> NDArray[np.intp] | None:
    """Return some of many people, by a fixed seed; None stands for all."""
    n = cells.n_examples
    if n <= _MOST_PEOPLE:
        return None
    return np.unique(np.random.default_rng(0).integers(0, n, _MOST_PEOPLE))


def _of_sample(cells: Cells, rows: NDArray[np.intp]) -> Cells:
    """Return the cells with some of their rows, which weigh as much as all of them."""
    code = cells.code[rows]
    weight = np.ones(len(rows)) if cells.weight is None else cells.weight[rows]
    sampled = add_up(code, cells.n_cells, weight)
    return replace(
        cells, code=code, weight=weight * (cells.mass / np.maximum(sampled, 1e-300))[code]
    )


def _seen(names: tuple[str, ...], found: Round, game: Lagrangian) -> SeenGroups | None:
    if found.least_slack > 0 or found.violation > game.tolerance:
        return None
    return SeenGroups(names, float(found.error))


def warn_of_price(certificate: Certificate) -> None:
    """Warn of a large price, most of which decisions that see the group would save."""
    if not certificate.saves_if_seen or certificate.seen is None:
        return
    price = certificate.lower - certificate.free_error
    less = certificate.seen.error - certificate.free_error
    names = shown(certificate.seen.names)
    warnings.warn(
        f"the bounds cost at least {price:.4f} of error. Decisions that see {names} too would pay "
        f"about {max(less, 0.0):.4f}, with thresholds by group on the learner's scores: "
        "baselines.ThresholdOptimizer, Plugin(aware=True), or the group among the features. "
        "Whether they may is a question for a lawyer.",
        LargePriceWarning,
        stacklevel=4,
    )
