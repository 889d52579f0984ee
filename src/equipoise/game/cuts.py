"""Cuts: one rule ``score > 0`` in place of a lottery, found by exact searches along lines.

A person is selected where a linear combination of a few scores is positive: ``B theta > 0``, with
B of shape (n, q). Along a line ``theta + a d`` the decision about person i changes once, at ``a =
-(B theta)_i / (B d)_i``, and error, inequalities and distance to the mixture are sums over people.
So one sort and cumulated sums give them for *every* cut along the line, exactly.

The rule wanted is the nearest to the mixture, not the one of least error: that one would follow
the noise of the people that it was found on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, Mask
from equipoise.game.lagrangian import Lagrangian

#: What a unit of distance to the mixture, of error above its own, and of violation costs, and what
#: any violation costs besides, beyond rounding: a rule within the bounds is worth a little error.
_DISTANCE, _ERROR, _VIOLATION, _UNMET, _MET = 0.1, 2.0, 5.0, 2e-3, 1e-10
#: Searches along a line from one start, and how many in a row may find nothing.
_LINES, _IDLE = 200, 40
#: Starts between others, where these lead nowhere.
_RETRIES = 24
#: Cuts that are closer than this, relative to their distance from zero, are ties.
_TIE = 1e-9
#: Gains in cost below this are rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Criteria:
    """What a rule is judged by: sums over the people whom it selects.

    Attributes
    ----------
    gain : array of shape (n, 2 + R)
        What selecting a person adds to the distance to the mixture, to the error and to each of R
        inequalities.
    offset : array of shape (2 + R,)
        The sums when nobody is selected.
    low, high : array of shape (R,)
        Bounds of the inequalities.
    error : float
        The mixture's.
    """

    gain: Array
    offset: Array
    low: Array
    high: Array
    error: float

    def sums(self, selected: Mask) -> Array:
        """Return distance, error and inequalities of a rule: shape (2 + R,)."""
        return self.offset + self.gain[selected].sum(axis=0)

    def violation(self, sums: Array) -> Array:
        """Return by how much the worst bound is exceeded, negative if none is, from `sums`."""
        rows = sums[..., 2:]
        above = np.maximum(rows - self.high, self.low - rows)
        return above.max(axis=-1, initial=-np.inf)

    def cost(self, sums: Array) -> Array:
        """Return the cost of sums, which is minimised."""
        dearer, excess = np.maximum(sums[..., 1] - self.error, 0.0), self.violation(sums)
        unmet = np.where(excess > _MET, _UNMET + _VIOLATION * excess, 0.0)
        return _DISTANCE * sums[..., 0] + _ERROR * dearer + unmet

    def of_sample(self, rows: NDArray[np.intp], mixed: Array) -> Criteria:
        """Return the criteria with some of the people in place of all.

        The sums of the mixture, which selects people with the chances ``mixed``, stay those of all
        people. A sample then errs only about those whom a rule decides on differently.
        """
        gain = self.gain[rows] * (len(self.gain) / len(rows))
        offset = self.offset + mixed @ self.gain - mixed[rows] @ gain
        return replace(self, gain=gain, offset=offset)

    def stacked(self, other: Criteria) -> Criteria:
        """Return the criteria of a rule that is to keep the bounds of both, on rows of both.

        Distance and error are those of the first alone.
        """
        n, R = len(self.gain), len(self.low)
        gain = np.zeros((n + len(other.gain), 2 + R + len(other.low)))
        gain[:n, : 2 + R] = self.gain
        gain[n:, 2 + R :] = other.gain[:, 2:]
        return Criteria(
            gain,
            np.append(self.offset, other.offset[2:]),
            np.append(self.low, other.low),
            np.append(self.high, other.high),
            self.error,
        )


def directions_of(game: Lagrangian, s: Array) -> tuple[Array, Array, Array]:
    """Return the inequalities of a game as R different slopes (R, C) with their bounds (R,).

    Rows that differ in sign alone are the two sides of one. Bounds are loosened to what the shares
    ``s`` of a mixture have, where that is more.
    """
    most = np.maximum(game.c, game.gamma(s)) - game.gamma_offset
    slopes: dict[bytes, int] = {}
    kept, low, high = list[Array](), list[float](), list[float]()
    for slope, bound in zip(np.asarray(game.gamma_slope), most, strict=True):
        if not slope.any():
            continue
        sign = np.sign(slope[np.flatnonzero(slope)[0]])
        key = (np.round(sign * slope, 12) + 0.0).tobytes()
        if key not in slopes:
            slopes[key] = len(kept)
            kept.append(sign * slope)
            low.append(-np.inf)
            high.append(np.inf)
        k = slopes[key]
        if sign > 0:
            high[k] = min(high[k], float(bound))
        else:
            low[k] = max(low[k], float(-bound))
    return np.reshape(kept, (len(kept), len(game.error_slope))), np.array(low), np.array(high)


def search_line(scores: Array, slopes: Array, criteria: Criteria) -> tuple[float, float]:
    """Return the least cost of the rules ``scores + a slopes > 0``, and a step a that has it.

    Cuts inside of ties are skipped: people of equal scores are decided alike.

    >>> people = Criteria(np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([0.0, 0.5]),
    ...                   np.zeros(0), np.zeros(0), -0.5)
    >>> search_line(np.array([1.0, 2.0]), np.array([-1.0, -1.0]), people)  # the second one alone
    (0.0, 1.5)
    """
    moving = np.abs(slopes) > 1e-12 * np.abs(slopes).max(initial=0.0)
    if not moving.any():
        return np.inf, 0.0
    gain = criteria.gain
    start = criteria.offset
    if not moving.all():
        start = criteria.sums((scores > 0) & ~moving)
        gain = gain[moving]
        scores = scores[moving]
        slopes = slopes[moving]
    at = -scores / slopes
    order = np.argsort(at)
    at = at[order]
    sums = np.empty((gain.shape[1], len(at) + 1))
    sums[:, 0] = start + (slopes < 0) @ gain
    np.cumsum(np.take(gain, order, axis=0).T * np.sign(slopes)[order], axis=1, out=sums[:, 1:])
    sums[:, 1:] += sums[:, :1]
    ends = np.concatenate([[-np.inf], at, [np.inf]])
    size = 1.0 + np.abs(np.concatenate([[0.0], at]))
    with np.errstate(invalid="ignore"):
        is_cut = ~(ends[1:] - ends[:-1] <= _TIE * size)
    cost = np.where(is_cut, criteria.cost(sums.T), np.inf)
    best = int(cost.argmin())
    low, high = ends[best], ends[best + 1]
    if np.isfinite(low) and np.isfinite(high):
        step = (low + high) / 2
    else:
        step = high - 1.0 if np.isfinite(high) else low + 1.0
    return float(cost[best]), float(step)


def find_cut(
    B: Array,
    starts: Sequence[Array],
    criteria: Criteria,
    rng: np.random.Generator,
    enough: float,
    *,
    lines: int = _LINES,
    retries: int = _RETRIES,
) -> Array:
    """Return theta of the rule ``B theta > 0`` of least cost that searches along lines find.

    Parameters
    ----------
    B : array of shape (n, q)
    starts : sequence of arrays of shape (q,)
    enough : float
        The error that a rule may have: within it and the bounds, no further starts are tried.
    lines, retries : int
        Searches from each start, and further starts between the given ones.
    """
    known = [_unit(start) for start in starts if np.any(start)]
    best, least = known[0], np.inf

    def is_good() -> bool:
        sums = criteria.sums(B @ best > 0)
        return bool(criteria.violation(sums) <= _MET and sums[1] <= enough)

    def further() -> Iterator[Array]:
        for _ in range(retries):
            noise = 0.05 * rng.normal(size=B.shape[1])
            yield _unit(rng.dirichlet(np.ones(len(known))) @ np.array(known) + noise)

    for start in chain(known, further()):
        theta, cost = _descend(B, start, criteria, _lines(start, known, rng, lines))
        if cost < least:
            best, least = theta, cost
            if is_good():
                break
    return best


def _lines(
    start: Array, others: Sequence[Array], rng: np.random.Generator, n_lines: int
) -> Iterator[Array]:
    """Yield directions: to the other starts, then axes and random ones in turn, last axis first."""
    axes = np.eye(len(start))[::-1]
    yield axes[0]
    yield from (other - start for other in others if other is not start)
    for number in range(n_lines):
        yield axes[number // 2 % len(axes)] if number % 2 else rng.normal(size=len(start))


def _descend(
    B: Array, theta: Array, criteria: Criteria, lines: Iterable[Array]
) -> tuple[Array, float]:
    scores = B @ theta
    cost, idle = float(criteria.cost(criteria.sums(scores > 0))), 0
    for line in lines:
        slopes = B @ line
        found, step = search_line(scores, slopes, criteria)
        idle += 1
        if found < cost - _ROUNDING:
            new = _unit(theta + step * line)
            moved = B @ new
            found = float(criteria.cost(criteria.sums(moved > 0)))  # rounding at ties
            if found < cost - _ROUNDING:
                theta, scores, cost, idle = new, moved, found, 0
        if idle > _IDLE:
            break
    return theta, cost


def _unit(theta: Array) -> Array:
    return theta / max(float(np.linalg.norm(theta)), 1e-300)
