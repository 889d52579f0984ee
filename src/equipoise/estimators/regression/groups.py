"""What a regressor does to each group: loss, mean prediction, distance of its distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.constraints.groups import group_name
from equipoise.faces import Records


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
    values = np.concatenate(list(each))
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.diff(values[order]) != 0, True)
    share = (weights[:, None] * row_weight).ravel()[order]
    person = order % len(cells.code)
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
