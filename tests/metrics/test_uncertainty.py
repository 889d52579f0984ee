"""Covariances, quantiles and Wilson's interval, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from raw_rates import mean, people
from scipy.sparse import csr_array
from scipy.stats import binomtest, norm

from equipoise import metrics
from equipoise.constraints.rates import ERROR, SELECTION, TPR
from equipoise.metrics.audit import Audit
from equipoise.metrics.uncertainty import (
    Means,
    contrast_errors,
    largest_deviations,
    normal_deviations,
)


@pytest.mark.parametrize(("k", "n"), [(0, 20), (3, 20), (20, 20), (150, 1000)])
def test_wilson(k, n):
    h = np.repeat([1, 0], [k, n - k])
    y = np.arange(n) % 2
    interval = metrics.confidence_interval(metrics.selection_rate, y, h)
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert interval.estimate == pytest.approx(k / n)


@pytest.mark.parametrize("rate", [SELECTION, TPR, ERROR])
def test_covariance_row_by_row(rate):
    y, h, A, w = people(3, randomized=True)
    audit = Audit.read(y, h, A, sample_weight=w)
    masks = np.array([*audit.groups().values(), np.ones(audit.cells.n_cells, bool)])
    u = np.array(rate.utility)[y, 0] * (1 - h) + np.array(rate.utility)[y, 1] * h
    event = np.ones(len(y), bool) if rate.given is None else y == rate.given
    influence = []
    for member in [*(a == A for a in range(3)), np.ones(len(y), bool)]:
        where = member & event
        influence.append(where * w * (u - mean(u, where, w)) / w[where].sum())
    np.testing.assert_allclose(
        Means.of_rates(audit, rate, masks).covariance,
        np.array(influence) @ np.array(influence).T,
        atol=1e-15,
    )


def test_errors_of_contrasts_are_those_of_the_dense_formula():
    rng = np.random.default_rng(0)
    root, M = rng.normal(size=(6, 6)), rng.normal(size=(9, 6)) * (rng.random((9, 6)) < 0.5)
    spread = root @ root.T
    expected = [np.sqrt(row @ spread @ row) for row in M]
    np.testing.assert_allclose(contrast_errors(csr_array(M), spread), expected)


@pytest.mark.parametrize("K", [1, 5])
def test_the_quantile_of_the_largest_of_independent_deviations(K):
    """It is the quantile of one of them at the level to the power of 1 / K."""
    spread = np.diag(np.arange(1.0, K + 1))
    contrasts = csr_array(np.vstack([np.eye(K), np.zeros((1, K))]))  # the last has no error
    error = contrast_errors(contrasts, spread)
    deviations = normal_deviations(spread, np.random.default_rng(1))
    found = np.quantile(largest_deviations(deviations, contrasts, error), 0.9)
    assert found == pytest.approx(norm.ppf((1 + 0.9 ** (1 / K)) / 2), abs=0.04)


def test_nothing_that_varies_has_no_deviation():
    deviations = np.zeros((10, 2))
    found = largest_deviations(deviations, csr_array(np.eye(2)), np.zeros(2))
    np.testing.assert_array_equal(found, np.zeros(10))


@pytest.mark.parametrize("metric", ["demographic_parity_difference", "equalized_odds_violation"])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.2,) * 5])
def test_a_true_zero_is_inside_in_small_groups(metric, shares):
    """200 people; intervals from plug-in variances missed zero in up to 28 % of such samples."""
    rng = np.random.default_rng(0)
    samples, caught = 250, 0
    for _ in range(samples):
        A, y = rng.choice(len(shares), 200, p=shares), rng.integers(0, 2, 200)
        h = rng.random(200) < np.array([0.3, 0.6])[y]
        function = getattr(metrics, metric)
        low = metrics.confidence_interval(function, y, h.astype(int), sensitive_features=A).low
        caught += low == 0
    assert caught / samples >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / samples)


def test_limits_of_a_difference_are_newcombes():
    """His method 10, for 56 of 70 and 48 of 80 (Newcombe 1998, table II): 0.0524 to 0.3339."""
    means = Means(np.array([56 / 70, 48 / 80]), np.diag([0.16 / 72, 0.24 / 82]), np.array([72, 82]))
    low, high = means.contrast_limits(csr_array(np.array([[1.0, -1.0]])), norm.ppf(0.975))
    assert (low[0], high[0]) == pytest.approx((0.0524, 0.3339), abs=5e-4)
