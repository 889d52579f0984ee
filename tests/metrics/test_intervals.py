"""Intervals of metrics against simulation; covariances, quantiles and Wilson's row by row."""

from __future__ import annotations

import numpy as np
import pytest
from raw_rates import mean, people
from scipy.sparse import csr_array
from scipy.stats import binomtest, norm
from sklearn.metrics import accuracy_score

from equipoise import metrics
from equipoise.constraints.rates import ERROR, SELECTION, TPR
from equipoise.metrics.audit import Audit
from equipoise.metrics.intervals import (
    Means,
    contrast_errors,
    largest_deviations,
    normal_deviations,
)


def simulate(rng, n, groups, rates, randomized, weighted):
    """Draw people whose expected decision depends on group and label through ``rates``."""
    A = rng.integers(0, groups, n)
    y = rng.integers(0, 2, n)
    p = np.asarray(rates)[A, y]
    h = p + 0.2 * rng.uniform(-1, 1, n) if randomized else (rng.random(n) < p).astype(float)
    w = rng.integers(1, 4, n) if weighted else None
    return {"y_true": y, "y_pred": h, "sensitive_features": A, "sample_weight": w}


EQUAL = [[0.3, 0.6]] * 3


APART = [[0.2, 0.5], [0.3, 0.6], [0.4, 0.8]]


CASES = [
    # metric, rates by group and label, the true value, randomized, weighted
    (metrics.demographic_parity_violation, EQUAL, 0.0, False, False),
    (metrics.demographic_parity_violation, APART, 0.6 - 1.4 / 3, False, False),
    (metrics.demographic_parity_violation, EQUAL, 0.0, False, True),
    (metrics.equalized_odds_violation, EQUAL, 0.0, False, False),
    (metrics.equalized_odds_violation, APART, 0.8 - 1.9 / 3, False, False),
    (metrics.demographic_parity_difference, APART, 0.25, False, False),
    (metrics.demographic_parity_difference, EQUAL, 0.0, True, False),
    (metrics.equalized_odds_difference, APART, 0.3, False, True),
    (metrics.demographic_parity_ratio, APART, 0.35 / 0.6, False, False),
    (metrics.demographic_parity_ratio, EQUAL, 1.0, False, False),
]


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["analytic", "bootstrap"])
@pytest.mark.parametrize(("metric", "rates", "truth", "randomized", "weighted"), CASES)
def test_coverage_of_disparities(metric, rates, truth, randomized, weighted, kind):
    rng = np.random.default_rng(7)
    n_trials, caught, width = 200, 0, []
    for _ in range(n_trials):
        data = simulate(rng, 600, 3, rates, randomized, weighted)
        interval = metrics.confidence_interval(metric, **data, kind=kind, n_draws=200)
        assert interval.low <= interval.estimate <= interval.high
        caught += interval.low <= truth <= interval.high
        width.append(interval.high - interval.low)
    # 95 % less three standard errors of 200 trials; and not by saying "anything is possible".
    assert caught / n_trials >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_trials)
    assert np.mean(width) < 0.45


@pytest.mark.parametrize("kind", ["analytic", "bootstrap"])
@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_of_rates(kind, randomized, weighted):
    """Pointwise intervals of a table: right for 95 % of the samples, not fewer and not all."""
    rng = np.random.default_rng(11)
    caught = []
    for _ in range(250):
        data = simulate(rng, 500, 2, APART[:2], randomized, weighted)
        table = metrics.group_table(**data, interval=kind, n_draws=200)
        for group, rates in enumerate(APART[:2]):
            row = table.row(group)
            for name, truth in (
                ("false_positive_rate", rates[0]),
                ("true_positive_rate", rates[1]),
                ("selection_rate", np.mean(rates)),
                ("error_rate", (rates[0] + 1 - rates[1]) / 2),
            ):
                caught.append(row[f"{name}_low"] <= truth <= row[f"{name}_high"])
    assert 0.92 <= np.mean(caught) <= 0.975


@pytest.mark.parametrize("rate", [0.97, 0.1])
def test_coverage_where_few_people_weigh_much(rate):
    """One in 50 weighs 100; limits from the variance that is seen missed 0.97 in 45 of 100."""
    rng = np.random.default_rng(0)
    samples = 250
    hits = 0
    for _ in range(samples):
        h = (rng.random(1000) < rate).astype(int)
        w = np.where(rng.random(1000) < 0.02, 100.0, 1.0)
        y = rng.integers(0, 2, 1000)
        low, high = metrics.confidence_interval(metrics.selection_rate, y, h, sample_weight=w)[1:]
        hits += low <= rate <= high
    assert hits / samples >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / samples)


def test_decisions_are_worth_no_more_answers_than_kishs_number():
    rng = np.random.default_rng(0)
    y, A = rng.integers(0, 2, (2, 400))
    w = np.where(np.arange(400) % 40 == 0, 100.0, 1.0)
    h = np.where(w > 1, 1, rng.integers(0, 2, 400))  # those who weigh much agree
    audit = Audit.read(y, h, A, sample_weight=w)
    everybody = np.ones((1, audit.cells.n_cells), dtype=bool)
    kish = w.sum() ** 2 / (w**2).sum()
    assert Means.of_rates(audit, SELECTION, everybody).answers[0] == pytest.approx(kish)
    for rate in (TPR, ERROR):
        means = Means.of_rates(audit, rate, everybody)
        assert (means.answers <= means.people + 1e-9).all()


def test_probabilities_of_equal_weight_keep_their_answers():
    """They vary less than decisions do: their intervals are as wide as their variance says."""
    rng = np.random.default_rng(0)
    y, A = rng.integers(0, 2, (2, 400))
    h = 0.5 + 0.2 * rng.uniform(-1, 1, 400)
    audit = Audit.read(y, h, A)
    means = Means.of_rates(audit, SELECTION, np.ones((1, audit.cells.n_cells), dtype=bool))
    relative = h.var() / (h.mean() * (1 - h.mean()))
    assert means.answers[0] == pytest.approx(400 * 404 / (400 * relative + 4))


def test_bootstrap_and_analytic_intervals_agree_on_large_samples():
    rng = np.random.default_rng(5)
    data = simulate(rng, 20_000, 3, APART, False, False)
    for metric in (metrics.equalized_odds_violation, metrics.demographic_parity_ratio):
        analytic = metrics.confidence_interval(metric, **data)
        bootstrap = metrics.confidence_interval(metric, **data, kind="bootstrap")
        assert analytic.estimate == bootstrap.estimate
        assert analytic.low == pytest.approx(bootstrap.low, abs=0.003)
        assert analytic.high == pytest.approx(bootstrap.high, abs=0.003)


def test_a_unanimous_group_is_not_taken_for_certain():
    y, A = np.tile([0, 1], 100), np.repeat([0, 1], [190, 10])
    h = np.where(A == 1, 0, np.arange(200) % 4 == 0)
    interval = metrics.confidence_interval(
        metrics.demographic_parity_difference, y, h, sensitive_features=A
    )
    assert interval.estimate == pytest.approx(np.mean(np.arange(190) % 4 == 0))
    assert interval.low == 0  # nobody of ten is selected, which one in four is compatible with
    assert interval.estimate < interval.high < interval.estimate + 0.1  # a rate is not below 0
    ratio = metrics.confidence_interval(
        metrics.demographic_parity_ratio, y, h, sensitive_features=A
    )
    assert ratio.estimate == ratio.low == 0
    assert 0.1 < ratio.high <= 1


def test_the_same_seed_gives_the_same_interval():
    y, h, A, _ = people(0)
    calls = [
        metrics.confidence_interval(
            metrics.equalized_odds_violation,
            y,
            h,
            sensitive_features=A,
            kind="bootstrap",
            random_state=seed,
        )
        for seed in (1, 1, 2)
    ]
    assert calls[0] == calls[1] != calls[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": accuracy_score}, "expected one of the functions of equipoise.metrics"),
        ({"kind": "exact"}, "interval is 'exact'"),
        ({"level": 95}, "level is 95"),
        ({"kind": "bootstrap", "n_draws": 0}, "n_draws is 0"),
        ({"metric": metrics.error_rate}, "error_rate is a rate of everybody"),
    ],
)
def test_bad_intervals(change, message):
    y, h, A, _ = people(0)
    keywords = {"metric": metrics.demographic_parity_ratio, "sensitive_features": A} | change
    with pytest.raises(ValueError, match=message):
        metrics.confidence_interval(y_true=y, y_pred=h, **keywords)


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
    masks = np.array([*audit.cells.groups().values(), np.ones(audit.cells.n_cells, bool)])
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


@pytest.mark.simulation
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
