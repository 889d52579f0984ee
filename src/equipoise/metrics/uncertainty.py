"""Uncertainty: how much rates and moments vary from one sample of people to the next."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import norm

from equipoise.cells.table import Array, Mask
from equipoise.constraints.rates import Rate
from equipoise.metrics.audit import CHUNK, Audit, Draws
from equipoise.rows.validation import read_integer

#: Draws from the normal distribution that give the quantile of the largest of many deviations.
N_NORMAL = 10_000

Kind = Literal["analytic", "bootstrap"]
#: Sums over cells of w^2, w^2 h and w^2 h^2.
Squares = tuple[Array, Array, Array]


def check_level(level: float) -> None:
    """Raise an error for a confidence level that is not between zero and one."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}; expected a number between 0 and 1, such as 0.95.")


def covariance(
    events: Array, low: Array, high: Array, mass: Array, value: Array, squares: Squares
) -> Array:
    """Return the covariance of several conditional means, by linearisation: shape (J, J).

    A mean is a ratio of sums, N / D; a person of weight w in its event who gets g moves it by
    w (g - mean) / D. Summed cell by cell, where g is ``low`` for those who are not selected and
    ``high`` for those who are.

    Parameters
    ----------
    events : array of shape (J, C)
        Zeros and ones.
    low, high : arrays of shape (C,) or (J, C)
    mass : array of shape (C,)
        The weight of each cell.
    value : array of shape (J,)
        The means.
    squares : three arrays of shape (C,)
        Sums of w^2, w^2 h and w^2 h^2.
    """
    w2, w2h, w2hh = squares
    with np.errstate(invalid="ignore", divide="ignore"):
        share = events / (events @ mass)[:, None]
        at_zero, slope = share * (low - value[:, None]), share * (high - low)
        cross = (at_zero * w2h) @ slope.T
        return (at_zero * w2) @ at_zero.T + cross + cross.T + (slope * w2hh) @ slope.T


def least_variance(rate: Array, people: NDArray) -> Array:
    """Return the least variance that a rate of so many people is credited with.

    Few people who are decided on alike show next to no variance, which proves little: the rate is
    taken to vary as if one more person were decided on either way.

    >>> least_variance(np.array([1.0]), np.array([3])).round(4)
    array([0.0272])
    """
    centre = (people * rate + 1) / (people + 2)
    return (centre**2 + (1 - centre) ** 2) / (people + 2) ** 2


def contrast_errors(contrasts: csr_array, covariance: Array) -> Array:
    """Return the standard error of each contrast, a weighted sum of means: shape (K,).

    Parameters
    ----------
    contrasts : sparse array of shape (K, J)
    covariance : array of shape (J, J)
    """
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

    Their quantile bounds all contrasts at once.

    Parameters
    ----------
    deviations : array of shape (draws, J)
    contrasts : sparse array of shape (K, J)
    error : array of shape (K,)
        Contrasts without an error are left out.

    Examples
    --------
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
    value = audit.rate(rate, masks)
    if draws is not None:
        drawn = audit.rate(rate, masks, draws)
        tail = (1 - level) / 2
        known = np.isfinite(value)
        low, high = np.full((2, len(value)), np.nan)
        low[known], high[known] = np.nanquantile(drawn[:, known], [tail, 1 - tail], axis=0)
        return value, low, high
    variance = np.diag(rate_covariance(audit, rate, masks))
    people = effective_size(audit, rate, masks)
    with np.errstate(invalid="ignore", divide="ignore"):
        # As many independent yes-or-no answers as would have this variance, but no more than
        # there are people where it is too small to be believed.
        proven = variance > least_variance(value, people)
        n = np.where(proven, value * (1 - value) / variance, people)
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
    inside = (masks & rate.event(audit.cells)).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (inside @ audit.mass) ** 2 / (inside @ audit.squares[0])


def rate_covariance(audit: Audit, rate: Rate, masks: Mask) -> Array:
    """Return the covariance of the rates in several masks: shape (R, R)."""
    inside = (masks & rate.event(audit.cells)).astype(float)
    low, high = rate.table(audit.cells).T
    return covariance(inside, low, high, audit.mass, audit.rate(rate, masks), audit.squares)
