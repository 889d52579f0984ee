"""Tests that one inequality between rates holds in the population, from counts alone.

An inequality is ``a . p <= c``, where p are the rates of disjoint strata. The null hypothesis is
that it does not hold, ``a . p >= c``; a small p-value proves it. Counts may be fractional where
decisions count in expectation: their sum varies less than that of drawn ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaln, ndtr, xlog1py, xlogy
from scipy.stats import binom

from equipoise.cells.table import Array

#: Steps of the bisection for the multiplier: it ends far below rounding of rates.
_STEPS = 60
#: The nuisance rate is searched within an interval of this error probability, which is added to the
#: p-value (Berger and Boos 1994). Counts of less probability than the second number are left out,
#: and added as well. Rates next to 0 and 1 are not searched: those that are differ from them by at
#: most the third number in total variation, which is added, too.
_OUTSIDE, _NEGLIGIBLE, _EDGE = 1e-4, 1e-9, 1e-4
#: The distance of two nuisance rates that are searched, in standard errors; shorter near the ends.
_STEP = 0.12


def most_likely_rates(x: ArrayLike, n: ArrayLike, a: ArrayLike, c: ArrayLike) -> Array:
    """Return the most likely rates of all that satisfy ``a . p = c``: shape (..., S).

    Where no rates do, those that come closest are returned.

    Parameters
    ----------
    x, n, a : arrays of shape (..., S)
        Successes and people of each stratum, and its coefficient; zero for a stratum that does not
        count.
    c : array of shape (...,)

    Examples
    --------
    >>> most_likely_rates([10, 30], [50, 100], [1, -1], 0.05).round(4).tolist()
    [0.3036, 0.2536]
    """
    successes, people, factors = _arrays(x, n, a)
    return _most_likely(successes, people, factors, np.asarray(c, dtype=float))


def _arrays(*values: ArrayLike) -> list[Array]:
    return list(np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in values)))


def _most_likely(x: Array, n: Array, a: Array, c: Array) -> Array:
    c, used = np.broadcast_to(c, x.shape[:-1]), a != 0
    if used.all() and x.shape[-1] == 2:
        return _two_most_likely(x, n, a, c)
    # At this multiplier every rate is within 1e-6 of its end, whatever was observed.
    reach = 1e6 * np.max(np.where(used, n, 0.0), axis=-1, initial=0.0) + 1.0
    reach = reach / np.min(np.where(used, np.abs(a), np.inf), axis=-1, initial=1e6)
    low, high = -reach, reach
    for _ in range(_STEPS):
        # Bisection over t^3: multipliers near zero matter as well as those that are huge.
        middle = (np.cbrt(low) + np.cbrt(high)) / 2
        t = middle**3
        above = (a * _rates_at(t, x, n, a)).sum(axis=-1) > c
        low, high = np.where(above, t, low), np.where(above, high, t)
    return _rates_at((low + high) / 2, x, n, a)


def _rates_at(t: Array, x: Array, n: Array, a: Array) -> Array:
    """Return the most likely rates for one multiplier: roots of t a p^2 - (n + t a) p + x = 0."""
    pull = t[..., None] * a
    b = n + pull
    root = np.sqrt(np.maximum(b * b - 4 * pull * x, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(b >= 0, 2 * x / (b + root), (b - root) / (2 * pull))
    return np.fmin(np.fmax(p, 0.0), 1.0)  # without an observation NaN, which is 0 here


def _two_most_likely(x: Array, n: Array, a: Array, c: Array) -> Array:
    """Return the rates of two strata: with u the first and v + w u the second, roots of a cubic.

    Times rates that are positive inside, the slope of the log-likelihood along the line is a cubic
    in u, above zero on its left end and below on its right. Its leading coefficient is positive, so
    that the root between is the middle one of three.
    """
    (x1, x2), (n1, n2), (a1, a2) = ((each[..., 0], each[..., 1]) for each in (x, n, a))
    c = np.clip(c, *reach_of(a))
    v, w = c / a2, -a1 / a2
    above = x2 - n2 * v
    cubic = w * w * (n1 + n2)
    k2 = (-w * w * (x1 + n2) - n1 * w * (1 - 2 * v) - w * above) / cubic
    k1 = (x1 * w * (1 - 2 * v) - n1 * v * (1 - v) + w * above) / cubic
    k0 = x1 * v * (1 - v) / cubic
    spread = np.sqrt(np.maximum(k2 * k2 / 9 - k1 / 3, 0.0))
    turn = (k2**3 / 27 - k2 * k1 / 6 + k0 / 2) / np.maximum(spread**3, 1e-300)
    angle = (np.arccos(np.clip(turn, -1.0, 1.0)) - 2 * np.pi) / 3
    u = -2 * spread * np.cos(angle) - k2 / 3
    one, other = -v / w, (1 - v) / w  # where the second rate is 0 and 1
    low, high = np.minimum(one, other), np.maximum(one, other)
    u = np.minimum(np.maximum(u, np.maximum(low, 0.0)), np.minimum(high, 1.0))
    return np.clip(np.stack([u, v + w * u], axis=-1), 0.0, 1.0)


def score_p(x: ArrayLike, n: ArrayLike, a: ArrayLike, c: ArrayLike) -> Array:
    """Return the p-value of the score test that ``a . p <= c``: shape (...,).

    The standard error is that of the most likely rates at the bound (Miettinen and Nurminen 1985
    for differences and ratios), not of those observed: a rate of zero is no proof.

    Examples
    --------
    >>> float(score_p([300, 400], [1000, 1000], [1, -1], 0.0).round(7))  # well below
    1.4e-06
    >>> float(score_p([0, 0], [20, 20], [1, -1], 0.05).round(3))  # nobody selected, of few
    0.152
    """
    successes, people, factors = _arrays(x, n, a)
    bound = np.asarray(c, dtype=float)
    p = _most_likely(successes, people, factors, bound)
    variance = (np.square(factors) * p * (1 - p) / people).sum(axis=-1)
    room = bound - (factors * successes / people).sum(axis=-1)
    return p_of(room, variance, *reach_of(factors), bound)


def reach_of(a: Array) -> tuple[Array, Array]:
    """Return the least and the largest value of ``a . p`` over all rates."""
    return np.minimum(a, 0).sum(axis=-1), np.maximum(a, 0).sum(axis=-1)


def p_of(room: Array, variance: Array, least: Array, most: Array, c: Array) -> Array:
    """Return the p-value of a room below the bound; 0 and 1 where no rates could be otherwise."""
    z = room / np.sqrt(np.maximum(variance, 1e-300))
    return np.where(most < c, 0.0, np.where(least > c, 1.0, ndtr(-z)))


def exact_p(x: ArrayLike, n: ArrayLike, a: ArrayLike, c: float) -> float:
    """Return the exact p-value that ``a . p <= c`` for one or two strata of whole counts.

    For two strata, tables are ordered by the score test, and the probability of one as extreme as
    this is made largest over the nuisance rate, within an interval for it (Berger and Boos 1994).
    What a grid of nuisance rates can miss is bounded, and added.

    Examples
    --------
    >>> round(exact_p([3], [60], [1], 0.15), 4)  # P[X <= 3], X binomial (60, 0.15)
    0.0148
    >>> round(exact_p([20, 40], [100, 150], [1, -1], 0.05), 4)
    0.0194
    """
    strata = np.array(_arrays(x, n, a))
    strata = strata[:, strata[2] != 0]
    least, most = reach_of(strata[2])
    if most < c or least > c or not strata.size:
        return float(least > c)
    if strata.shape[1] > 2:
        raise ValueError(f"got {strata.shape[1]} strata; the exact test is for one or two.")
    if strata.shape[1] == 1:
        (count,), (people,), (factor,) = strata
        law = binom(people, c / factor)
        return float(law.cdf(count) if factor > 0 else law.sf(count - 1))
    if strata[1, 0] > strata[1, 1]:  # the nuisance rate is that of the larger one, known better
        strata = strata[:, ::-1]
    return _two_strata(strata[0], strata[1], strata[2], float(c))


def share_limits(count: float, people: float, error: float) -> tuple[float, float]:
    """Return limits of a binomial rate that are wrong with a probability of at most ``error``.

    Examples
    --------
    >>> low, high = share_limits(30, 100, 0.05)  # Clopper and Pearson
    >>> round(low, 3), round(high, 3)
    (0.212, 0.4)
    """
    low = betaincinv(count, people - count + 1, error / 2) if count > 0 else 0.0
    high = betaincinv(count + 1, people - count, 1 - error / 2) if count < people else 1.0
    return float(low), float(high)


def _two_strata(x: Array, n: Array, a: Array, c: float) -> float:
    low, high = share_limits(x[1], n[1], _OUTSIDE)
    ends = np.sort([(c - a[0]) / a[1], c / a[1]])  # the first rate is one, too
    low = max(low, ends[0])
    high = min(high, ends[1])
    if low > high:
        return _OUTSIDE
    grid, curvature = _nuisance_rates(low, high, n, a, c)
    if not len(grid):
        return 1.0
    first = np.clip((c - a[1] * grid) / a[0], 0.0, 1.0)
    counts = _likely_counts(n[1], grid)
    limit = _critical_counts(x, counts, n, a, c).astype(int)
    ones = _likely_counts(n[0], first)
    below = np.cumsum(_chances(ones, n[0], first), axis=1)
    below = np.column_stack([np.zeros(len(grid)), below, np.ones(len(grid))])
    at = np.clip(limit - int(ones[0]) + (1 if a[0] > 0 else 0), 0, len(ones) + 1)
    tail = below[:, at] if a[0] > 0 else 1 - below[:, at]
    found = float((_chances(counts, n[1], grid) * tail).sum(axis=1).max())
    missed = _OUTSIDE + 2 * _NEGLIGIBLE + _EDGE
    between = min(found + 0.02, 0.5)  # no less than the probability between two points
    return float(min(found + missed + np.sqrt(between * (1 - between)) * curvature, 1.0))


def _nuisance_rates(low: float, high: float, n: Array, a: Array, c: float) -> tuple[Array, float]:
    """Return rates of the second stratum to search, and what they miss, over sqrt(f (1 - f)).

    Along the line a . p = c, in units of the standard error, the probability f of any set of tables
    has a second derivative of at most sqrt(f (1 - f)) D, with D = sqrt(2 + the larger squared
    skewness / 4) + the curvature of the line in arcsine coordinates. So two points at a distance h
    miss at most sqrt(f (1 - f)) D h^2 / 8 of the maximum between them. They are even in h sqrt(D).
    """
    slope = np.array([-a[1] / a[0], 1.0])  # of both rates
    edge = np.abs(slope) * _EDGE / (n @ np.abs(slope))
    ends = np.sort([(c - a[0] * edge[0]) / a[1], (c - a[0] * (1 - edge[0])) / a[1]])
    least = max(ends[0], edge[1])
    most = min(ends[1], 1 - edge[1])
    if least > most:
        return np.empty(0), 0.0
    low = min(max(low, least), most)
    high = min(max(high, least), most)
    angle = np.linspace(np.arcsin(np.sqrt(low)), np.arcsin(np.sqrt(high)), 400)
    u = np.clip(np.sin(angle) ** 2, low, high)
    p = np.stack([np.clip((c - a[1] * u) / a[0], edge[0], 1 - edge[0]), u])
    variance = p * (1 - p)
    slope = slope[:, None]
    pace = slope * np.sqrt(n[:, None] / variance)  # of the arcsine coordinates
    turn = -pace * slope * (1 - 2 * p) / (2 * variance)
    speed = np.sqrt((pace**2).sum(axis=0))
    bend = np.abs(pace[0] * turn[1] - pace[1] * turn[0]) / speed**3
    skewness = ((1 - 2 * p) ** 2 / (n[:, None] * variance)).max(axis=0)
    D = np.sqrt(2 + skewness / 4) + bend
    length = np.concatenate([[0.0], ((speed[1:] + speed[:-1]) / 2 * np.diff(u)).cumsum()])
    worth = np.concatenate([[0.0], (np.sqrt(np.maximum(D[1:], D[:-1])) * np.diff(length)).cumsum()])
    points = max(int(np.ceil(worth[-1] / (_STEP * 2**0.25))) + 1, 2)
    at = np.linspace(0.0, worth[-1], points)
    between = np.searchsorted(at, worth, side="right") - 1
    largest = np.zeros(points)
    np.maximum.at(largest, between, D)
    np.maximum.at(largest, np.maximum(between - 1, 0), D)
    h = np.diff(np.interp(at, worth, length))
    return np.interp(at, worth, u), float((largest[:-1] * h**2).max() / 8)


def _likely_counts(n: float, rates: Array) -> Array:
    """Return all counts but those that are negligible at every rate."""
    low = binom.ppf(_NEGLIGIBLE / 4, n, rates.min())
    high = binom.ppf(1 - _NEGLIGIBLE / 4, n, rates.max())
    return np.arange(max(low - 1, 0.0), min(high + 1, n) + 1)


def _chances(counts: Array, n: float, rates: Array) -> Array:
    """Return the binomial probability of each count (M,) at each rate (P,): shape (P, M)."""
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    p = rates[:, None]
    return np.exp(ways + xlogy(counts, p) + xlog1py(n - counts, -p))


def _critical_counts(x: Array, counts: Array, n: Array, a: Array, c: float) -> Array:
    """Return the last count of the first stratum as extreme as ``x``, for each of the second.

    The p-value grows with the first count where its coefficient is positive, and falls where not.
    The search starts where a . p is as observed, and reaches twice as far with each step until it
    has a count on either side.
    """
    level = float(score_p(x, n, a, c)) * (1 + 1e-9)
    sign = 1.0 if a[0] > 0 else -1.0
    inside = np.full(len(counts), -1.0 if sign > 0 else n[0] + 1)
    outside = np.full(len(counts), n[0] + 1 if sign > 0 else -1.0)
    plane = (float(a @ (x / n)) - a[1] * counts / n[1]) / a[0] * n[0]
    middle = np.clip(np.round(plane), 0, n[0])
    reach = 4.0
    while (wide := np.abs(outside - inside) > 1).any():
        table = np.stack([middle, counts], axis=-1)
        extreme = score_p(table, n, a, np.full(len(counts), c)) <= level
        inside = np.where(wide & extreme, middle, inside)
        outside = np.where(wide & ~extreme, middle, outside)
        half = np.floor((inside + outside) / 2)
        step = middle + np.where(extreme, sign, -sign) * reach
        between = (step - inside) * (step - outside) < 0
        middle = np.clip(
            np.where(between & (np.abs(outside - inside) > 2 * reach), step, half), 0, n[0]
        )
        reach *= 2
    return inside
