"""Intervals: how far a measured rate or disparity may be from the truth, by chance alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array
from equipoise.constraints.rates import RATES, Rate
from equipoise.metrics import disparities, rates
from equipoise.metrics.audit import Audit, Draws
from equipoise.metrics.comparison import (
    DEMOGRAPHIC_PARITY,
    EQUAL_OPPORTUNITY,
    EQUALIZED_ODDS,
    Agg,
    Comparison,
    Disparity,
    Method,
    combine,
    compare,
)
from equipoise.metrics.uncertainty import (
    Kind,
    Means,
    check_level,
    joint_limits,
    rate_intervals,
    resample,
)


class Interval(NamedTuple):
    """An estimate and the interval around it."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.4f} [{self.low:.4f}, {self.high:.4f}]"


_RATES: dict[Callable[..., float], Rate] = {
    getattr(rates, rate.column): rate for rate in RATES.values() if hasattr(rates, rate.column)
}
_DISPARITIES: dict[Callable[..., float], tuple[Disparity, Method]] = {
    disparities.demographic_parity_violation: (Disparity(DEMOGRAPHIC_PARITY), "to_overall"),
    disparities.equalized_odds_violation: (Disparity(EQUALIZED_ODDS), "to_overall"),
    disparities.demographic_parity_difference: (Disparity(DEMOGRAPHIC_PARITY), "between_groups"),
    disparities.demographic_parity_ratio: (
        Disparity(DEMOGRAPHIC_PARITY, ratio=True),
        "between_groups",
    ),
    disparities.equalized_odds_difference: (Disparity(EQUALIZED_ODDS), "between_groups"),
    disparities.equalized_odds_ratio: (Disparity(EQUALIZED_ODDS, ratio=True), "between_groups"),
    disparities.equal_opportunity_difference: (Disparity(EQUAL_OPPORTUNITY), "between_groups"),
    disparities.equal_opportunity_ratio: (
        Disparity(EQUAL_OPPORTUNITY, ratio=True),
        "between_groups",
    ),
}


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
        Arguments of the metric. Rates are over everybody, and take no groups.
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
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    if metric in _DISPARITIES:
        disparity, default = _DISPARITIES[metric]
        comparisons = list(compare(audit, disparity.rates, method or default))
        draws = resample(audit, kind, n_draws, random_state)
        return _of_disparity(comparisons, disparity.ratio, agg, level, draws)
    if metric not in _RATES:
        known = ", ".join(function.__name__ for function in (*_RATES, *_DISPARITIES))
        raise ValueError(
            f"metric is {metric!r}; expected one of the functions of equipoise.metrics: {known}."
        )
    if sensitive_features is not None or control_features is not None:
        raise ValueError(
            f"{metric.__name__} is a rate of everybody; for rates by group use group_table(..., "
            "interval='analytic')."
        )
    everybody = np.ones((1, audit.cells.n_cells), dtype=bool)
    draws = resample(audit, kind, n_draws, random_state)
    value, low, high = rate_intervals(audit, _RATES[metric], everybody, level, draws)
    return Interval(float(value[0]), float(low[0]), float(high[0]))


def _of_disparity(
    comparisons: list[Comparison], ratio: bool, agg: Agg, level: float, draws: Draws | None
) -> Interval:
    """Bound all deviations at once, and with them the largest."""
    if not comparisons:
        return Interval(float("nan"), float("nan"), float("nan"))
    blocks = [(Means.of_rates(c.audit, c.rate, c.masks, ratio), c.contrasts) for c in comparisons]
    drawn = None if draws is None else [c.rates(draws) for c in comparisons]
    ends = [_of_largest(*limits, ratio) for limits in joint_limits(blocks, level, drawn)]
    estimate = combine([c.disparity(ratio) for c in comparisons], agg, ratio)
    low, high = (combine([end[i] for end in ends], agg, ratio) for i in (0, 1))
    return Interval(estimate, min(low, estimate), max(high, estimate))


def _of_largest(low: Array, high: Array, ratio: bool) -> tuple[float, float]:
    """Return the limits of the largest deviation, given those of all differences."""
    at_least = float(np.maximum(low, -high).max(initial=0.0))
    at_most = float(np.maximum(high, -low).max(initial=0.0))
    return (float(np.exp(-at_most)), float(np.exp(-at_least))) if ratio else (at_least, at_most)
