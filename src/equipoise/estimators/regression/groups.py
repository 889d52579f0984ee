"""What a regressor does to groups: losses, mean predictions, differences at any threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, Mask
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.constraints.groups import group_name
from equipoise.faces import Records
from equipoise.game.lagrangian import Lagrangian


class GroupNumbers(NamedTuple):
    """What a regressor does to one group, expected over the draw.

    Attributes
    ----------
    group : str
        "overall" for everybody.
    people : int
    loss : float
        The mean loss.
    mean_prediction : float
    difference : float
        The largest difference, at any threshold, between the share of the group whose prediction is
        at or above it and that of everybody.
    """

    group: str
    people: int
    loss: float
    mean_prediction: float
    difference: float


def numbers_by_group(
    cells: ThresholdCells, each: Sequence[Array], weights: Array
) -> Records[GroupNumbers]:
    """Return the numbers of everybody and of each group, from predictions of each member.

    Parameters
    ----------
    cells : ThresholdCells
        The people measured.
    each : arrays of shape (n,), for each member
    weights : array
        Of the members.
    """
    row_weight, lost, mean = cells.row_weights(), np.zeros(len(cells.code)), 0.0
    for predicted, weight in zip(each, weights, strict=True):
        lost = lost + weight * cells.loss(predicted - cells.target)
        mean = mean + weight * predicted
    person, share, ends = _falling(cells, each, weights)
    overall = np.cumsum(share)[ends] / row_weight.sum()
    found = []
    everybody = np.ones(cells.n_cells, dtype=bool)
    for group, mask in {"overall": everybody, **cells.groups()}.items():
        inside = mask[cells.code]
        own = row_weight * inside
        if not (total := float(own.sum())):
            continue
        above = np.cumsum(share * inside[person])[ends] / total
        found.append(
            GroupNumbers(
                "overall" if mask is everybody else group_name(group),
                int(inside.sum()),
                float(own @ lost) / total,
                float(own @ mean) / total,
                float(np.abs(above - overall).max(initial=0.0)),
            )
        )
    return Records(found)


def worst_at_any_threshold(
    lagrangian: Lagrangian, cells: ThresholdCells, predicted: Iterable[Array], weights: Array
) -> tuple[float, float]:
    """Return the largest difference that parity bounds, and the largest excess, at any threshold.

    Between the thresholds of the fit groups may differ by more than at them. Here every number that
    somebody is predicted is a threshold.

    Parameters
    ----------
    lagrangian : Lagrangian
        Its rows compare groups alike at all thresholds.
    predicted : arrays of shape (n,), for each member
    weights : array
        Of the members.
    """
    rows, reached = reached_at_any_threshold(lagrangian, cells, predicted, weights)
    return float(reached.max(initial=0.0)), float((reached - rows[:, -1]).max(initial=0.0))


def reached_at_any_threshold(
    lagrangian: Lagrangian, cells: ThresholdCells, predicted: Iterable[Array], weights: Array
) -> tuple[Array, Array]:
    """Return the rows of parity, slopes of cells and bound (R, C + 1), and what each reaches."""
    slopes = np.reshape(lagrangian.gamma_slope, (lagrangian.n_constraints, cells.n_cells, -1))
    rows = np.unique(np.column_stack([slopes.sum(axis=2), lagrangian.c]), axis=0)
    person, share, ends = _falling(cells, predicted, weights)
    code = cells.code[person]
    reached = [np.cumsum(row[:-1][code] * share)[ends].max(initial=0.0) for row in rows]
    return rows, np.array(reached)


def _falling(
    cells: ThresholdCells, predicted: Iterable[Array], weights: Array
) -> tuple[NDArray[np.intp], Array, Mask]:
    """Return the predictions of all members, the largest first.

    That is whose each is, what it weighs, and where the next one is another number.
    """
    values = np.concatenate(list(predicted))
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    share = (weights[:, None] * cells.row_weights()).ravel()[order]
    return order % len(cells.code), share, np.append(ordered[1:] != ordered[:-1], True)
