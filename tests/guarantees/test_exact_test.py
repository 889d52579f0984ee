"""Tests of single rows: brute-force likelihoods, and the exact size over nuisance rates."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from equipoise.guarantees.exact_test import exact_p, most_likely_rates, score_p, share_limits

#: From the least to the largest group that is usual, and two that are alike.
SIZES = [(20, 60), (50, 100), (100, 400), (300, 300)]


def size(reject, n, a, c, grid=60):
    """The largest chance to reject at rates on the line a.p = c, over the rate of the second."""
    x = [np.arange(m + 1) for m in n]
    found = 0.0
    for second in np.linspace(0.005, 0.995, grid):
        first = (c - a[1] * second) / a[0]
        if 0 <= first <= 1:
            chance = binom.pmf(x[0], n[0], first) @ reject @ binom.pmf(x[1], n[1], second)
            found = max(found, float(chance))
    return found


def tables(n):
    return np.stack(np.meshgrid(*(np.arange(m + 1) for m in n), indexing="ij"), axis=-1)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("c", [0.05, 0.1])
def test_the_size_of_the_score_test(n, c):
    reject = score_p(tables(n), n, (1.0, -1.0), c) <= 0.05
    assert 0.03 < size(reject, n, (1.0, -1.0), c) <= 0.06


@pytest.mark.parametrize("n", SIZES[1:])
def test_the_size_of_the_score_test_of_four_fifths(n):
    reject = score_p(tables(n), n, (0.8, -1.0), 0.0) <= 0.05
    assert 0.03 < size(reject, n, (0.8, -1.0), 0.0) <= 0.06


@pytest.mark.parametrize(("n", "a", "c"), [((12, 20), (1.0, -1.0), 0.1), ((9, 15), (0.8, -1), 0.0)])
def test_the_size_of_the_exact_test(n, a, c):
    x = tables(n)
    p = np.array([[exact_p(table, n, a, c) for table in line] for line in x])
    for level in (0.05, 0.2):
        assert size(p <= level, n, a, c, grid=400) <= level


def test_the_exact_test_of_one_rate_is_binomial():
    assert exact_p([3], [40], [1.0], 0.2) == pytest.approx(binom.cdf(3, 40, 0.2))
    assert exact_p([35], [40], [-1.0], -0.7) == pytest.approx(binom.sf(34, 40, 0.7))


def test_exact_and_score_agree_where_there_are_many():
    x, n = [690, 1160], [2000, 3000]
    score, exact = (test(x, n, [1, -1], 0.0) for test in (score_p, exact_p))
    assert float(score) == pytest.approx(exact, abs=1e-3)


def likelihood(p, x, n):
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.sum(x * np.log(p) + (n - x) * np.log(1 - p))


@pytest.mark.parametrize("seed", range(30))
def test_most_likely_rates_by_brute_force(seed):
    """The rate of the first stratum follows from that of the second; all of those are tried."""
    rng = np.random.default_rng(seed)
    n = rng.integers(5, 400, 2).astype(float)
    x = np.round(n * rng.uniform(0, 1, 2), 1)
    if seed % 5 == 0:
        x[seed % 2] = 0.0
    a = np.array([rng.uniform(0.3, 1.0), -rng.uniform(0.3, 1.0)])
    c = float(rng.uniform(-0.2, 0.2))

    def negative(second):
        first = (c - a[1] * second) / a[0]
        return -likelihood(np.array([first, second]), x, n)

    ends = np.sort([(c - a[0]) / a[1], c / a[1]])
    low, high = max(ends[0], 0.0), min(ends[1], 1.0)
    best = minimize_scalar(negative, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    found = most_likely_rates(x, n, a, c)
    assert a @ found == pytest.approx(c, abs=1e-6)
    assert likelihood(found, x, n) >= -best.fun - 1e-4


def test_three_strata_meet_the_bound_and_nothing_near_is_likelier():
    x, n, a, c = np.array([20.0, 30, 5]), np.array([50.0, 90, 40]), np.array([1, -0.5, -0.5]), 0.1
    found = most_likely_rates(x, n, a, c)
    assert a @ found == pytest.approx(c, abs=1e-7)
    for move in ([0.01, 0.02, 0.0], [0.01, 0.0, 0.02], [0.0, 0.01, -0.01]):
        for sign in (1, -1):
            assert likelihood(found + sign * np.array(move), x, n) < likelihood(found, x, n)


def test_bounds_that_nothing_can_exceed_or_keep():
    assert float(score_p([5, 5], [10, 10], [1, -1], 1.5)) == 0.0
    assert float(score_p([5, 5], [10, 10], [1, -1], -1.5)) == 1.0
    assert exact_p([5, 5], [10, 10], [1, -1], 1.5) == 0.0
    assert exact_p([5, 5], [10, 10], [1, -1], -1.5) == 1.0


def test_nobody_selected_is_no_proof_among_few():
    assert float(score_p([0, 0], [15, 15], [1, -1], 0.05)) > 0.05
    assert exact_p([0, 0], [15, 15], [1, -1], 0.05) > 0.05
    assert float(score_p([0, 0], [1000, 1000], [1, -1], 0.05)) < 1e-6


def test_a_bound_that_the_larger_group_is_far_below():
    """Rates at the bound are outside of the limits for the nuisance rate."""
    assert exact_p([0, 0], [59, 532], [-1, 1], 0.05) <= 1e-4
    assert exact_p([0, 0], [59, 532], [1, -1], 0.05) == pytest.approx(0.95**59, abs=2e-3)


def test_the_exact_test_is_for_two_strata_at_most():
    with pytest.raises(ValueError, match="3 strata"):
        exact_p([1, 1, 1], [5, 5, 5], [1, -1, -1], 0.0)


def test_two_strata_by_a_cubic_are_those_by_bisection():
    """A third stratum that does not count leads to the way for any number of them."""
    rng = np.random.default_rng(0)
    n = 10.0 ** rng.integers(0, 6, (2000, 2)) * rng.integers(1, 10, (2000, 2))
    x = np.round(n * rng.choice([0.0, 0.1, 0.5, 1.0], (2000, 2)))  # corners too
    a, c = rng.choice([-1.0, -0.8, 0.5, 1.0], (2000, 2)), rng.uniform(-1.2, 1.2, 2000)
    three = (
        np.column_stack([each, last]) for each, last in ((x, c * 0), (n, c * 0 + 1), (a, c * 0))
    )
    assert score_p(x, n, a, c) == pytest.approx(score_p(*three, c), abs=1e-7)


@pytest.mark.parametrize(
    ("x", "n", "a", "c"),
    [
        ((3, 9), (60, 60), (1.0, -1.0), 0.05),
        ((0, 0), (60, 80), (1.0, -1.0), 0.05),
        ((1, 30), (40, 400), (1.0, -1.0), 0.02),
        ((38, 350), (40, 400), (-1.0, 1.0), 0.1),
        ((20, 60), (50, 100), (-1.0, 0.8), 0.1),
        ((2, 5), (300, 300), (1.0, -1.0), 0.0091),
        ((0, 0), (59, 532), (-1.0, 1.0), 0.01),
    ],
)
def test_the_grid_of_nuisance_rates_misses_nothing(x, n, a, c):
    """No nuisance rate of a grid that is fifty times finer gives a larger probability."""
    table = tables(n)
    score = score_p(table, n, a, c)
    extreme = score <= float(score_p(x, n, a, c)) * (1 + 1e-9)
    low, high = share_limits(x[1], n[1], 1e-4)
    ends = np.sort([(c - a[0]) / a[1], c / a[1]])
    second = np.linspace(max(low, ends[0], 0.0), min(high, ends[1], 1.0), 4000)
    first = np.clip((c - a[1] * second) / a[0], 0.0, 1.0)
    one = binom.pmf(np.arange(n[0] + 1)[:, None], n[0], first)
    other = binom.pmf(np.arange(n[1] + 1)[:, None], n[1], second)
    finest = np.einsum("iu,ij,ju->u", one, extreme.astype(float), other).max() + 1e-4
    assert finest <= exact_p(x, n, a, c) <= finest + 1.5e-3
