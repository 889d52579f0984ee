"""Uncertainty: how much rates vary from one sample of people to the next."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.stats import norm

from equipoise.cells.rows import Array, Mask
from equipoise.metrics.audit import Audit
from equipoise.metrics.rates import Rate
from equipoise.rows.validation import read_integer

Kind = Literal["analytic", "bootstrap"]
Draws = tuple[Array, Array]


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
    audit: Audit, rate: Rate, masks: Mask, level: float, draws: Draws | None
) -> tuple[Array, Array, Array]:
    """Return the rate in each mask and the ends of its interval, mask by mask."""
    value = rate.of(audit, masks, audit.mass, audit.selected)
    if draws is not None:
        drawn = rate.of(audit, masks, *draws)
        tail = (1 - level) / 2
        known = np.isfinite(value)
        low, high = np.full((2, len(value)), np.nan)
        low[known], high[known] = np.nanquantile(drawn[:, known], [tail, 1 - tail], axis=0)
        return value, low, high
    variance = np.diag(rate_covariance(audit, rate, masks))
    people = effective_size(audit, rate, masks)
    with np.errstate(invalid="ignore", divide="ignore"):
        # As many independent yes-or-no answers as would have this variance. Few people who hardly
        # differ show next to no variance, which proves little: they count as one answer each.
        centre = (people * value + 1) / (people + 2)
        one_more_either_way = (centre**2 + (1 - centre) ** 2) / (people + 2) ** 2
        n = np.where(variance > one_more_either_way, value * (1 - value) / variance, people)
        return value, *wilson(value, n, level)


def wilson(rate: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Return the ends of Wilson's interval for a proportion of ``n`` answers.

    >>> low, high = wilson(np.array([0.1]), np.array([50]), 0.95)
    >>> low.round(4), high.round(4)
    (array([0.0435]), array([0.2136]))
    """
    z2 = norm.ppf((1 + level) / 2) ** 2
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * rate * (1 - rate) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)


def effective_size(audit: Audit, rate: Rate, masks: Mask) -> Array:
    """Return Kish's effective number of people in each mask."""
    inside = (masks & rate.event(audit)).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (inside @ audit.mass) ** 2 / (inside @ audit.squares[0])


def rate_covariance(audit: Audit, rate: Rate, masks: Mask) -> Array:
    """Return the covariance of the rates in several masks, by linearisation: shape (R, R).

    A rate is a ratio of sums, N / D; a person of weight w and utility u moves it by
    w (u - rate) / D. Summed cell by cell, from the sums of w^2, w^2 h and w^2 h^2.
    """
    inside = (masks & rate.event(audit)).astype(float)
    low, high = np.array(rate.utility)[audit.cells.label].T
    value = rate.of(audit, masks, audit.mass, audit.selected)
    w2, w2h, w2hh = audit.squares
    first = w2 * low + w2h * (high - low)
    second = w2 * low**2 + 2 * w2h * low * (high - low) + w2hh * (high - low) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = inside / (inside @ audit.mass)[:, None]
        shifted = scaled * value[:, None]
        cross = (scaled * first) @ shifted.T
        return (scaled * second) @ scaled.T - cross - cross.T + (shifted * w2) @ shifted.T
