"""The game of a regressor in the units of its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import ThresholdTable
from equipoise.game.certificate import Certificate
from equipoise.game.evidence import Scope
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.rounds import Pool, Round


def row_scale(lagrangian: Lagrangian, cells: ThresholdTable) -> float:
    """Return by what the game divides its bounds: the scale of the loss, where rows are losses."""
    of_loss = np.asarray(lagrangian.gamma_slope)[:, :: cells.n_columns].any()
    return cells.scale if of_loss else 1.0


def scaled(lagrangian: Lagrangian, cells: ThresholdTable) -> Lagrangian:
    """Return the game with bounds in units of the constant's loss, as s(f) is."""
    return replace(lagrangian, c=lagrangian.c / row_scale(lagrangian, cells))


def pool_in_units(pool: Pool, cells: ThresholdTable) -> Pool:
    """Return the pool of a scaled game with its losses in their own units."""
    s = pool.s.copy()
    s[:, :: cells.n_columns] *= cells.scale
    known = Pool.of(pool.classifiers, s)
    known.n_calls = pool.n_calls
    return known


def in_units(
    found: Round, lagrangian: Lagrangian, known: Pool, cells: ThresholdTable
) -> tuple[Round, Lagrangian]:
    """Return a round of the scaled game, and the game, in units of the loss, as ``known`` is."""
    rows = row_scale(lagrangian, cells)
    factor = cells.scale / rows
    game = replace(lagrangian, tolerance=TOLERANCE * rows)
    mixture = found.mixture
    loosening = np.broadcast_to(np.asarray(found.loosening) * rows, lagrangian.c.shape)
    worst = found.worst_rate
    rescaled = Round.of_mixture(
        game.relaxed(loosening),
        known,
        replace(mixture, multipliers=mixture.multipliers * factor, slacks=mixture.slacks * rows),
        found.iteration,
        [np.asarray(query) * factor for query in found.queries],
        slack_queries=found.slack_queries,
        stage=found.stage,
        least_slack=found.least_slack * rows,
        proven_slack=found.proven_slack * rows,
        conflict=found.conflict,
        loosening=loosening,
        worst_rate=None if worst is None else (worst[0] * rows, worst[1] * rows),
    )
    return replace(rescaled, n_calls=found.n_calls), game


def seen_in_units(
    lagrangian: Lagrangian, cells: ThresholdTable
) -> Callable[[Round | list[Round]], Any]:
    """Return what shows the numbers of a round of the scaled game, or of many, in their units."""
    scale, rows = cells.scale, row_scale(lagrangian, cells)

    def seen(found: Round | list[Round]) -> Any:
        if isinstance(found, list):
            return [seen(each) for each in found]
        worst = found.worst_rate
        of_rows = ("gamma", "violation", "least_slack", "proven_slack", "loosening")
        of_loss = ("error", "lower", "upper", "gap")
        numbers = {name: getattr(found, name) * rows for name in of_rows}
        numbers |= {name: getattr(found, name) * scale for name in of_loss}
        return replace(
            found,
            multipliers=found.multipliers * (scale / rows),
            worst_rate=None if worst is None else (worst[0] * rows, worst[1] * rows),
            **numbers,
        )

    return seen


def certified(
    found: Round, game: Lagrangian, s: Array, cells: ThresholdTable, nu: float, out_of_fold: bool
) -> Certificate:
    """Return the certificate of a round in units of the loss, over shares ``s`` of the pool."""
    certificate = Certificate.of_round(
        found, game, s, nu=nu, scope=Scope.ORACLE, cells=cells, out_of_fold=out_of_fold
    )
    number = len(cells.thresholds)
    of_loss = replace(certificate, constant=None, measure="loss", unit=cells.scale)
    return replace(of_loss, n_thresholds=number)
