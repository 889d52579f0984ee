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
#: The exact test searches the nuisance rate within an interval of this error probability, which is
#: added to the p-value (Berger and Boos 1994), on so many points; counts of less probability than
#: the last number are left out, and added as well.
_OUTSIDE, _POINTS, _NEGLIGIBLE = 1e-4, 61, 1e-9


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

    Examples
    --------
    >>> round(exact_p([3], [60], [1], 0.15), 4)  # P[X <= 3], X binomial (60, 0.15)
    0.0148
    >>> round(exact_p([20, 40], [100, 150], [1, -1], 0.05), 4)
    0.0188
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


def _two_strata(x: Array, n: Array, a: Array, c: float) -> float:
    low = betaincinv(x[1], n[1] - x[1] + 1, _OUTSIDE / 2) if x[1] > 0 else 0.0
    high = betaincinv(x[1] + 1, n[1] - x[1], 1 - _OUTSIDE / 2) if x[1] < n[1] else 1.0
    # Rates on the line: those of the first stratum must be rates, too.
    ends = np.sort([(c - a[0]) / a[1], c / a[1]])
    nuisance = np.linspace(max(low, ends[0], 0.0), min(high, ends[1], 1.0), _POINTS)
    if max(low, ends[0], 0.0) > min(high, ends[1], 1.0):
        return _OUTSIDE
    first = np.clip((c - a[1] * nuisance) / a[0], 0.0, 1.0)
    counts = np.arange(
        binom.ppf(_NEGLIGIBLE / 4, n[1], nuisance.min()),
        binom.ppf(1 - _NEGLIGIBLE / 4, n[1], nuisance.max()) + 1,
    )
    limit = _critical_counts(float(score_p(x, n, a, c)), counts, n, a, c).astype(int)
    below = np.cumsum(_chances(np.arange(n[0] + 1), n[0], first), axis=1)
    below = np.column_stack([np.zeros(_POINTS), below, np.ones(_POINTS)])  # of -1 up to n + 1
    tail = below[:, limit + 1] if a[0] > 0 else 1 - below[:, limit]
    found = (_chances(counts, n[1], nuisance) * tail).sum(axis=1).max()
    return min(float(found) + _OUTSIDE + _NEGLIGIBLE, 1.0)


def _chances(counts: Array, n: float, rates: Array) -> Array:
    """Return the binomial probability of each count (M,) at each rate (P,): shape (P, M)."""
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    p = rates[:, None]
    return np.exp(ways + xlogy(counts, p) + xlog1py(n - counts, -p))


def _critical_counts(p: float, counts: Array, n: Array, a: Array, c: float) -> Array:
    """Return the last count of the first stratum whose p-value is at most ``p``, for each second.

    The p-value grows with the first count where its coefficient is positive, and falls where not.
    """
    sign = 1.0 if a[0] > 0 else -1.0
    # From a count that is extreme enough, or one beyond the end, to one that is not.
    inside = np.full(len(counts), -1.0 if sign > 0 else n[0] + 1)
    outside = np.full(len(counts), n[0] + 1 if sign > 0 else -1.0)
    while (np.abs(outside - inside) > 1).any():
        middle = np.clip(np.floor((inside + outside) / 2), 0, n[0])
        table = np.stack([middle, counts], axis=-1)
        extreme = score_p(table, n, a, np.full(len(counts), c)) <= p * (1 + 1e-9)
        open_ = np.abs(outside - inside) > 1
        inside = np.where(open_ & extreme, middle, inside)
        outside = np.where(open_ & ~extreme, middle, outside)
    return inside
