"""Parameters of a constraint that are to be found from the data, such as tau.

The rows of a constraint are affine in each open parameter t > 0, so that two compilations give the
game for every t. Over a pool of classifiers, the least error for each t is a small linear program.
It need not be convex in t: the programs of a fine grid are solved at once, and those between the
best of its points after that. What the pool lacks is found by solving the game for several t.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.constraints.base import Constraint
from equipoise.exceptions import EquipoiseWarning
from equipoise.game.column_generation import column_generation
from equipoise.game.lagrangian import Lagrangian, is_met
from equipoise.game.mixture import best_mixtures
from equipoise.game.rounds import Oracle, Pool

#: Values are tried on the scale of the angle, t = tan(angle): a fine grid, finer at its ends.
_STEP = np.pi / 256
_TAIL = _STEP * 0.5 ** np.arange(6, 0, -1)
_ANGLES = np.concatenate([_TAIL, _STEP * np.arange(1, 128), np.pi / 2 - _TAIL[::-1]])
#: So many local minima are looked at more closely, so many times, with so many points to each side.
_MINIMA, _ZOOMS, _POINTS = 4, 5, 4
#: Cost of a unit of violation: more than any error it could save.
_PENALTY = 1e4
#: Slopes below this are rounding.
_ROUNDING = 1e-12


class _Effort(NamedTuple):
    """For how many values a game is solved before and after each choice; limits of rounds, fits."""

    before: int
    after: int
    rounds: int
    fits: float


_EXACT = _Effort(before=16, after=_MINIMA, rounds=500, fits=np.inf)
_LEARNER = _Effort(before=4, after=1, rounds=8, fits=40)


def find_parameters(
    constraint: Constraint,
    game: Callable[[Constraint], Lagrangian],
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    B: float = np.inf,
) -> Constraint:
    """Return the constraint with its open parameters of least error; the pool grows.

    Among values for which the bounds can be met the error counts, among others the violation. The
    game is solved for values spread over all, then for the best over the pool, until the pool has
    no better ones. A learner is fitted no more than 40 times for it, and what it did not find is
    not known.

    Parameters
    ----------
    game : callable
        From a constraint without open parameters to its Lagrangian.
    B : float
        Bound on the multipliers: below infinity, violation may be worth its error.
    """
    effort = _EXACT if oracle.exact else _LEARNER
    last_call, least = pool.n_calls + effort.fits, np.inf
    spread = np.tan(np.linspace(0.0, np.pi / 2, effort.before + 2)[1:-1])
    promising = [np.full(constraint.n_open, tau) for tau in spread]
    with warnings.catch_warnings():  # compiled again and again; the warnings of one time suffice
        warnings.simplefilter("ignore", EquipoiseWarning)
        while True:
            for values in promising:
                lagrangian = replace(game(constraint.closed(values)), B=B)
                rounds = column_generation(lagrangian, oracle, pool, nu=nu)
                for _ in islice(rounds, effort.rounds):
                    if pool.n_calls >= last_call:
                        break
            minima = least_values(constraint, game, pool.s, B=B)
            if minima[0].value > least - nu / 10 or pool.n_calls >= last_call:
                return constraint.closed(minima[0].parameters)
            least = minima[0].value
            promising = [found.parameters for found in minima[: effort.after]]


class Minimum(NamedTuple):
    """Parameters of locally least value, over the mixtures of a pool."""

    value: float
    parameters: Array


def least_values(
    constraint: Constraint,
    game: Callable[[Constraint], Lagrangian],
    s: Array,
    *,
    B: float = np.inf,
) -> list[Minimum]:
    """Return the local minima over a pool with shares ``s``, the least first; nothing is fitted."""
    parameters = np.ones(constraint.n_open)
    # Several parameters are improved one after the other, twice over.
    for at in list(range(len(parameters))) * min(len(parameters), 2):
        ends = []
        for value in (1.0, 2.0):
            parameters[at] = value
            closed = game(constraint.closed(parameters))
            if closed.elastic is not None:  # rows without a bound have none to be within
                closed = closed.only(np.flatnonzero(~closed.elastic))
            ends.append(replace(closed, B=min(B, _PENALTY)))
        minima = _Line(ends[0], ends[1], s, is_hard=not np.isfinite(B)).minima()
        parameters[at] = minima[0][1]
    found = []
    for value, t in minima:
        parameters[at] = t
        found.append(Minimum(value, parameters.copy()))
    return found


@dataclass(frozen=True, eq=False)
class _Line:
    """The games of one parameter, from those at 1 and at 2, over the classifiers ``s``."""

    one: Lagrangian
    two: Lagrangian
    s: Array
    is_hard: bool

    def at(self, t: float) -> Lagrangian:
        """Return the game at t: its rows are affine in t."""
        names = ("gamma_offset", "gamma_slope", "c")
        games = self.one, self.two
        pairs = {name: [np.asarray(getattr(game, name)) for game in games] for name in names}
        return replace(self.one, **{name: a + (t - 1) * (b - a) for name, (a, b) in pairs.items()})

    def values(self, angles: Sequence[float] | Array) -> list[float]:
        """Return the least error at each angle, plus the price of what is exceeded."""
        games = [self.at(float(t)) for t in np.tan(angles)]
        shares = [mixture.shares(self.s) for mixture in best_mixtures(games, self.s)]
        errors = self.one.error(self.s)
        # Hard bounds: no error that is saved makes up for a violation, however small.
        unmet = float(errors.max() - errors.min()) if self.is_hard else 0.0
        return [
            game.upper(q) + (0.0 if is_met(float(game.violation(q))) else unmet)
            for game, q in zip(games, shares, strict=True)
        ]

    def limits(self, angles: Array) -> Array:
        """Return the ends of where the best mixture at each angle meets the bounds, and the middle.

        Where bounds are met for one value alone, no grid would find it.
        """
        ends = []
        mixtures = best_mixtures([self.at(float(t)) for t in np.tan(angles)], self.s)
        for mixture in mixtures:
            q = mixture.shares(self.s)
            one, two = (game.gamma(q) - game.c for game in (self.one, self.two))
            slope, start = two - one, 2 * one - two  # the excess at t is start + t slope
            with np.errstate(divide="ignore", invalid="ignore"):
                root = -start / slope
            low = np.max(root[slope < -_ROUNDING], initial=0.0)
            high = np.min(root[slope > _ROUNDING], initial=np.inf)
            ends += [low, high, (low + high) / 2]
        found = np.arctan(ends)
        return found[(found >= _ANGLES[0]) & (found <= _ANGLES[-1])]

    def minima(self) -> list[tuple[float, float]]:
        """Return (value, t) at the best local minima, the least first."""
        angles, values = _ANGLES, np.array(self.values(_ANGLES))
        for _ in range(_ZOOMS):
            lowest = _local_minima(values)
            closer = (_around(angles, at) for at in lowest)
            new = np.concatenate([*closer, self.limits(angles[lowest])])
            angles = np.concatenate([angles, new])
            values = np.concatenate([values, self.values(new)])
            angles, first = np.unique(angles, return_index=True)
            values = values[first]
        return [(float(values[at]), float(np.tan(angles[at]))) for at in _local_minima(values)]


def _local_minima(values: Array) -> NDArray[np.intp]:
    """Return where the least local minima are, the least first; a plateau counts once."""
    padded = np.concatenate([[np.inf], values, [np.inf]])
    is_low = (values < padded[:-2]) & (values <= padded[2:])
    at = np.flatnonzero(is_low)
    return at[np.argsort(values[at], kind="stable")][:_MINIMA]


def _around(angles: Array, at: int) -> Array:
    """Return points between an angle and its neighbours."""
    part = np.arange(1, _POINTS + 1) / (_POINTS + 1)
    sides = [angles[side] for side in (at - 1, at + 1) if 0 <= side < len(angles)]
    return np.concatenate([angles[at] + part * (side - angles[at]) for side in sides])
