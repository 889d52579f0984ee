"""One point of a frontier, and the game that it answers."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

from equipoise.cells.rows import Array
from equipoise.constraints.base import All, Constraint
from equipoise.game.certificate import Certificate
from equipoise.game.lagrangian import Lagrangian


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """One bound of a frontier and the best randomized classifier within it.

    Attributes
    ----------
    eps : float
        The bound.
    error : float
        err(Q) on the data of the fit.
    disparity : float
        The largest difference that Q leaves: ``eps`` where the constraint binds, less elsewhere.
    lower, gap : float
        Lower value of the error within the bound, and the distance to it.
    price : float
        What loosening the bound is worth: error saved for each unit of ``eps``, to first order.
    members : int
        Classifiers that Q mixes.
    certificate : Certificate
    weights : array of shape (P,)
        Q, as weights of the classifiers in the pool.
    """

    eps: float
    error: float
    disparity: float
    lower: float
    gap: float
    price: float
    members: int
    certificate: Certificate = field(repr=False)
    weights: Array = field(repr=False)


def with_eps(constraint: Constraint, eps: float) -> Constraint:
    """Return a copy of the constraint with this bound.

    >>> from equipoise import DemographicParity
    >>> with_eps(DemographicParity(eps=0.5), 0.01)
    DemographicParity(eps=0.01)
    """
    if isinstance(constraint, All):
        return All(tuple(with_eps(part, eps) for part in constraint.parts))
    if "eps" not in constraint.get_params():
        raise TypeError(
            f"{type(constraint).__name__} has no eps to trace a frontier over. Use FairClassifier, "
            "or a parity such as DemographicParity."
        )
    return deepcopy(constraint).set_params(eps=eps)


def disparity(game: Lagrangian, s: Array, eps: float) -> float:
    """Return the largest difference that s(Q) leaves, for a game whose bound is ``eps``."""
    return float(eps + (game.gamma(s) - game.c).max(initial=-eps))
