"""ROC curves of groups, and the thresholds on their convex hulls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from equipoise.cells.table import Array


@dataclass(frozen=True, eq=False)
class Hull:
    """The corners of what randomized thresholds on the scores of one group can do.

    Attributes
    ----------
    thresholds : array of shape (V,)
        Descending, from infinity (select nobody) to minus infinity; a score above it is selected.
    selected : array of shape (V, 2)
        Weight of the people with label 0 and with label 1 who are selected.
    """

    thresholds: Array
    selected: Array

    @classmethod
    def of(cls, scores: Array, label: NDArray[np.integer], weight: Array) -> Hull:
        """Find the corners, above and below.

        >>> hull = Hull.of(np.array([0.1, 0.4, 0.6, 0.9]), np.array([0, 1, 0, 1]), np.ones(4))
        >>> hull.thresholds.tolist()
        [inf, 0.75, 0.25, -inf]
        >>> hull.selected.tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 2.0], [2.0, 2.0]]
        """
        distinct, at = np.unique(-scores[weight > 0], return_inverse=True)
        label, weight = label[weight > 0], weight[weight > 0]
        gained = np.zeros((len(distinct), 2))
        np.add.at(gained, (at, label), weight)
        selected = np.vstack([np.zeros(2), np.cumsum(gained, axis=0)])
        corners = _corners(gained)
        return cls(_between(-distinct)[corners], selected[corners])


def _corners(gained: Array) -> NDArray[np.intp]:
    """Return the numbers of the corners, by pooling adjacent violators.

    A block of the pooled share of label 1, as the threshold falls, is an edge of the hull: of the
    upper one where the shares must fall, of the lower one where they must rise.
    """
    total = gained.sum(axis=1)
    share = gained[:, 1] / total
    blocks = [
        isotonic_regression(share, weights=total, increasing=rising).blocks
        for rising in (False, True)
    ]
    return np.unique(np.concatenate(blocks))


def _between(scores: Array) -> Array:
    """Return thresholds that cut descending scores before, between and after: one more than these.

    Half-way between neighbours, where the numbers are not too close for that.
    """
    upper, lower = scores[:-1], scores[1:]
    middle = lower + (upper - lower) / 2
    return np.concatenate([[np.inf], np.where(middle < upper, middle, lower), [-np.inf]])
