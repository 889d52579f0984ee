"""The detector: means under the null by enumeration, values by hand, and simulated alarms."""

from itertools import product
from math import exp, log, prod

import numpy as np
import pytest
from scipy.stats import binom

from equipoise.guarantees.detector import Detector

GAP, RATIO, LONE = [1.0, -1.0], [0.8, -1.0], [1.0, 0.0]


def detector(a=GAP, c=0.05, rates=(0.4, 0.35), detect=0.05, run_length=1e12, period=1e9):
    return Detector([a], [c], [rates], [detect], run_length, period)


def after(days, **options):
    found = detector(**options)
    for successes, people in days:
        found.update([successes], [people], sum(people))
    return found


def capital(found):
    return float(found.state["capital"].sum())


def outcomes(people, p):
    """Yield every outcome of a day with its probability."""
    for x in product(*(range(n + 1) for n in people)):
        yield x, prod(binom.pmf(k, n, rate) for k, n, rate in zip(x, people, p, strict=True))


AT_THE_BOUND = [
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
]


@pytest.mark.parametrize(("a", "c", "p"), AT_THE_BOUND)
@pytest.mark.parametrize("rates", [(0.4, 0.3), (0.02, 0.98), (0.9, 0.05)])
@pytest.mark.parametrize("days", [((3, 2), (1, 4)), ((2, 0), (1, 2), (0, 2))])
def test_the_mean_is_at_most_the_people_so_far(a, c, p, rates, days):
    """Every outcome counts; later bets follow from earlier ones, and people may wait."""
    assert np.dot(a, p) <= c + 1e-12
    mean = 0.0
    for path in product(*(outcomes(people, p) for people in days)):
        chance = prod(part for _, part in path)
        counts = [(x, people) for (x, _), people in zip(path, days, strict=True)]
        mean += chance * capital(after(counts, a=a, c=c, rates=rates, detect=0.3))
    assert mean <= sum(map(sum, days)) + 1e-9


def test_the_mean_is_above_the_people_off_the_null():
    mean = sum(
        chance * capital(after([(x, (4, 4))], c=0.1, rates=(0.4, 0.3), detect=0.3))
        for x, chance in outcomes((4, 4), (0.7, 0.2))
    )
    assert mean > 8.4


@pytest.mark.parametrize(("a", "c", "p"), AT_THE_BOUND)
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_confidence_sequence_rests_on_means_of_at_most_one(a, c, p, sign):
    days = ((3, 2), (1, 4))
    for tilt in (0.5, 0.9):
        mean = 0.0
        for path in product(*(outcomes(people, p) for people in days)):
            counts = [(x, people) for (x, _), people in zip(path, days, strict=True)]
            state = after(counts, a=a, c=c, rates=(0.3, 0.6)).state
            off = sign * (state["total"] - state["precision"] * np.dot(a, p))[0]
            psi = -log(1 - tilt) - tilt
            mean += prod(part for _, part in path) * exp(tilt * off - psi * state["square"][0])
        assert mean <= 1 + 1e-9


def by_hand(a, c, rates, blocks, detect):
    """The capital of one row, person by person, with no logarithms and no arrays."""
    capital, seen = [0.0] * 3, [[50 * r, 50.0] for r in rates]
    for x, n in blocks:
        p = [s / m for s, m in seen]
        v = [r * (1 - r) / k for r, k in zip(p, n, strict=True)]
        V = sum(b * b * w for b, w in zip(a, v, strict=True))
        off = c - sum(b * r for b, r in zip(a, p, strict=True))
        q = [r + b * w * off / V for r, b, w in zip(p, a, v, strict=True)]
        for number, (share, part) in enumerate(((0.25, 0.05), (0.5, 0.15), (1.0, 0.8))):
            worst = [r if b > 0 else 1 - r for b, r in zip(a, q, strict=True)]
            limits = [0.8 * k / (abs(b) * r) for b, r, k in zip(a, worst, n, strict=True)]
            t = min(share * detect / V, *limits)
            capital[number] += part * sum(n)
            for b, r, k, successes in zip(a, q, n, x, strict=True):
                for person in range(k):
                    capital[number] *= 1 + t * b / k * ((person < successes) - r)
        seen = [[s + k, m + i] for (s, m), k, i in zip(seen, x, n, strict=True)]
    return sum(capital)


def test_the_capital_is_the_product_over_people():
    blocks = [((12, 5), (20, 19)), ((9, 6), (18, 25)), ((15, 3), (21, 17))]
    for a, c, detect in [(GAP, 0.05, 0.05), (RATIO, 0.0, 0.1), (GAP, 0.05, 5.0)]:
        expected = by_hand(a, c, (0.4, 0.35), blocks, detect)
        assert capital(after(blocks, a=a, c=c, detect=detect)) == pytest.approx(expected, rel=1e-12)


def test_fractions_are_never_overstated():
    """Expected decisions count for at most what the product over people is."""
    whole = after([((6, 4), (10, 10))], rates=(0.5, 0.5))
    values = []
    for x in (np.array([1.0] * 6 + [0.0] * 4), np.full(10, 0.6)):
        q = np.array([0.525, 0.475])  # half of the bound each
        t = np.array([0.25, 0.5, 1.0]) * 0.05 / 0.05
        first = np.prod(1 + t[:, None] / 10 * (x - q[0]), axis=1)
        second = np.prod(1 - t[:, None] / 10 * (np.repeat([1, 0], [4, 6]) - q[1]), axis=1)
        values.append(20 * first * second @ [0.05, 0.15, 0.8])
    assert capital(whole) == pytest.approx(values[0], rel=1e-9)
    assert values[0] < values[1]


def test_people_wait_for_the_other_stratum_one_by_one_or_together():
    together = after([((2, 1), (4, 1))])
    alone = after([((1, 0), (1, 0)), ((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 1), (0, 1))])
    for name in ("capital", "people", "successes", "precision", "total", "square"):
        assert alone.state[name] == pytest.approx(together.state[name], rel=1e-12)
    assert alone.state["waiting"].tolist() == [[0, 0]]
    waiting = after([((1, 0), (1, 0)), ((0, 0), (1, 0))])
    assert waiting.state["waiting"].tolist() == [[2, 0]]
    assert capital(waiting) == 0
    assert np.isnan(waiting.present()[0]).all()
    assert capital(after([((5, 0), (9, 0))], a=LONE, c=0.2)) > 0  # it has no second stratum


def test_nobody_waits_beyond_a_period_and_the_present_value_starts_again():
    found = after([((3, 0), (5, 0)), ((2, 0), (5, 0))], period=10)
    assert found.state["waiting"].tolist() == [[10, 0]]
    found.update([[0, 1]], [[0, 2]], 2)
    assert found.state["waiting"].tolist() == [[0, 2]]
    assert found.state["dropped"].tolist() == [10]
    found.update([[1, 0]], [[1, 0]], 8)  # seven more of no stratum
    assert found.present()[0] == pytest.approx([0.5])
    found.update([[1, 2]], [[4, 4]], 8)
    assert found.present()[0] == pytest.approx([-0.25])
    # Those who were dropped are in the number of people, which bounds the alarms.
    alone = by_hand(GAP, 0.05, (0.4, 0.35), [((1, 1), (1, 2))], 0.05) / 3 * 20
    assert alone * 0.5 < capital(found) - 8 < alone * 1.5


def test_an_alarm_starts_again_from_nothing_with_the_next_people():
    quiet, drift = ((4, 4), (10, 10)), ((180, 60), (200, 200))
    found = after([quiet, drift], run_length=1000)
    assert found.alarms().tolist() == [True]
    found.update(*[[part] for part in quiet], 20)
    assert not found.alarms().any()
    fresh = detector(run_length=1000)
    fresh.state["people"] = np.array([[210.0, 210.0]])
    fresh.state["successes"] = np.array([[184.0, 64.0]])
    fresh.update(*[[part] for part in quiet], 20)
    assert capital(found) == pytest.approx(capital(fresh))


def test_rows_share_the_false_alarms_those_near_their_bounds_have_more():
    found = Detector([GAP, [-1.0, 1.0]], [0.05, 0.05], [[0.4, 0.35]] * 2, [0.05, 0.05], 1e9, 1e9)
    # The first is at its bound in the fit; the second twice the drift of 0.05 below it.
    assert found.weights == pytest.approx([0.9, 0.1])
    found.update([[70, 40]] * 2, [[100, 100]] * 2, 200)
    sums = found.state["capital"].sum(axis=-1)
    assert found.evidence() == pytest.approx(sums * [0.9, 0.1])


@pytest.mark.parametrize(
    ("batch", "share", "p"),
    [(1, 0.5, (0.35, 0.30)), (5, 0.1, (0.08, 0.03)), (50, 0.5, (0.4, 0.35))],
)
def test_alarms_at_the_bound_are_as_few_as_stated(batch, share, p):
    """Two rows, many runs at once; alarms are counted with those after a new start."""
    rng = np.random.default_rng(0)
    found = Detector([GAP, [-1.0, 1.0]], [0.05, -0.05], [p, p], [0.05, 0.05], 500.0, 1e4)
    alarms, looks = 0, 1500 // batch
    for _ in range(looks):
        first = rng.binomial(batch, share, 400)
        n = np.stack([first, batch - first], axis=1)
        x = rng.binomial(n, p)
        found.update(x[:, None].repeat(2, axis=1), n[:, None].repeat(2, axis=1), batch)
        alarms += found.alarms().sum()
    assert alarms > 0
    assert alarms / 400 <= 1500 / 500


def test_the_confidence_sequence_covers_all_looks_of_a_period():
    """The rates swing, the group is rare, and the limits are looked at after every day."""
    rng = np.random.default_rng(0)
    found = detector(rates=(0.08, 0.03))
    missed = np.zeros(1000, dtype=bool)
    weight, target = np.zeros(1000), np.zeros(1000)
    for day in range(20):
        p = np.array([0.08, 0.03]) * (1 + 0.5 * np.sin(day / 6))
        first = np.maximum(rng.binomial(500, 0.02, 1000), 1)
        n = np.stack([first, 500 - first], axis=1)
        x = rng.binomial(n, p)
        found.update(x[:, None], n[:, None], 500)
        share = 1 / (1 / n).sum(axis=1)
        weight, target = weight + share, target + share * (p[0] - p[1])
        value, radius = found.present()
        missed |= np.abs(value[:, 0] - target / weight) > radius[:, 0]
    assert missed.mean() <= 0.05
    assert radius.mean() < 0.09


def test_the_radius_follows_from_the_sums():
    found = after([((12, 5), (20, 19)), ((9, 6), (18, 25))])
    weights = [1 / (1 / 20 + 1 / 19), 1 / (1 / 18 + 1 / 25)]
    differences = [12 / 20 - 5 / 19, 9 / 18 - 6 / 25]
    value, radius = found.present(0.9)
    assert value == pytest.approx(np.average(differences, weights=weights))
    reaches = [
        (log(20 * j * (j + 1)) + (-log(1 - 2**-j) - 2**-j) * found.state["square"][0]) * 2**j
        for j in range(1, 9)
    ]
    assert radius == pytest.approx(min(reaches) / sum(weights))
    assert found.present(0.99)[1] > radius


def test_the_sum_of_squares_is_that_of_all_people():
    found = after([((12, 5), (20, 19))], rates=(0.4, 0.35))
    weight = 1 / (1 / 20 + 1 / 19)
    first = 12 * 0.6**2 + 8 * 0.4**2
    second = 5 * 0.65**2 + 14 * 0.35**2
    expected = weight**2 * (first / 20**2 + second / 19**2)
    assert found.state["square"] == pytest.approx(expected)
    # Scaled so that nobody changes the sum by more than one, whatever the coefficients.
    scaled = after([((12, 5), (20, 19))], rates=(0.4, 0.35), a=[0.5, -0.5])
    assert scaled.state["square"] == pytest.approx(expected)


def test_many_detectors_at_once_are_those_alone():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 30, (4, 7, 1, 2))  # days, runs, rows, strata
    x = rng.binomial(n, 0.4)
    together = detector()
    for day in range(4):
        together.update(x[day], n[day], 60)
    for run in range(7):
        alone = detector()
        for day in range(4):
            alone.update(x[day, run], n[day, run], 60)
        for name, values in alone.state.items():
            every = np.broadcast_to(together.state[name], (7, *values.shape))
            assert every[run] == pytest.approx(values, rel=1e-12)


def test_overwhelming_evidence_and_long_quiet_do_not_overflow():
    loud = after([((90_000, 10_000), (10**5, 10**5))] * 3)
    assert np.isfinite(capital(loud))
    assert loud.alarms().all()
    quiet = after([((10_000, 90_000), (10**5, 10**5))] * 3)
    assert 0 <= capital(quiet) < 1e-100
