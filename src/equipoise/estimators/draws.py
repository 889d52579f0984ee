"""The draws of a fit: the distinct rows of its people, each of which has one draw."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from sklearn import config_context

from equipoise.cells.rows import Cells
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
from equipoise.rows.tables import Batched, take_rows

#: Constraints that are looked at: those nearest to their bounds.
_MOST_ROWS = 16
#: So many people tell how many have equal rows.
_SAMPLE = 20_000


class Distinct(NamedTuple):
    """The distinct rows of people, and their weights in each cell.

    Attributes
    ----------
    X : table of D rows
    weights, squares : arrays of shape (D, C)
        See `equipoise.game.draws.draw_deviations`.
    """

    X: Any
    weights: csr_array
    squares: csr_array


@dataclass(eq=False)
class SharedDraws:
    """The draws of the people of a fit, one for each distinct row.

    Attributes
    ----------
    X : table of n rows
    cells : Cells
    """

    X: Any
    cells: Cells
    _decided: dict[int, NDArray] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> SharedDraws | None:
        """Return the draws of a fit; None where rows are elsewhere or count in more ways."""
        X, cells = problem.people.X, problem.cells.plain_rows()
        return None if cells is None or isinstance(X, Batched) else cls(X, cells)

    def deviation(
        self,
        game: Lagrangian,
        mixture: Mixture,
        classifiers: Sequence[Any],
        gamma: Array,
    ) -> DrawDeviation | None:
        """Return the largest deviation of a constraint nearest to its bound.

        None where few people share a draw, and of rows that cannot be hashed. ``gamma`` are the
        values of the constraints.
        """
        if len(mixture.indices) < 2 or not len(game.c):
            return None
        try:
            if not self._many_share:
                return None
            distinct = self._distinct
        except TypeError:  # rows that cannot be hashed
            return None
        rows = np.argsort(game.c - gamma, kind="stable")[:_MOST_ROWS]
        bounds = np.array([_bound(game.rows[k]) for k in rows])
        slopes = np.asarray(game.gamma_slope[rows])
        chances = np.zeros((distinct.weights.shape[0], self.cells.n_decisions))
        weights = dict(zip(mixture.indices.tolist(), mixture.weights.tolist(), strict=True))
        for h, decided in self._decisions(weights, classifiers).items():
            chances[np.arange(len(chances)), decided] += weights[h]
        differ = chances.max(axis=1) < 1 - 1e-12
        parts = distinct.weights[differ], distinct.squares[differ], chances[differ]
        shared, keyed = draw_deviations(slopes, *parts)
        at = int(np.argmax(shared / bounds))
        row = game.rows[rows[at]].sentence()
        return DrawDeviation(row, float(bounds[at]), float(shared[at]), float(keyed[at]))

    @cached_property
    def _weight(self) -> Array:
        weight = self.cells.weight
        n = self.cells.n_examples
        return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()

    @cached_property
    def _many_share(self) -> bool:
        """Whether pairs of people with equal rows may add more to a variance than single people.

        Of many people a sample tells.
        """
        n = self.cells.n_examples
        if n <= _SAMPLE:
            return True
        sample = np.unique(np.random.default_rng(0).integers(0, n, _SAMPLE))
        drawn = draw_uniform(take_rows(self.X, sample), salt=0)
        counts = np.unique(drawn, return_counts=True)[1]
        pairs = float((counts * (counts - 1)).sum()) / 2
        most = (pairs + 3 * np.sqrt(pairs) + 5) / (len(sample) * (len(sample) - 1) / 2)
        heaviest = n * float(self._weight.max())
        return most * heaviest**2 > float(np.square(self._weight).sum())

    @cached_property
    def _distinct(self) -> Distinct:
        cells = self.cells
        drawn = draw_uniform(self.X, salt=0)
        _, first, number = np.unique(drawn, return_index=True, return_inverse=True)
        X = self.X
        if len(first) < len(drawn):
            X = take_rows(X, first)
        else:
            number = np.arange(len(drawn))
        shape = (len(first), cells.n_cells)
        at = (number, cells.code)
        weights = coo_array((self._weight, at), shape=shape).tocsr()
        squares = coo_array((self._weight**2, at), shape=shape).tocsr()
        return Distinct(X, weights, squares)

    def _decisions(
        self, members: dict[int, float], classifiers: Sequence[Any]
    ) -> dict[int, NDArray[np.intp]]:
        """Return the decisions of pool members on the distinct rows, computed once each."""
        new = [h for h in members if h not in self._decided]
        with config_context(assume_finite=True):  # they have seen these rows before
            asked = [classifiers[h] for h in new]
            answers = decisions(asked, self._distinct.X, self.cells.n_decisions)
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
