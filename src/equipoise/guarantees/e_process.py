"""Betting e-processes: evidence against linear rows a . p <= c that may be looked at every day.

p are the rates of disjoint strata of people. A day is a block with n_s people in stratum s, known
before their outcomes x_i in [0, 1]. For any rates q with a . q >= c and any stake t >= 0 that are
chosen before the outcomes of the day are seen,

    E = product over people i of  1 + t (a_s / n_s) (x_i - q_s)

has mean <= exp(t (a . p - a . q)) <= 1 while a . p <= c, however p moves from day to day. So the
running product exceeds 1 / delta, on whatever day, with probability at most delta (Ville).
Sums of outcomes suffice: x log(1 + f (1 - q)) + (1 - x) log(1 - f q) <= log(1 + f (x - q)) for
outcomes between 0 and 1, with equality at 0 and 1, so that E is never overstated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from equipoise.cells.table import Array

#: How many people of a stratum the rates known at the start are worth.
PRIOR_PEOPLE = 50.0
#: No outcome of one person divides the capital by more than five.
LEAST_FACTOR = 0.2
#: The drifts bet on, as shares of the one that should be found, and the capital of each.
DRIFTS, DRIFT_SHARES = np.array([0.25, 0.5, 1.0]), np.array([0.05, 0.15, 0.8])
#: The share of the capital that is put at stake on the first day; of the others (1 + I / LATER) to
#: the power -DECAY is kept while I is known of a row: the expected logarithm of the factor that a
#: bet on the right drift would have gained. `benchmarks/monitor_constants.py` compares others.
FIRST, LATER, DECAY = 0.15, 20.0, 1.5
_RATES, _LINE = (0.005, 0.995), (0.002, 0.998)


class EProcess:
    """Evidence against rows a . p <= c, a value for each; capital grows where they do not hold.

    Every value starts at 1. Capital is divided among the drifts in `DRIFTS`, and among the times at
    which the row may have begun to fail. Time is what could have been learned, I: on a day with
    variance v of a . p it grows by detect^2 / (2 v), so that many people make a long day. `FIRST`
    of the capital is put at stake on the first day, the rest as I grows. A day on which a stratum
    of the row has nobody does not move it.

    Parameters
    ----------
    a : array of shape (K, S)
        Coefficients of the strata; zero where a row has no such stratum.
    c : array of shape (K,)
    rates : array of shape (K, S)
        The rates to expect at first, such as those of a fit. They move power, never validity.
    detect : array of shape (K,)
        The excess of a . p over c that should be found soon, > 0.

    Attributes
    ----------
    information : array of shape (K,)
        I of each row.
    log_weights : array of shape (K,)
        Logarithm of each row's part in `log_value`: those near their bounds at first have more.
    log_capital : array of shape (K, 3)
        Logarithm of the capital at stake on each drift.
    people, successes : array of shape (K, S)
        Sums over all days.

    Examples
    --------
    Women may be selected at most 0.05 less often than men.

    >>> row = EProcess(a=[[1.0, -1.0]], c=[0.05], rates=[[0.40, 0.35]], detect=[0.05])
    >>> for _ in range(10):
    ...     row.update(successes=[[120, 80]], people=[[250, 250]])  # 0.48 and 0.32
    >>> bool(row.log_values()[0] > np.log(20))  # an alarm at 5 %
    True
    """

    def __init__(self, a: ArrayLike, c: ArrayLike, rates: ArrayLike, detect: ArrayLike) -> None:
        self.a, self.c = np.asarray(a, dtype=float), np.asarray(c, dtype=float)
        self.rates, self.detect = np.asarray(rates, dtype=float), np.asarray(detect, dtype=float)
        self.information = np.zeros(len(self.c))
        room = np.maximum(self.c - (self.a * self.rates).sum(axis=-1), 0.0)
        weights = (1.0 + room / self.detect) ** -2
        self.log_weights = np.log(weights / weights.sum())
        self.log_capital = np.full((len(self.c), len(DRIFTS)), -np.inf)
        self.people, self.successes = np.zeros_like(self.a), np.zeros_like(self.a)

    def update(self, successes: ArrayLike, people: ArrayLike) -> None:
        """Bet on one day.

        Parameters
        ----------
        successes, people : array of shape (K, S), or (..., K, S) for many independent processes
            Sums of outcomes, and people, of each stratum on this day.
        """
        x, n = np.asarray(successes, dtype=float), np.asarray(people, dtype=float)
        moves = ((n > 0) | (self.a == 0)).all(axis=-1)
        p, variance = self._expected(n)
        grown = self.information + np.where(moves, self.detect**2 / (2 * variance), 0.0)
        with np.errstate(divide="ignore"):  # where nothing moves
            share = np.log(_unspent(self.information) - _unspent(grown))
        staked = np.logaddexp(self.log_capital, share[..., None] + np.log(DRIFT_SHARES))
        staked = staked + self._log_factors(x, n, p, variance[..., None])
        self.log_capital = np.where(moves[..., None], staked, self.log_capital)
        self.information = grown
        self.people, self.successes = self.people + n, self.successes + x

    def log_values(self) -> Array:
        """Return the logarithm of each row's e-value: capital at stake and still unspent."""
        unspent = np.log(_unspent(self.information))[..., None]
        return logsumexp(np.concatenate([self.log_capital, unspent], axis=-1), axis=-1)

    def log_value(self) -> Array:
        """Return the logarithm of the rows' mean e-value, weighted: evidence that not all hold."""
        return logsumexp(self.log_values() + self.log_weights, axis=-1)

    def _expected(self, n: Array) -> tuple[Array, Array]:
        """Return rates (..., K, S) as known before, and the variance of a . p with n people."""
        known = PRIOR_PEOPLE + self.people
        p = np.clip((PRIOR_PEOPLE * self.rates + self.successes) / known, *_RATES)
        return p, (self.a**2 * p * (1 - p) / np.maximum(n, 1.0)).sum(axis=-1)

    def _log_factors(self, x: Array, n: Array, p: Array, variance: Array) -> Array:
        """Return log E of the day for every drift; x is looked at after all is chosen."""
        a, present = self.a, np.maximum(n, 1.0)
        q = self._on_the_line(p, a * p * (1 - p) / present / variance)
        with np.errstate(divide="ignore"):
            loss = np.abs(a) * np.where(a > 0, q, 1 - q) / present  # of t = 1, at worst
            most = (1 - LEAST_FACTOR) / loss.max(axis=-1, keepdims=True)
        stake = np.minimum(DRIFTS * self.detect[..., None] / variance, most)
        f = stake[..., None] * (a / present)[..., None, :]
        q, x, n = q[..., None, :], x[..., None, :], n[..., None, :]
        return (x * np.log1p(f * (1 - q)) + (n - x) * np.log1p(-f * q)).sum(axis=-1)

    def _on_the_line(self, p: Array, direction: Array) -> Array:
        """Return the rates nearest to p with a . q = c; with a . q >= c where some are clipped."""
        a, c = self.a, self.c
        q = np.clip(p + direction * (c - (a * p).sum(axis=-1))[..., None], *_LINE)
        for s in range(a.shape[-1]):
            short = np.maximum(c - (a * q).sum(axis=-1), 0.0)
            step = short / np.where(a[..., s] == 0, np.inf, a[..., s])
            q[..., s] = np.clip(q[..., s] + step, 0.0, 1.0)
        return q


def _unspent(information: Array) -> Array:
    """Return the share of the capital that has not been put at stake yet."""
    later = (1.0 - FIRST) * (1.0 + information / LATER) ** -DECAY
    return np.where(information > 0, later, 1.0)
