"""The detector: evidence that linear rows a . p <= c have begun to fail, counted in people.

p are the rates of disjoint strata of people. People wait until every stratum of a row has somebody;
then they are a block, with m_s people in stratum s. For any rates q with a . q >= c and any stake
t >= 0 that follow from earlier blocks and from the numbers m_s,

    E = product over people i of  1 + t (a_s / m_s) (x_i - q_s)

has mean <= exp(t (a . p - a . q)) <= 1 while a . p <= c, where p are the block's means. So with

    M <- (M + people who came since the last block) E,

M minus the people so far falls on average while the row holds (Shiryaev and Roberts). A row of
weight w raises an alarm where w M reaches N, and starts again at M = 0: w M + N (alarms so far)
- w (people so far) falls on average, too. With weights that add up to one, the expected number of
alarms among T people is at most T / N over all rows, whatever the rows have in common.

Sums of outcomes suffice: x log(1 + f (1 - q)) + (1 - x) log(1 - f q) <= log(1 + f (x - q)) for
outcomes between 0 and 1, with equality at 0 and 1, so that E is never overstated.

The present value of a row is the mean of a . x over the blocks of a period, each weighted by its
precision. Its confidence sequence is an empirical Bernstein bound (Howard and others, 2021): the
parts Y_i of that mean, scaled to ranges of at most one, and any Y'_i in their range that follow
from earlier blocks have E exp(l (Y_i - E Y_i) - psi(l) (Y_i - Y'_i)^2) <= 1 for 0 < l < 1 and
psi(l) = -log(1 - l) - l, since exp(l z - psi(l) z^2) <= 1 + l z for z >= -1 (Fan and others, 2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array, Mask

#: The number of people of a stratum that the expected rates are worth at the start.
PRIOR_PEOPLE = 50.0
#: No outcome of one person divides the evidence by more than five.
SMALLEST_FACTOR = 0.2
#: The drifts bet on, as shares of the one to be found soon, and the share of the capital of each.
DRIFTS, DRIFT_SHARES = np.array([0.25, 0.5, 1.0]), np.array([0.05, 0.15, 0.8])
#: The numbers l of the confidence sequence, and the share of the errors that each may make.
_TILTS, _ERROR_SHARES = 0.5 ** np.arange(1, 9), 1 / (np.arange(1, 9) * np.arange(2, 10))
_RATES, _LINE = (0.005, 0.995), (0.002, 0.998)
_LARGEST_LOG = 600.0  # of a factor that is used in full; less is valid, too


class Detector:
    """Evidence against rows a . p <= c, in people; an alarm where it reaches ``run_length``.

    Parameters
    ----------
    a : array of shape (K, S)
        Coefficients of the strata; zero where a row has no such stratum.
    c : array of shape (K,)
    rates : array of shape (K, S)
        The rates to expect at first, such as those of a fit. They move power, never validity.
    detect : array of shape (K,)
        The excess of a . p over c that should be found soon, > 0.
    run_length : float
        The number of people to whom there is at most one false alarm on average.
    period : float
        The number of people of a period. At its end, people who still wait are dropped, and the
        present value starts again.

    Attributes
    ----------
    weights : array of shape (K,)
        Each row's part of the false alarms: rows near their bounds at first have more.
    state : dict of arrays
        All that changes. ``people`` and ``successes`` (K, S) are the sums over closed blocks,
        ``waiting`` and ``waiting_successes`` those of people who wait, ``dropped`` (K,) the number
        of people dropped.

    Examples
    --------
    Women may be selected at most 0.05 less often than men. They are, by 0.16.

    >>> rows = {"a": [[1.0, -1.0]], "c": [0.05], "rates": [[0.40, 0.35]], "detect": [0.05]}
    >>> detector = Detector(**rows, run_length=150_000, period=10_000)
    >>> while not detector.alarms()[0]:
    ...     detector.update(successes=[[120, 80]], people=[[250, 250]], arrived=500)
    >>> value, radius = detector.present()
    >>> people = detector.state["people"].sum()
    >>> print(f"{people:.0f} people, present value {value[0]:.2f} +- {radius[0]:.2f}")
    1500 people, present value 0.16 +- 0.09
    """

    def __init__(
        self,
        a: ArrayLike,
        c: ArrayLike,
        rates: ArrayLike,
        detect: ArrayLike,
        run_length: float,
        period: float,
    ) -> None:
        self.a = np.asarray(a, dtype=float)
        self.c = np.asarray(c, dtype=float)
        self.rates = np.asarray(rates, dtype=float)
        self.detect = np.asarray(detect, dtype=float)
        self.run_length = run_length
        self.period = period
        room = np.maximum(self.c - (self.a * self.rates).sum(axis=-1), 0.0)
        near = (1.0 + room / self.detect) ** -2
        self.weights = near / near.sum()
        strata = ("people", "successes", "waiting", "waiting_successes")
        rows = ("uncredited", "dropped", "precision", "total", "square", "arrived")
        self.state: dict[str, Array] = {name: np.zeros(self.a.shape) for name in strata}
        self.state |= {name: np.zeros(self.c.shape) for name in rows}
        self.state["capital"] = np.zeros((*self.c.shape, len(DRIFTS)))

    def update(self, successes: ArrayLike, people: ArrayLike, arrived: float) -> None:
        """Count people who came together.

        Parameters
        ----------
        successes, people : array of shape (K, S), or (..., K, S) for many independent detectors
            Sums of outcomes, and people, of each stratum.
        arrived : float
            The number of people who came, with those of no stratum.
        """
        state = self.state
        state["capital"] = np.where(self.alarms()[..., None], 0.0, state["capital"])
        self._end_period()
        waiting = state["waiting"] + np.asarray(people, dtype=float)
        sums = state["waiting_successes"] + np.asarray(successes, dtype=float)
        closed = ((waiting > 0) | (self.a == 0)).all(axis=-1)
        n = np.where(closed[..., None], waiting, 0.0)
        x = np.where(closed[..., None], sums, 0.0)
        p = self._expected_rates()
        self._bet(x, n, p, closed, arrived)
        self._measure(x, n, p)
        state["people"] = state["people"] + n
        state["successes"] = state["successes"] + x
        state["waiting"] = waiting - n
        state["waiting_successes"] = sums - x
        state["arrived"] = state["arrived"] + arrived

    def evidence(self) -> Array:
        """Return w M of each row: an alarm at ``run_length``."""
        return self.weights * self.state["capital"].sum(axis=-1)

    def alarms(self) -> Mask:
        """Return which rows raised an alarm at the last update; they start again with the next."""
        return self.evidence() >= self.run_length

    def present(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return each row's a . p over the period, and the radius of its confidence sequence.

        The radius is valid at all looks of a period together. Where no block has closed, the value
        is not a number and the radius infinite.
        """
        precision = self.state["precision"]
        doubt = np.log(2 / (1 - confidence) / _ERROR_SHARES)
        square = self.state["square"][..., None]
        reach = ((doubt - (np.log1p(-_TILTS) + _TILTS) * square) / _TILTS).min(axis=-1)
        measured = precision > 0
        value = np.divide(
            self.state["total"], precision, out=np.full(precision.shape, np.nan), where=measured
        )
        radius = np.divide(reach, precision, out=np.full(precision.shape, np.inf), where=measured)
        return value, radius

    def _end_period(self) -> None:
        """Drop the people who wait, and start the present value again, once a period is over."""
        state = self.state
        over = state["arrived"] >= self.period
        dropped = np.where(over, state["waiting"].sum(axis=-1), 0.0)
        state["dropped"] = state["dropped"] + dropped
        for name in ("waiting", "waiting_successes"):
            state[name] = np.where(over[..., None], 0.0, state[name])
        for name in ("precision", "total", "square", "arrived"):
            state[name] = np.where(over, 0.0, state[name])

    def _expected_rates(self) -> Array:
        """Return the rates (..., K, S) that closed blocks suggest."""
        known = PRIOR_PEOPLE + self.state["people"]
        return np.clip((PRIOR_PEOPLE * self.rates + self.state["successes"]) / known, *_RATES)

    def _bet(self, x: Array, n: Array, p: Array, closed: Mask, arrived: float) -> None:
        """Multiply the capital by E; the outcomes x are used after all else is chosen."""
        state = self.state
        present = np.maximum(n, 1.0)
        variance = (self.a**2 * p * (1 - p) / present).sum(axis=-1)[..., None]
        q = self._on_the_line(p, self.a * p * (1 - p) / present / variance)
        loss = np.abs(self.a) * np.where(self.a > 0, q, 1 - q) / present  # of t = 1, at worst
        limit = (1 - SMALLEST_FACTOR) / np.maximum(loss.max(axis=-1, keepdims=True), 1e-300)
        stake = np.minimum(DRIFTS * self.detect[..., None] / variance, limit)
        f = stake[..., None] * (self.a / present)[..., None, :]
        q = q[..., None, :]
        hits = x[..., None, :]
        misses = (n - x)[..., None, :]
        log_factor = (hits * np.log1p(f * (1 - q)) + misses * np.log1p(-f * q)).sum(axis=-1)
        people = state["uncredited"] + arrived
        grown = state["capital"] + people[..., None] * DRIFT_SHARES
        grown = grown * np.exp(np.minimum(log_factor, _LARGEST_LOG))
        state["capital"] = np.where(closed[..., None], grown, state["capital"])
        state["uncredited"] = np.where(closed, 0.0, people)

    def _measure(self, x: Array, n: Array, p: Array) -> None:
        """Add a block to the present value of its row."""
        state = self.state
        share = self.a / np.maximum(n, 1.0)
        smallest = np.where(self.a == 0, np.inf, np.abs(self.a)).min(axis=-1)
        weight = np.where(n.any(axis=-1), smallest / (self.a * share).sum(axis=-1), 0.0)
        spread = x * (1 - p) ** 2 + (n - x) * p**2
        state["precision"] = state["precision"] + weight
        state["total"] = state["total"] + weight * (share * x).sum(axis=-1)
        state["square"] = state["square"] + weight**2 * (share**2 * spread).sum(axis=-1)

    def _on_the_line(self, p: Array, direction: Array) -> Array:
        """Return the rates nearest to p with a . q = c; with a . q >= c where some are clipped."""
        q = np.clip(p + direction * (self.c - (self.a * p).sum(axis=-1))[..., None], *_LINE)
        for s in range(self.a.shape[-1]):
            short = np.maximum(self.c - (self.a * q).sum(axis=-1), 0.0)
            step = short / np.where(self.a[..., s] == 0, np.inf, self.a[..., s])
            q[..., s] = np.clip(q[..., s] + step, 0.0, 1.0)
        return q
