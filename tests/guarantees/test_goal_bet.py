"""The goal bet: its size where rows are at their bounds, its power, and what it may not know."""

import numpy as np
import pytest

from equipoise.guarantees.goal_bet import goal_p, units_p

PAIR = np.array([1.0, -1.0])


def proven(p, n, a, c, alpha=0.05, runs=2000, seed=0, prior=None):
    """The share of runs in which a row is proven for 0/1 outcomes with rates p."""
    rng = np.random.default_rng(seed)
    outcomes = [rng.random((runs, m)) < rate for m, rate in zip(n, p, strict=True)]
    return np.mean(goal_p(outcomes, a, c, alpha, prior=p if prior is None else prior) <= alpha)


def allowed(level, runs):
    """A share that a test of this level exceeds with a chance below 0.001."""
    return level + 3.1 * np.sqrt(level * (1 - level) / runs)


@pytest.mark.parametrize(
    ("p", "n", "a", "c"),
    [
        ((0.1, 0.0), (20, 20), PAIR, 0.1),
        ((1.0, 0.9), (100, 100), PAIR, 0.1),
        ((0.0091, 0.0), (300, 300), PAIR, 0.0091),
        ((0.5, 0.4, 0.3), (100, 300, 50), (1.0, -0.5, -0.5), 0.15),
        ((0.4, 0.5), (200, 400), (-1.0, 0.8), 0.0),
    ],
)
@pytest.mark.parametrize("prior", [None, 0.5])
def test_the_size_at_the_bound_whatever_was_expected(p, n, a, c, prior):
    expected = None if prior is None else [prior] * len(n)
    assert proven(p, n, np.array(a), c, prior=expected) <= allowed(0.05, 2000)
    assert proven(p, n, np.array(a), c, alpha=0.2, prior=expected) <= allowed(0.2, 2000)


def test_the_power_is_nearly_that_of_the_normal_test():
    """Room for 2.6 standard errors: a test with a known variance would prove 0.83."""
    n, rate, c = (2500, 2500), 0.3, 0.05
    error = np.sqrt(((rate + c) * (0.7 - c) + rate * (1 - rate)) / n[0])
    assert proven((rate + c - 2.6 * error, rate), n, PAIR, c, runs=500) > 0.75


def test_outcomes_between_minus_one_and_one():
    """One stratum of paired differences: no more than 0.02 on average, and 0.02 exactly."""
    rng = np.random.default_rng(0)
    for mean, least, most in ((0.0, 0.9, 1.0), (0.02, 0.0, allowed(0.05, 500))):
        chance = [(0.1 - mean) / 2, 0.9, (0.1 + mean) / 2]
        d = rng.choice([-1.0, 0.0, 1.0], p=chance, size=(500, 3000))
        p = goal_p([d], [1.0], 0.02, 0.05, prior=[0.0], low=-1.0, high=1.0)
        assert least <= np.mean(p <= 0.05) <= most


def test_bounds_that_nothing_can_exceed_and_strata_without_people():
    x = [np.ones((2, 5)), np.zeros((2, 5))]
    assert goal_p(x, PAIR, 1.0, 0.05, prior=[0.5, 0.5]).tolist() == [0.0, 0.0]
    assert goal_p([x[0], x[1][:, :0]], PAIR, 0.5, 0.05, prior=[0.5, 0.5]).tolist() == [1.0, 1.0]


def test_the_capital_is_made_of_the_past_alone():
    """Two candidates that differ in the last block only have the same stakes before it."""
    rng = np.random.default_rng(1)
    x = (rng.random((1, 400)) < 0.3).astype(float)
    other = x.copy()
    other[:, -1] = 1 - other[:, -1]
    together = goal_p([np.vstack([x, other])], [1.0], 0.35, 0.05, prior=[0.3])
    alone = np.concatenate([goal_p([v], [1.0], 0.35, 0.05, prior=[0.3]) for v in (x, other)])
    assert together == pytest.approx(alone)


def households(n, rng, rate, mixed):
    """Weights and selected parts of households in which all are decided alike."""
    size = rng.choice([1, 2, 3], n)
    women = rng.binomial(size, 0.4) if mixed else size * (rng.random(n) < 0.4)
    w = np.stack([women, size - women]).astype(float)
    luck = rng.random(n)
    return w, np.stack([w[0] * (luck < rate[0]), w[1] * (luck < rate[1])])


@pytest.mark.parametrize("mixed", [False, True])
def test_households_count_once(mixed):
    rng = np.random.default_rng(2)
    kind = {"is_disjoint": True, "is_single": not mixed}
    broken = found = 0
    for _ in range(300):
        w, u = households(1500, rng, (0.35, 0.3), mixed)
        broken += units_p(w, u[None], PAIR, 0.05, 0.05, 3.0, **kind)[0] <= 0.05
        w, u = households(1500, rng, (0.3, 0.3), mixed)
        found += units_p(w, u[None], PAIR, 0.1, 0.05, 3.0, **kind)[0] <= 0.05
    assert broken / 300 <= allowed(0.05, 300)
    assert found / 300 > 0.4


def test_one_heavy_person_in_fifty():
    """Weights of 100, and a rate that rises with them: normal tests err in a third of runs."""
    rng = np.random.default_rng(3)
    broken = 0
    for _ in range(400):
        weight = np.where(rng.random((2, 500)) < 0.02, 100.0, 1.0)
        heavy = weight > 1
        w = np.zeros((2, 1000))
        w[0, ::2], w[1, 1::2] = weight
        # E wx / E w of the first rate is 0.05 + that of the second, which is zero.
        rate = 0.05 * (0.98 + 2.0) / 2.0
        u = w * 0.0
        u[0, ::2] = weight[0] * heavy[0] * (rng.random(500) < rate)
        broken += units_p(w, u[None], PAIR, 0.05, 0.05, 100.0, is_single=True)[0] <= 0.05
    assert broken / 400 <= allowed(0.05, 400)


def test_groups_that_share_people():
    """A group against everybody, with three rates, and one rate alone."""
    rng = np.random.default_rng(4)
    A = rng.random(6000) < 0.3
    x = rng.random(6000) < 0.3
    w = np.stack([A, np.ones(6000)]).astype(float)
    assert units_p(w, (w * x)[None], PAIR, 0.1, 0.05, 1.0)[0] <= 0.05
    third = np.vstack([w, ~A])
    a = np.array([1.0, -0.5, -0.5])
    assert units_p(third, (third * x)[None], a, 0.25, 0.05, 1.0)[0] <= 0.05
    one = np.ones((1, 500))
    assert units_p(one, (one * x[:500])[None], [1.0], 0.4, 0.05, 1.0, is_single=True)[0] <= 0.05


def test_expected_variances_move_power_and_not_validity():
    """Differences of two decisions on the same person are -1, 0 or 1, and mostly 0."""
    rng = np.random.default_rng(5)
    draws = rng.random((1000, 600))
    options = {"prior": [0.0], "low": -1.0, "high": 1.0}
    shares = {}
    for excess in (0.0, 0.04):  # below the bound of 0.04, and at it
        differences = np.where(draws < 0.02 + excess, 1.0, np.where(draws > 0.98, -1.0, 0.0))
        for variance in (None, 0.1):
            p = goal_p([differences], [1.0], 0.04, 0.05, variance=variance, **options)
            shares[excess, variance] = np.mean(p <= 0.05)
    assert shares[0.0, 0.1] > shares[0.0, None] + 0.1
    assert shares[0.04, None] <= allowed(0.05, 1000)
    assert shares[0.04, 0.1] <= allowed(0.05, 1000)
