"""Intervals: how far a measured rate or disparity may be from the truth, by chance alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm

from equipoise.cells.table import Array, Mask
from equipoise.constraints.rates import Rate
from equipoise.faces import table
from equipoise.metrics.audit import CHUNK, Audit, Draws, Squares
from equipoise.metrics.decisions import audit_of, read_audit
from equipoise.metrics.disparities import (
    DISPARITY_OF,
    Agg,
    Comparison,
    Method,
    combine,
)
from equipoise.metrics.predictive import Predictive
from equipoise.metrics.rates import RATE_OF
from equipoise.rows.validation import read_integer

#: Draws from the normal distribution that give the quantile of the largest of many deviations.
N_NORMAL = 10_000

#: Answers that a mean counts as fewer in a contrast: Wilson's limits are those of one mean, whose
#: own variance is known once it is; in small groups limits of differences would be too narrow.
_FEWER = 2.0

Kind = Literal["analytic", "bootstrap"]


class Interval(NamedTuple):
    """An estimate and the interval around it."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def _repr_html_(self) -> str:
        return table({name: [end] for name, end in self._asdict().items()})


def confidence_interval(
    metric: Callable[..., float],
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    method: Method | None = None,
    agg: Agg = "worst_case",
    kind: Kind = "analytic",
    level: float = 0.95,
    n_draws: int = 1000,
    random_state: int | np.random.Generator = 0,
) -> Interval:
    """Return a metric of this module, with a confidence interval.

    The people are taken for a random sample of all those whom the classifier will meet; the
    interval is about them, not about the training of the classifier. For probabilities it is about
    the expected decisions, and leaves out the luck of the draw.

    A disparity is the largest of several deviations, so it is never below zero and too large on
    average where the truth is zero. Its interval comes from limits that hold for all deviations at
    once, and so it contains zero as often as it should; it is then cautious rather than narrow.

    Parameters
    ----------
    metric : function
        A rate or a disparity of `equipoise.metrics`.
    y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label, method, agg
        Arguments of the metric: disparities of several labels are of every decision where no
        ``pos_label`` is given. Rates are over everybody, and take no groups.
    kind : "analytic" or "bootstrap", default="analytic"
        From the normal approximation, for a rate as Wilson's interval; or by resampling the
        people with replacement.
    level : float, default=0.95
    n_draws : int, default=1000
        Samples of the bootstrap.
    random_state : int or Generator, default=0
        Source of the bootstrap.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A, y_true, y_pred = rng.integers(0, 2, size=(3, 2000))
    >>> from equipoise.metrics import demographic_parity_violation, error_rate
    >>> print(confidence_interval(error_rate, y_true, y_pred))
    0.4960 [0.4741, 0.5179]
    >>> print(confidence_interval(demographic_parity_violation, y_true, y_pred,
    ...                           sensitive_features=A, kind="bootstrap"))
    0.0156 [0.0000, 0.0386]
    """
    check_level(level)
    if metric in DISPARITY_OF:
        disparity, groups = DISPARITY_OF[metric], (sensitive_features, control_features)
        decided = read_audit(y_true, y_pred, *groups, sample_weight, pos_label)
        comparisons = disparity.compared(decided, method)
        drawn_of = cache(lambda audit: resample(audit, kind, n_draws, random_state))
        draws = [each for one in comparisons if (each := drawn_of(one.audit)) is not None]
        return _of_disparity(comparisons, disparity.ratio, agg, level, draws)
    if metric not in RATE_OF:
        known = ", ".join(function.__name__ for function in (*RATE_OF, *DISPARITY_OF))
        wanted = f"one of the functions of equipoise.metrics: {known}"
        raise ValueError(f"metric is {metric!r}; expected {wanted}.")
    if sensitive_features is not None or control_features is not None:
        raise ValueError(
            f"{metric.__name__} is a rate of everybody; for rates by group use group_table(..., "
            "interval='analytic')."
        )
    audit, rate = audit_of(RATE_OF[metric], y_true, y_pred, sample_weight, pos_label)
    drawn = resample(audit, kind, n_draws, random_state)
    ends = rate_intervals(audit, rate, np.ones((1, audit.cells.n_cells), bool), level, drawn)
    return Interval(*(float(end[0]) for end in ends))


def _of_disparity(
    comparisons: list[Comparison], ratio: bool, agg: Agg, level: float, draws: Sequence[Draws]
) -> Interval:
    """Bound all deviations at once, and with them the largest."""
    if not comparisons:
        return Interval(float("nan"), float("nan"), float("nan"))
    ends = [of_largest(*limits, ratio) for limits in all_limits(comparisons, ratio, level, draws)]
    estimate = combine([c.disparity(ratio) for c in comparisons], agg, ratio)
    low, high = (combine([end[i] for end in ends], agg, ratio) for i in (0, 1))
    return Interval(estimate, min(low, estimate), max(high, estimate))


def all_limits(
    comparisons: Sequence[Comparison], ratio: bool, level: float, draws: Sequence[Draws] = ()
) -> list[tuple[Array, Array]]:
    """Return limits of all pairs that hold at once, given draws of a bootstrap; logs of ratios."""
    # Comparisons of the same people depend on each other, which only makes limits wider (Royen).
    blocks = [(Means.of_rates(c.audit, c.rate, c.masks, ratio), c.contrasts) for c in comparisons]
    drawn = [c.rates(own) for c, own in zip(comparisons, draws, strict=True)] if draws else None
    return joint_limits(blocks, level, drawn)


def of_largest(low: Array, high: Array, ratio: bool) -> tuple[float, float]:
    """Return the limits of the largest deviation, given those of all differences."""
    at_least = float(np.maximum(low, -high).max(initial=0.0))
    at_most = float(np.maximum(high, -low).max(initial=0.0))
    return (float(np.exp(-at_most)), float(np.exp(-at_least))) if ratio else (at_least, at_most)


def check_level(level: float) -> None:
    """Raise an error for a confidence level that is not between zero and one."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}; expected a number between 0 and 1, such as 0.95.")


def resample(
    audit: Audit, kind: Kind, n_draws: int, random_state: int | np.random.Generator
) -> Draws | None:
    """Return the draws of a bootstrap; None for the analytic interval."""
    if kind == "analytic":
        return None
    if kind != "bootstrap":
        raise ValueError(f"the kind of interval is {kind!r}; expected 'analytic' or 'bootstrap'.")
    read_integer(n_draws, "n_draws", least=2)
    return audit.draws(n_draws, np.random.default_rng(random_state))


def rate_intervals(
    audit: Audit, rate: Rate | Predictive, masks: Mask, level: float, draws: Draws | None
) -> tuple[Array, Array, Array]:
    """Return the rate in each mask and the ends of its interval, mask by mask."""
    value = audit.rate(rate, masks)
    if draws is not None:
        return value, *percentiles(value, audit.rate(rate, masks, draws), level)
    z = normal_quantile(level)
    if isinstance(rate, Predictive):
        return value, *wilson(value, _who_get(audit, rate, masks), z)
    return value, *Means.of_rates(audit, rate, masks).limits(z)


def _who_get(audit: Audit, rate: Predictive, masks: Mask) -> Array:
    """Return Kish's effective number of those who get the decision of a predictive value."""
    first, second, third = audit.squares
    square = third if rate.decision else first - 2 * second + third
    with np.errstate(invalid="ignore", divide="ignore"):
        return (masks @ rate.weights(audit.mass, audit.selected)) ** 2 / (masks @ square)


def percentiles(value: Array, drawn: Array, level: float) -> tuple[Array, Array]:
    """Return the ends of the percentile interval of each value, from its draws (n_draws, R)."""
    tail, known = (1 - level) / 2, np.isfinite(value)
    low, high = np.full((2, len(value)), np.nan)
    low[known], high[known] = np.nanquantile(drawn[:, known], [tail, 1 - tail], axis=0)
    return low, high


def normal_quantile(level: float) -> float:
    """Return how many standard errors a two-sided interval of this level is wide."""
    return float(norm.ppf((1 + level) / 2))


def wilson(rate: Array, n: Array, z: float) -> tuple[Array, Array]:
    """Return the ends of Wilson's interval for a proportion of ``n`` answers, ``z`` errors wide.

    >>> low, high = wilson(np.array([0.1]), np.array([50]), 1.96)
    >>> low.round(4), high.round(4)
    (array([0.0435]), array([0.2136]))
    """
    z2 = z**2
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * rate * (1 - rate) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Means:
    """Several conditional means, and how they vary together: arrays of shape (J,) and (J, J)."""

    value: Array
    covariance: Array
    people: Array  #: Kish's effective number of people in each event.
    least: Array | float = 0.0  #: What one person can add at least,
    most: Array | float = 1.0  #: and at most.
    log: bool = False  #: Whether contrasts are between the logarithms of the means: ratios.
    #: Variance of the answers of the people in each event, weighted as the mean is.
    among: Array | float = 0.0

    @classmethod
    def of_cells(
        cls,
        events: Array,
        low: Array,
        high: Array,
        mass: Array,
        selected: Array,
        value: Array,
        squares: Squares,
    ) -> Means:
        """Return means over events (J, C) with their covariance by linearisation.

        A mean is a ratio of sums, N / D; a person of weight w in its event who gets g moves it by
        w (g - mean) / D. Summed cell by cell, where g is ``low`` for those who are not selected
        and ``high`` for those who are; ``selected`` is the weight of the latter.
        """
        w2, w2h, w2hh = squares
        with np.errstate(invalid="ignore", divide="ignore"):
            share = events / (events @ mass)[:, None]
            at_zero, slope = share * (low - value[:, None]), share * (high - low)
            cross = (at_zero * w2h) @ slope.T
            spread = (at_zero * w2) @ at_zero.T + cross + cross.T + (slope * w2hh) @ slope.T
            people = (events @ mass) ** 2 / (events @ w2)
            # Probabilities h vary less than decisions do, by h (1 - h), known with weights squared.
            undrawn = selected - mass * np.nan_to_num((w2h - w2hh) / w2)
            away = low - value[:, None]
            within = away**2 * mass + 2 * away * (high - low) * selected
            within += (high - low) ** 2 * undrawn
            among = (events * within).sum(axis=1) / (events @ mass)
        least = np.where(events > 0, np.minimum(low, high), np.inf).min(axis=1, initial=np.inf)
        most = np.where(events > 0, np.maximum(low, high), -np.inf).max(axis=1, initial=-np.inf)
        return cls(value, spread, people, least, most, among=np.maximum(among, 0.0))

    @classmethod
    def of_rates(cls, audit: Audit, rate: Rate, masks: Mask, log: bool = False) -> Means:
        """Return a rate in several masks."""
        inside = (masks & rate.event(audit.cells)).astype(float)
        low, high = rate.table(audit.cells).T
        value = audit.rate(rate, masks)
        means = cls.of_cells(inside, low, high, audit.mass, audit.selected, value, audit.squares)
        return replace(means, least=0.0, most=1.0, log=log)

    @cached_property
    def answers(self) -> Array:
        """How many yes-or-no answers each mean is worth: as many as would have its variance.

        For decisions of equal weight these are the people. Few people who are decided on alike
        show next to no variance, which proves little: four more, whose answers vary as much as
        answers can, are counted in. Where weights differ, the few who weigh much may agree by
        chance, so answers vary at least as much as they do among all people: decisions are never
        worth more answers than Kish's effective number of people.
        """
        n, rate = self.people, self._rate
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = np.maximum(n * np.diag(self.covariance), self.among) / self._range**2
            relative = np.where(rate * (1 - rate) > 1e-15, variance / (rate * (1 - rate)), 1.0)
            return n * (n + 4) / (n * relative + 4)

    @property
    def _range(self) -> Array:
        return np.maximum(np.subtract(self.most, self.least), 1e-300)

    @property
    def _rate(self) -> Array:
        """The mean on a scale from 0 to 1."""
        return np.clip((self.value - self.least) / self._range, 0.0, 1.0)

    def limits(self, z: float, fewer: float = 0.0) -> tuple[Array, Array]:
        """Return Wilson's limits of each mean, ``z`` errors wide, for so many answers fewer."""
        n = np.maximum(self.answers - fewer, self.answers / (1 + fewer))
        low, high = wilson(self._rate, n, z)
        return self.least + low * self._range, self.least + high * self._range

    def scaled(self, value: Array) -> Array:
        """Return values of the means on the scale of contrasts."""
        # A rate of zero stands for half a person, else its logarithm has no bounds.
        return np.log(np.maximum(value, 0.5 / (self.people + 1))) if self.log else value

    def distances(self, z: float) -> tuple[Array, Array]:
        """Return how far the limits of each mean are below and above it, on that scale."""
        low, high = self.limits(z, _FEWER)
        value = self.scaled(self.value)
        return value - self.scaled(low), self.scaled(high) - value

    @cached_property
    def correlation(self) -> Array:
        """Correlations of the means; zero for those that show no variance."""
        error = np.sqrt(np.clip(np.diag(self.covariance), 0.0, None))
        scale = np.divide(1.0, error, out=np.zeros_like(error), where=error > 1e-15)
        correlation = self.covariance * np.outer(scale, scale)
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def contrast_limits(self, contrasts: csr_array, z: float) -> tuple[Array, Array]:
        """Return the limits of each contrast, given limits of the means that are ``z`` errors wide.

        How far a difference may be too large follows from how far its first mean may be too large
        and its second too small (Newcombe 1998; Zou and Donner 2008 for correlated means). Means
        of people in common, such as a group's and everybody's, err in the same direction, and
        then the limits of both on the same side count if that is more.
        """
        below, above = self.distances(z)
        value = contrasts @ self.scaled(self.value)
        first, second = contrasts.maximum(0), contrasts.minimum(0)

        def errors(weighted: csr_array) -> Array:
            return contrast_errors(weighted.tocsr(), self.correlation)

        alone = contrast_errors(contrasts, np.eye(len(below)))
        overlap = np.abs(errors(contrasts) - alone) > 1e-9

        def reach(one: Array, other: Array) -> Array:
            apart = errors(first * one + second * other)
            sides = [errors(contrasts * distance) for distance in (one, other)]
            return np.where(overlap, np.maximum.reduce([apart, *sides]), apart)

        return value - reach(below, above), value + reach(above, below)


def joint_limits(
    blocks: Sequence[tuple[Means, csr_array]], level: float, drawn: Sequence[Array] | None = None
) -> list[tuple[Array, Array]]:
    """Return limits of contrasts of several blocks of means that hold for all of them at once.

    All limits are as many errors wide as the largest of all deviations is, at this level. Contrasts
    (K, J) are weighted sums of means; ``drawn`` are the means (draws, J) in draws of a bootstrap,
    without which deviations are drawn from the normal distribution.
    """
    rng = np.random.default_rng(0)  # fixed: the quantile must not differ between calls
    z, largest = normal_quantile(level), []
    for at, (means, contrasts) in enumerate(blocks):
        if drawn is None:
            error = np.add(*means.distances(z)) / (2 * z)
            spread = means.correlation * np.outer(error, error)
            deviations = normal_deviations(spread, rng)
        else:
            # A group that was not drawn says nothing.
            deviations = np.nan_to_num(means.scaled(drawn[at]) - means.scaled(means.value))
            spread = np.atleast_2d(np.cov(deviations.T, ddof=0))
        errors = contrast_errors(contrasts, spread)
        largest.append(largest_deviations(deviations, contrasts, errors))
    # No narrower than the interval of one contrast by itself.
    reach = max(float(np.quantile(np.max(largest, axis=0), level)), z)
    return [means.contrast_limits(contrasts, reach) for means, contrasts in blocks]


def contrast_errors(contrasts: csr_array, covariance: Array) -> Array:
    """Return the standard error of each contrast (K, J), a weighted sum of means: shape (K,)."""
    rows = max(CHUNK // max(len(covariance), 1), 1)
    parts = [contrasts[start : start + rows] for start in range(0, contrasts.shape[0], rows)]
    variance = [np.asarray(part.multiply(part @ covariance).sum(axis=1)) for part in parts]
    return np.sqrt(np.clip(np.concatenate([*variance, []]), 0.0, None))


def normal_deviations(covariance: Array, rng: np.random.Generator) -> Array:
    """Return draws from the normal distribution with this covariance: shape (draws, J)."""
    scale, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.clip(scale, 0.0, None))
    return rng.standard_normal((N_NORMAL, len(root))) @ root.T


def largest_deviations(deviations: Array, contrasts: csr_array, error: Array) -> Array:
    """Return the largest deviation of a contrast in each draw, in units of its error.

    Their quantile bounds all contrasts at once. Contrasts without an error are left out.

    >>> deviations = normal_deviations(np.eye(2), np.random.default_rng(0))
    >>> contrasts = csr_array(np.array([[1.0, 0.0], [1.0, -1.0]]))
    >>> error = contrast_errors(contrasts, np.eye(2))
    >>> largest = largest_deviations(deviations, contrasts, error)
    >>> bool(1.96 < np.quantile(largest, 0.95) < 2.24)  # one alone; two that are independent
    True
    """
    usable = error > 1e-15
    if not usable.any():
        return np.zeros(len(deviations))
    scaled = (contrasts[usable].multiply(1 / error[usable, None])).T.tocsr()
    pieces = -(-len(deviations) * scaled.shape[1] // CHUNK)
    parts = np.array_split(deviations, min(pieces, len(deviations)))
    return np.concatenate([np.abs(part @ scaled).max(axis=1) for part in parts])
