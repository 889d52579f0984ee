"""The goal bet: a test that a row holds for any strata and outcomes, at level alpha for every n.

A row is ``a . p <= c`` with means p of outcomes in [low, high]; the null hypothesis is that it does
not hold, ``a . p >= c``. People are divided into blocks in an order that knows no outcome. In block
b, with m_s people of stratum s, let q be means with ``a . q <= c`` and t >= 0 a stake, both chosen
from earlier blocks. Then

    W_b = product over people i of  1 + t (a_s / m_s) (q_s - x_i)

has mean <= exp(t (a . q - a . p)) <= 1 under the null hypothesis, so that capital starting at 1
ever reaches 1 / alpha with a probability of at most alpha (Ville). Stakes decide about power alone.
They are those of somebody who must reach 1 / alpha with the last block (Browne 1999): in the limit
of small blocks this is the z-test. `units_p` bets on households or on people with weights: on a
kernel of independent units in place of single outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from equipoise.cells.table import Array

#: The capital to reach is so many times 1 / alpha, since blocks overshoot or fall short.
_GOAL = 1.08
#: People that the means and variances known before the first block are worth.
_PRIOR_PEOPLE = 100.0
#: Blocks at most; no outcome of one person leaves less than this share of the capital.
_BLOCKS, _LEAST_FACTOR = 300, 0.02
#: Tuples of units that the variance known before the first of them is worth.
_PRIOR_TUPLES = 20.0


def goal_p(
    outcomes: Sequence[ArrayLike],
    a: ArrayLike,
    c: float,
    alpha: float,
    *,
    prior: ArrayLike,
    variance: ArrayLike | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> Array:
    """Return p-values that ``a . p <= c`` for means of strata: shape (T,), valid at any n.

    Parameters
    ----------
    outcomes : sequence of arrays of shape (T, n_s)
        For each stratum, the outcomes of its people under T candidates, in an order that does not
        depend on them, such as one by a seed.
    a : array of shape (S,)
        Coefficients of the strata.
    c : float
    alpha : float
        The level at which the row is to be proven: stakes are made for it. Other levels may be
        read off, with less power.
    prior : array of shape (S,) or (T, S)
        Means that are expected, such as those of the fit; they move power, never validity.
    variance : array of shape (S,), optional
        Variances that are expected; by default those of outcomes that are ``low`` or ``high``.
    low, high : float
        Outcomes are in between.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> F, M, X = (rng.random((1, n)) for n in (2000, 2000, 800))
    >>> p = goal_p([F < 0.30, M < 0.33, X < 0.31], [-1.0, 0.5, 0.5], 0.1, 0.05, prior=[0.3] * 3)
    >>> bool(p[0] <= 0.05)
    True
    """
    people = [np.atleast_2d(np.asarray(values, dtype=float)) for values in outcomes]
    factors = np.asarray(a, dtype=float)
    T = len(people[0])
    if np.where(factors > 0, high, low) @ factors <= c:
        return np.zeros(T)
    sizes = [values.shape[1] for values in people]
    if min(sizes) == 0:
        return np.ones(T)
    blocks = min(sizes) // -(-min(sizes) // _BLOCKS)
    edges = [np.arange(blocks + 1) * n // blocks for n in sizes]
    m = np.stack([np.diff(edge) for edge in edges], axis=1).astype(float)
    first = np.clip(np.broadcast_to(prior, (T, len(sizes))).astype(float), low, high)
    expected = (first - low) * (high - first) if variance is None else np.asarray(variance)
    mean, spread = _expected(people, edges, m, first, expected + first**2)
    to_come = (1 / m)[::-1].cumsum(axis=0)[::-1]
    wealth = _Wealth(T, alpha)
    for b in range(blocks):
        q = _on_line(mean[:, b], factors, spread[:, b] / m[b], c, low, high)
        usual = np.maximum((mean[:, b] - low) * (high - mean[:, b]), 1e-6)
        at_line = np.clip((q - low) * (high - q) / usual, 0.25, 25)
        risk = spread[:, b] * (1 + at_line) / 2
        loss = (np.abs(factors) / m[b] * np.where(factors > 0, high - q, q - low)).max(axis=1)
        stake = wealth.stake(risk * to_come[b] @ factors**2, loss)
        for s, values in enumerate(people):
            block = values[:, edges[s][b] : edges[s][b + 1]]
            share = stake * factors[s] / m[b, s]
            wealth.bet(share[:, None] * (q[:, s, None] - block))
    return wealth.p_values


def units_p(
    w: ArrayLike,
    u: ArrayLike,
    a: ArrayLike,
    c: float,
    alpha: float,
    cap: float,
    *,
    is_disjoint: bool = False,
    is_single: bool = False,
) -> Array:
    """Return p-values that ``a . p <= c`` for rates p of independent units, valid at any n.

    Units are persons with weights, households, or ids with several rows: ``p_k = E u_k / E w_k``
    over a population of units that weigh no more than ``cap``. For K different units

        Z = c w_1 ... w_K - sum over k of a_k u_k (product of the other w)

    has mean <= 0 where the row does not hold, whatever the weights are; 1 + t Z is bet on over
    tuples of units, each used once.

    Parameters
    ----------
    w : array of shape (K, N)
        What each of N units weighs in each of K rates, in an order that knows no outcome.
    u : array of shape (T, K, N)
        The part of it that is selected, under T candidates, from 0 to w.
    a : array of shape (K,)
    c, alpha : float
        As for `goal_p`.
    cap : float
        The most that a unit weighs, fixed before these units were looked at.
    is_disjoint, is_single : bool
        Whether nobody counts in two of the rates, and whether no unit does.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> size = rng.integers(1, 4, 4000)
    >>> women = rng.binomial(size, 0.5)
    >>> w = np.stack([women, size - women])
    >>> u = w * (rng.random(4000) < 0.3)  # all of a household are decided alike
    >>> bool(units_p(w, u[None], [1.0, -1.0], 0.1, 0.05, cap=3, is_disjoint=True)[0] <= 0.05)
    True
    """
    weights = np.asarray(w, dtype=float)
    selected = np.asarray(u, dtype=float)
    factors = np.asarray(a, dtype=float)
    top = np.maximum(factors, 0).sum() - c
    if top <= 0:
        return np.zeros(len(selected))
    Z = (_of_strata if is_single else _of_tuples)(weights, selected, factors, c)
    n = Z.shape[1]
    most = 1 / len(factors) if is_disjoint and not is_single else 1.0
    worst = np.full(len(Z), top * most * cap ** len(factors))
    # Before the first tuple, outcomes are taken to be as good as coins.
    usual = float(np.prod(np.square(weights).mean(axis=1)) * np.square(factors).sum() / 4)
    squares = np.full(len(Z), _PRIOR_TUPLES * usual)
    wealth = _Wealth(len(Z), alpha)
    for start, end in pairwise(np.unique(np.arange(_BLOCKS + 1) * n // _BLOCKS)):
        block = Z[:, start:end]
        variance = squares / (_PRIOR_TUPLES + start)
        stake = wealth.stake(variance * (n - start), worst)
        wealth.bet(stake[:, None] * block)
        squares += np.square(block).sum(axis=1)
    return wealth.p_values


class _Wealth:
    """The capital of T bets, and the stakes that reach 1 / alpha by the last block."""

    def __init__(self, T: int, alpha: float) -> None:
        self.alpha = alpha
        self.log = np.zeros(T)
        self.best = np.zeros(T)

    def stake(self, variance: Array, loss: Array) -> Array:
        """Return the stakes for a sum to come with this variance; ``loss`` of a stake of 1."""
        u = np.clip(np.exp(self.log) * self.alpha / _GOAL, 1e-9, 1 - 1e-6)
        density = np.exp(-(ndtri(u) ** 2) / 2) / np.sqrt(2 * np.pi)
        stake = density / u / np.sqrt(np.maximum(variance, 1e-300))
        stake = np.minimum(stake, (1 - _LEAST_FACTOR) / np.maximum(loss, 1e-300))
        return np.where(self.log >= -np.log(self.alpha), 0.0, stake)

    def bet(self, gains: Array) -> None:
        """Multiply the capital by 1 + gains, of shape (T, people)."""
        self.log = self.log + np.log1p(gains).sum(axis=1)
        self.best = np.maximum(self.best, self.log)

    @property
    def p_values(self) -> Array:
        """One over the largest capital ever reached."""
        return np.exp(-self.best)


def _expected(
    people: list[Array],
    edges: list[NDArray[np.intp]],
    m: Array,
    first: Array,
    second: Array,
) -> tuple[Array, Array]:
    """Return means and variances of the strata as known before each block: shape (T, B, S).

    ``first`` and ``second`` are the means of outcomes and of their squares that are expected.
    """
    pairs = list(zip(people, edges, strict=True))
    sums = np.stack([np.add.reduceat(x, edge[:-1], axis=1) for x, edge in pairs], axis=2)
    squares = np.stack([np.add.reduceat(x * x, edge[:-1], axis=1) for x, edge in pairs], axis=2)
    counted = _PRIOR_PEOPLE + m.cumsum(axis=0) - m
    mean = (_PRIOR_PEOPLE * first[:, None] + sums.cumsum(axis=1) - sums) / counted
    square = (_PRIOR_PEOPLE * second[:, None] + squares.cumsum(axis=1) - squares) / counted
    return mean, np.clip(square - mean**2, 1e-6, None)


def _on_line(p: Array, a: Array, variance: Array, c: float, low: float, high: float) -> Array:
    """Return the means nearest to p with a . q = c; with a . q <= c where some are clipped."""
    move = (c - p @ a) / (variance @ a**2)
    q = np.clip(p + a * variance * move[:, None], low, high)
    for s in np.flatnonzero(a):
        excess = np.maximum(q @ a - c, 0.0)
        q[:, s] = np.clip(q[:, s] - excess / a[s], low, high)
    return q


def _of_tuples(w: Array, u: Array, a: Array, c: float) -> Array:
    """Return Z of K units each, as they come, the mean over their places: shape (T, tuples)."""
    K = len(w)
    size = w.shape[1] // K
    turns = []
    for turn in range(K):
        parts = [slice(size * ((k + turn) % K), size * ((k + turn) % K + 1)) for k in range(K)]
        means = [w[k, part] for k, part in enumerate(parts)]
        chosen = [u[:, k, part] for k, part in enumerate(parts)]
        turns.append(_combined(means, chosen, a, c))
    return np.mean(turns, axis=0)


def _of_strata(w: Array, u: Array, a: Array, c: float) -> Array:
    """Return Z of units that count in one rate only, as many means of each: shape (T, tuples)."""
    members = [np.flatnonzero(row > 0) for row in w]
    tuples = min(len(at) for at in members)
    if tuples == 0:
        return np.empty((len(u), 0))
    means, chosen = [], []
    for k, at in enumerate(members):
        edges = np.arange(tuples) * len(at) // tuples
        size = np.diff(edges, append=len(at))
        means.append(np.add.reduceat(w[k, at], edges) / size)
        chosen.append(np.add.reduceat(u[:, k, at], edges, axis=1) / size)
    return _combined(means, chosen, a, c)


def _combined(w: Sequence[Array], u: Sequence[Array], a: Array, c: float) -> Array:
    """Return c times the product of w, less each a u times the product of the other w."""
    Z = np.full_like(u[0], c) * np.prod(w, axis=0)
    for k, factor in enumerate(a):
        others = [row for j, row in enumerate(w) if j != k]
        Z -= factor * u[k] * np.prod(others, axis=0) if others else factor * u[k]
    return Z
