"""The e-process: mean at most one under the null, by enumeration, and values by hand."""

from itertools import product
from math import exp, log, prod

import numpy as np
import pytest
from scipy.stats import binom

from equipoise.guarantees.e_process import EProcess

GAP, RATIO, LONE = [1.0, -1.0], [0.8, -1.0], [1.0, 0.0]


def after(a, c, rates, days, detect=0.05):
    process = EProcess([a], [c], [rates], [detect])
    for successes, people in days:
        process.update([successes], [people])
    return process


def outcomes(people, p):
    """Yield every outcome of a day with its probability."""
    for x in product(*(range(n + 1) for n in people)):
        yield x, prod(binom.pmf(k, n, rate) for k, n, rate in zip(x, people, p, strict=True))


@pytest.mark.parametrize(
    ("a", "c", "p"),
    [
        (GAP, 0.1, (0.4, 0.3)),
        (GAP, 0.1, (1.0, 0.9)),
        (GAP, 0.1, (0.1, 0.0)),
        (GAP, 0.1, (0.3, 0.3)),
        (GAP, 0.1, (0.2, 0.9)),
        (GAP, 1.0, (1.0, 0.0)),  # the line is at the ends of all rates
        (RATIO, 0.0, (0.5, 0.4)),
        (RATIO, 0.0, (0.0, 0.0)),
        (LONE, 0.2, (0.2, 0.7)),
        ([-1.0, 0.0], -0.3, (0.3, 0.5)),
        ([0.3, -1.0], 0.5, (0.9, 0.1)),
    ],
)
@pytest.mark.parametrize("rates", [(0.4, 0.3), (0.02, 0.98), (0.9, 0.05)])
def test_the_mean_after_two_tiny_days_is_at_most_one(a, c, p, rates):
    """Every outcome of two days counts: the second day's bets follow from the first."""
    assert np.dot(a, p) <= c + 1e-12
    mean = 0.0
    for first, chance in outcomes((3, 2), p):
        for second, more in outcomes((1, 4), p):
            process = after(a, c, rates, [(first, (3, 2)), (second, (1, 4))], detect=0.3)
            mean += chance * more * exp(process.log_values()[0])
    assert mean <= 1 + 1e-9


def test_it_would_be_above_one_off_the_null():
    mean = sum(
        chance * exp(after(GAP, 0.1, (0.4, 0.3), [(x, (4, 4))], detect=0.3).log_values()[0])
        for x, chance in outcomes((4, 4), (0.7, 0.2))
    )
    assert mean > 1.05


def kept(learned):
    """The share that is not at stake: 0.15 are on the first day."""
    return 0.85 * (1 + learned / 20) ** -1.5 if learned else 1.0


def by_hand(a, c, rates, days, detect):
    """The e-value of one row, person by person, with no logarithms and no arrays."""
    stakes, seen, learned = [0.0] * 3, [[50 * r, 50.0] for r in rates], 0.0
    for x, n in days:
        p = [s / m for s, m in seen]
        v = [r * (1 - r) / k for r, k in zip(p, n, strict=True)]
        V = sum(b * b * w for b, w in zip(a, v, strict=True))
        before, learned = learned, learned + detect**2 / (2 * V)
        off = c - sum(b * r for b, r in zip(a, p, strict=True))
        q = [r + b * w * off / V for r, b, w in zip(p, a, v, strict=True)]
        for number, (share, part) in enumerate(((0.25, 0.05), (0.5, 0.15), (1.0, 0.8))):
            worst = [r if b > 0 else 1 - r for b, r in zip(a, q, strict=True)]
            limits = [0.8 * k / (abs(b) * r) for b, r, k in zip(a, worst, n, strict=True)]
            t = min(share * detect / V, *limits)
            capital = stakes[number] + part * (kept(before) - kept(learned))
            for b, r, k, successes in zip(a, q, n, x, strict=True):
                for person in range(k):
                    capital *= 1 + t * b / k * ((person < successes) - r)
            stakes[number] = capital
        seen = [[s + k, m + i] for (s, m), k, i in zip(seen, x, n, strict=True)]
    return sum(stakes) + kept(learned)


def test_the_value_is_the_product_over_people():
    days = [((12, 5), (20, 19)), ((9, 6), (18, 25)), ((15, 3), (21, 17))]
    for a, c, detect in [(GAP, 0.05, 0.05), (RATIO, 0.0, 0.1), (GAP, 0.05, 5.0)]:
        process = after(a, c, (0.4, 0.35), days, detect)
        expected = by_hand(a, c, (0.4, 0.35), days, detect)
        assert exp(process.log_values()[0]) == pytest.approx(expected, rel=1e-12)


def test_fractions_are_never_overstated():
    """Expected decisions count for at most what the product over people is."""
    whole = after(GAP, 0.05, (0.5, 0.5), [((6, 4), (10, 10))])
    values = []
    for x in (np.array([1.0] * 6 + [0.0] * 4), np.full(10, 0.6)):
        q = np.array([0.525, 0.475])  # half of the bound each
        t = np.array([0.25, 0.5, 1.0]) * 0.05 / 0.05
        left = kept(0.05**2 / (2 * 0.05))
        first = np.prod(1 + t[:, None] / 10 * (x - q[0]), axis=1)
        second = np.prod(1 - t[:, None] / 10 * (np.repeat([1, 0], [4, 6]) - q[1]), axis=1)
        values.append(first * second @ [0.05, 0.15, 0.8] * (1 - left) + left)
    assert exp(whole.log_values()[0]) == pytest.approx(values[0], rel=1e-9)
    assert values[0] < values[1]


def test_a_day_without_a_stratum_moves_nothing():
    days = [((12, 5), (20, 19)), ((9, 6), (18, 25))]
    plain = after(GAP, 0.05, (0.4, 0.35), days)
    process = after(GAP, 0.05, (0.4, 0.35), [((0, 7), (0, 7))])
    assert process.log_values()[0] == pytest.approx(0.0, abs=1e-12)
    assert process.information[0] == 0
    # A row that has no second stratum moves.
    assert after(LONE, 0.2, (0.4, 0.35), [((5, 0), (9, 0))]).information[0] > 0
    assert plain.information[0] > 0


def test_rows_count_by_their_mean_those_near_their_bounds_more():
    process = EProcess([GAP, [-1.0, 1.0]], [0.05, 0.05], [[0.4, 0.35]] * 2, [0.05, 0.05])
    for _ in range(5):
        process.update([[70, 40]] * 2, [[100, 100]] * 2)
    values = np.exp(process.log_values())
    assert values[0] > 10 > 1 > values[1]
    # The first is at its bound in the fit; the second twice the drift of 0.05 below it.
    assert exp(process.log_value()) == pytest.approx(values @ [0.9, 0.1])


def test_many_processes_at_once_are_those_alone():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 30, (4, 7, 1, 2))  # days, runs, rows, strata
    x = rng.binomial(n, 0.4)
    together = EProcess([GAP], [0.05], [[0.4, 0.35]], [0.05])
    for day in range(4):
        together.update(x[day], n[day])
    for run in range(7):
        alone = after(GAP, 0.05, (0.4, 0.35), zip(x[:, run, 0], n[:, run, 0], strict=True))
        assert alone.log_values()[0] == pytest.approx(together.log_values()[run, 0], rel=1e-12)


def test_overwhelming_evidence_and_long_quiet_do_not_overflow():
    loud = after(GAP, 0.05, (0.4, 0.35), [((90_000, 10_000), (10**5, 10**5))] * 3)
    assert np.isfinite(loud.log_values()).all()
    assert loud.log_values()[0] > 1000
    quiet = after(GAP, 0.05, (0.4, 0.35), [((10_000, 90_000), (10**5, 10**5))] * 3)
    # What is left is the capital that was kept: the last day counts for most of it.
    rates = [(50 * r + 2 * x) / (50 + 2e5) for r, x in ((0.4, 1e4), (0.35, 9e4))]
    last = 0.05**2 / 2 * 1e5 / sum(r * (1 - r) for r in rates)
    assert log(kept(3.3 * last)) < quiet.log_values()[0] < log(kept(last))
