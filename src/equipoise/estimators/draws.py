"""The draws of a fit: the distinct rows of its people, each of which has one draw."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from sklearn import config_context

from equipoise.cells.table import Array
from equipoise.constraints.rows import Row
from equipoise.estimators.base import Problem
from equipoise.exceptions import SharedDrawWarning
from equipoise.game.certificate import Certificate
from equipoise.game.draws import USUAL_BOUND, DrawDeviation, draw_deviations
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture
from equipoise.oracles.decisions import decisions
from equipoise.rows.hashing import draw_uniform
from equipoise.rows.tables import Batched, batches, take_rows

#: Constraints that are looked at: those nearest to their bounds.
_MOST_ROWS = 16
#: A deviation that is surely below this share of the bound is not looked at.
_NEGLIGIBLE = 0.025


@dataclass(eq=False)
class SharedDraws:
    """The distinct rows of the people of a fit, and their weights in each cell.

    Attributes
    ----------
    X : table of D rows
    weights, squares : arrays of shape (D, C)
        See `equipoise.game.draws.draw_deviations`.
    n_decisions : int
    """

    X: Any
    weights: csr_array
    squares: csr_array
    n_decisions: int
    _decided: dict[int, NDArray] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> SharedDraws | None:
        """Return the draws of a fit; None where rows are elsewhere or count in more ways."""
        X, cells = problem.people.X, problem.cells.plain_rows()
        if cells is None or isinstance(X, Batched):
            return None
        try:
            drawn = np.concatenate([draw_uniform(rows, salt=0) for rows in batches(X)])
        except TypeError:  # rows that cannot be hashed
            return None
        _, first, number = np.unique(drawn, return_index=True, return_inverse=True)
        weight = np.ones(len(drawn)) if cells.weight is None else cells.weight
        weight = weight / weight.sum()
        shape, at = (len(first), cells.n_cells), (number, cells.code)
        weights = coo_array((weight, at), shape=shape).tocsr()
        squares = coo_array((weight**2, at), shape=shape).tocsr()
        return cls(take_rows(X, first), weights, squares, cells.n_decisions)

    def deviation(
        self, game: Lagrangian, mixture: Mixture, classifiers: Sequence[Any], gamma: Array
    ) -> DrawDeviation | None:
        """Return the largest deviation of a constraint nearest to its bound; None if negligible.

        ``gamma`` are the values of the constraints.
        """
        if len(mixture.indices) < 2 or not len(game.c):
            return None
        rows = np.argsort(game.c - gamma, kind="stable")[:_MOST_ROWS]
        bounds = np.array([_bound(game.rows[k]) for k in rows])
        slopes = np.asarray(game.gamma_slope[rows])
        most = np.abs(slopes).max(axis=1) * np.sqrt((self.weights.sum(axis=1) ** 2).sum())
        if (most <= _NEGLIGIBLE * bounds).all():
            return None
        chances = np.zeros((self.weights.shape[0], self.n_decisions))
        weights = dict(zip(mixture.indices.tolist(), mixture.weights.tolist(), strict=True))
        for h, decided in self._decisions(weights, classifiers).items():
            chances[np.arange(len(chances)), decided] += weights[h]
        divided = chances.max(axis=1) < 1 - 1e-12
        parts = self.weights[divided], self.squares[divided], chances[divided]
        shared, keyed = draw_deviations(slopes, *parts)
        at = int(np.argmax(shared / bounds))
        row = game.rows[rows[at]].sentence()
        return DrawDeviation(row, float(bounds[at]), float(shared[at]), float(keyed[at]))

    def _decisions(
        self, members: dict[int, float], classifiers: Sequence[Any]
    ) -> dict[int, NDArray[np.intp]]:
        """Return what members of a pool decide on the distinct rows, each asked once."""
        new = [h for h in members if h not in self._decided]
        with config_context(assume_finite=True):  # they have seen these rows before
            answers = decisions([classifiers[h] for h in new], self.X, self.n_decisions)
            for h, decided in zip(new, answers, strict=True):
                self._decided[h] = decided.astype(np.intp)
        return {h: self._decided[h] for h in members}


def _bound(row: Row) -> float:
    return USUAL_BOUND if row.bound is None or row.bound <= 0 else float(row.bound)


def warn_of_draw(certificate: Certificate) -> None:
    """Warn where people of equal rows share a draw, and the draw may undo a bound."""
    draw = certificate.draw
    if draw is None or not draw.is_of_sharing:
        return
    warnings.warn(
        "people whose rows are equal share one draw, so that the decisions of predict may exceed a "
        f'bound that is met in expectation: over the draw, "{draw.row}" has a standard deviation '
        f"of {draw.shared:.2g}, with a draw for each person {draw.keyed:.2g}. Pass "
        "predict(X, key=...), whatever identifies a person, or ask for one rule: "
        "deterministic=True.",
        SharedDrawWarning,
        stacklevel=4,
    )
