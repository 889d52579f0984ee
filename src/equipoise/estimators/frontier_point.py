"""One point of a frontier, and the game that it answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from equipoise.cells.table import Array
from equipoise.constraints.base import All, Constraint
from equipoise.exceptions import InfeasibleWarning
from equipoise.faces import Record
from equipoise.game.certificate import Certificate
from equipoise.game.evidence import Status
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.least_random import Lottery
from equipoise.game.mixture import Mixture
from equipoise.game.rounds import Outcome, Pool, Reason, Round

#: The bounds traced by default: those of the paper's experiments.
DEFAULT_BOUNDS = np.geomspace(0.001, 0.1, 20)


@dataclass(frozen=True, eq=False)
class FrontierPoint(Record):
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
        What loosening the bound is worth: no more error than this is saved for each unit of
        ``eps``, up to the gap.
    members : int
        Classifiers that Q mixes.
    certificate : Certificate
    mixture : Mixture
        Q, as weights of classifiers in the pool.
    """

    eps: float
    error: float
    disparity: float
    lower: float
    gap: float
    price: float
    members: int
    certificate: Certificate = field(repr=False)
    mixture: Mixture = field(repr=False)


def point_of(eps: float, found: Round, game: Lagrangian, certificate: Certificate) -> FrontierPoint:
    """Return the point of a Round, in the game whose bound is ``eps``."""
    return FrontierPoint(
        eps=eps,
        error=found.error,
        disparity=disparity(game, found.s, eps if np.isfinite(eps) else 0.0),
        lower=found.lower,
        gap=found.gap,
        price=float(found.multipliers.sum()) if np.isfinite(eps) else 0.0,
        members=len(found.mixture.indices),
        certificate=certificate,
        mixture=found.mixture,
    )


def unconstrained_point(
    lagrangian: Lagrangian,
    pool: Pool,
    free: int,
    certified: Callable[[Round, Lagrangian], Certificate],
    by_lot: Lottery | None = None,
) -> FrontierPoint:
    """Return the point of the answer without constraints, the one of number ``free`` in a pool."""
    game, nothing = lagrangian.only([]), np.zeros(0)
    mixture = Mixture.of_weights(np.eye(len(pool))[free], nothing)
    found = Round.of_mixture(game, pool, mixture, 0, [nothing], by_lot=by_lot)
    return point_of(np.inf, found, lagrangian.with_bound(0.0), certified(found, game))


#: More bounds than these are a slip: each is traced, measured and written down.
MOST_BOUNDS = 10_000


def read_bounds(bounds: ArrayLike | None) -> Array:
    """Return the values of eps to trace, tightest first."""
    given = DEFAULT_BOUNDS if bounds is None else bounds
    read = np.sort(np.atleast_1d(np.asarray(given, dtype=float)))
    if read.size > MOST_BOUNDS:
        raise ValueError(
            f"bounds are {read.size:,} numbers; expected at most {MOST_BOUNDS:,}. 20 or so draw "
            "the whole trade-off, and Frontier.at takes any bound between them."
        )
    if read.ndim != 1 or not len(read) or not np.isfinite(read).all() or read[0] < 0:
        raise ValueError(f"bounds are {bounds!r}; expected one or more finite numbers >= 0.")
    return read


def read_bound(eps: float) -> float:
    """Return one value of eps, checked."""
    (read,) = read_bounds([eps])
    return float(read)


def games_of(
    constraint: Constraint, lagrangian: Lagrangian, bounds: Iterable[float]
) -> list[Lagrangian]:
    """Return the game of each bound, from that of the constraint compiled once."""
    with_eps(constraint, 0.0)  # raises if there is no eps to trace
    return [lagrangian.with_bound(eps) for eps in bounds]


def with_eps(constraint: Constraint, eps: float) -> Constraint:
    """Return a copy of the constraint with this bound.

    >>> from equipoise import DemographicParity
    >>> with_eps(DemographicParity(eps=0.5), 0.01)
    DemographicParity(eps=0.01)
    """
    if isinstance(constraint, All):
        return All(tuple(with_eps(part, eps) for part in constraint.parts))
    if "eps" not in constraint.get_params() or not constraint.traceable:
        raise TypeError(
            f"{type(constraint).__name__} has no eps to trace a frontier over, a number that is a "
            "difference of rates and changes nothing but bounds. Use FairClassifier for one bound "
            "at a time, or a parity such as DemographicParity."
        )
    return deepcopy(constraint).set_params(eps=eps)


def disparity(game: Lagrangian, s: Array, eps: float) -> float:
    """Return the largest difference that s(Q) leaves, for a game whose bound is ``eps``."""
    return float(eps + (game.gamma(s) - game.c).max(initial=-eps))


def measured_on(point: FrontierPoint, stated: Lagrangian, shares: Array) -> FrontierPoint:
    """Return the point with error and disparity on other data, whose shares (P, C) these are."""
    eps = point.eps if np.isfinite(point.eps) else 0.0
    game, s = stated.with_bound(eps), point.mixture.shares(shares)
    error, largest = float(game.error(s)), disparity(game, s, eps)
    return replace(point, error=error, disparity=largest, lower=np.nan, gap=np.nan)


def warn_of_points(
    outcome: Outcome[list[Round]], points: list[FrontierPoint], nu: float, n_calls: int
) -> None:
    """Warn where a fit ended early, or where bounds were proven impossible."""
    by_status = {
        status: [point for point in points if point.certificate.status is status]
        for status in Status
    }
    if unmet := [point.eps for point in by_status[Status.IMPOSSIBLE]]:
        warnings.warn(
            f"{len(unmet)} bounds, up to {max(unmet):.4g}, cannot be met with this learner; "
            "their points hold the least that can. Trace looser bounds, or use a more "
            "flexible learner.",
            InfeasibleWarning,
            stacklevel=3,
        )
    gap = max((point.gap for point in by_status[Status.MET]), default=0.0)
    waiting = len(by_status[Status.NOT_YET])
    if outcome.reason is not Reason.CALLBACK and (waiting or not gap <= nu):
        parts = [f"{waiting} bounds are not met yet"] if waiting else []
        if by_status[Status.MET]:
            parts.append(f"the largest gap of bounds that are met is {gap:.3g} (nu={nu:.3g})")
        more = {Reason.FINISHED: "with a smaller nu", Reason.MAX_ITER: "with a larger max_iter"}
        how = more.get(outcome.reason, "again")
        warnings.warn(
            f"{outcome.reason.value} after {outcome.n_rounds} rounds and {n_calls} calls: "
            f"{', and '.join(parts)}. The frontier holds what was found; fit {how}, or "
            "with a checkpoint, to go on.",
            ConvergenceWarning,
            stacklevel=3,
        )
