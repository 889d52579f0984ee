"""The draw of a mixture: how far the decisions drawn lie from what is expected of them.

People whose rows are equal share one draw. So a constraint's value over the decisions drawn is the
expected one only up to a standard deviation, whose square is the sum over distinct rows v ::

    p_v (1 - p_v) (sum over the people i of v of a_i)^2

where a_i is what selecting person i adds to the value, and p_v the chance of being selected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from equipoise.cells.table import Array

#: A deviation of more than this share of the bound is told.
_TOLD = 0.25
#: Where a row has no bound above zero, deviations are compared with this one.
USUAL_BOUND = 0.01


class DrawDeviation(NamedTuple):
    """The largest standard deviation of a constraint's value over the draw, against its bound.

    Attributes
    ----------
    row : str
        The constraint.
    bound : float
        What the deviation is compared with.
    shared : float
        The standard deviation where people of equal rows share a draw.
    keyed : float
        The same where each person has a draw of their own, by a key.
    """

    row: str
    bound: float
    shared: float
    keyed: float

    @property
    def matters(self) -> bool:
        """Whether it is more than a quarter of the bound."""
        return self.shared > _TOLD * self.bound

    @property
    def is_of_sharing(self) -> bool:
        """Whether it matters, and a key would make it a quarter or less."""
        return self.matters and self.shared >= 4 * self.keyed


def draw_deviations(
    slopes: Array, weights: csr_array, squares: csr_array, chances: Array
) -> tuple[Array, Array]:
    """Return the standard deviation of each constraint's value over the draw: shared, and keyed.

    Parameters
    ----------
    slopes : array of shape (K, C (V - 1))
        What a share of a cell that is decided so adds to the value.
    weights, squares : arrays of shape (D, C)
        Of the people of each distinct row in each cell, the sum of their weights, as shares of all,
        and of the squares of these.
    chances : array of shape (D, V)
        Of each decision.

    Examples
    --------
    >>> everybody = np.array([[1.0, 1.0]])  # the selection rate, of two groups
    >>> same, half = csr_array([[0.3, 0.7]]), np.array([[0.5, 0.5]])
    >>> shared, keyed = draw_deviations(everybody, same, csr_array([[0.01, 0.03]]), half)
    >>> shared.tolist(), keyed.round(3).tolist()
    ([0.5], [0.1])
    """
    each = np.reshape(slopes, (len(slopes), weights.shape[1], -1))
    chance, people = chances[:, 1:], squares.tocoo()
    chance_of_people = chance[people.row]
    shared = np.empty(len(each))
    keyed = np.empty(len(each))
    for k, slope in enumerate(each):
        shared[k] = _variances(weights @ slope, chance).sum()
        keyed[k] = people.data @ _variances(slope[people.col], chance_of_people)
    return np.sqrt(np.maximum(shared, 0.0)), np.sqrt(np.maximum(keyed, 0.0))


def _variances(worth: Array, chance: Array) -> Array:
    """Return the variance of what is drawn, from the worth and the chance of each decision."""
    mean = (worth * chance).sum(axis=1)
    return (worth**2 * chance).sum(axis=1) - mean**2
