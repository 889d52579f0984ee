"""Open parameters: numbers in a constraint that the fit is to choose, such as tau."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

from equipoise.cells.table import Array
from equipoise.constraints.base import Constraint
from equipoise.exceptions import EquipoiseWarning
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.pool import best_mixture

#: What a unit of violation costs in the search: more than any error it could save.
_PENALTY = 100.0


def settle(
    constraint: Constraint, game: Callable[[Constraint], Lagrangian], s: Array
) -> Constraint:
    """Choose open parameters for the least error over mixtures of known classifiers.

    No classifier is fitted: every value tried is a small linear program over their shares.

    Parameters
    ----------
    game : callable
        From a constraint without open parameters to its Lagrangian.
    s : array of shape (P, C)
        The selected shares of the classifiers.
    """

    def value(settled: Constraint) -> float:
        lagrangian = replace(game(settled), B=_PENALTY)
        return lagrangian.upper(best_mixture(lagrangian, s).weights @ s)

    with warnings.catch_warnings():  # compiled once for each value tried; one warning is enough
        warnings.simplefilter("ignore", EquipoiseWarning)
        return constraint.settle(value)
