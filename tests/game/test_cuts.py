"""Cuts: searches along lines against every cut tried one by one, ties included."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.constraints import DemographicParity, EqualizedOdds
from equipoise.game.cuts import Criteria, directions_of, find_cut, search_line
from equipoise.game.lagrangian import Lagrangian


def people(seed, n=30, R=2, ties=False):
    rng = np.random.default_rng(seed)
    gain = rng.normal(size=(n, 2 + R)) / n
    low, high = -rng.random(R) * 0.1, rng.random(R) * 0.1
    criteria = Criteria(gain, np.append([0.3, 0.4], np.zeros(R)), low, high, 0.35)
    draw = (lambda: rng.integers(-2, 3, n).astype(float)) if ties else (lambda: rng.normal(size=n))
    return draw(), draw(), criteria


def by_hand(selected, criteria):
    """The cost of a rule, from its definition."""
    sums = criteria.offset + np.array(list(criteria.gain[selected])).sum(axis=0)
    rows = sums[2:]
    excess = max((rows - criteria.high).max(), (criteria.low - rows).max())
    unmet = 2e-3 + 5.0 * excess if excess > 1e-10 else 0.0
    return 0.1 * sums[0] + 2.0 * max(sums[1] - criteria.error, 0.0) + unmet


def least_of_all(scores, slopes, criteria):
    """The least cost over every cut of the line: between people, and beyond them."""
    moving = slopes != 0
    at = np.unique(-scores[moving] / slopes[moving])
    steps = [at[0] - 1, *(at[1:] + at[:-1]) / 2, at[-1] + 1]
    return min(by_hand(scores + a * slopes > 0, criteria) for a in steps)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_the_best_cut_of_a_line_is_found(seed, ties):
    scores, slopes, criteria = people(seed, ties=ties)
    cost, step = search_line(scores, slopes, criteria)
    assert cost == pytest.approx(least_of_all(scores, slopes, criteria), abs=1e-12)
    assert by_hand(scores + step * slopes > 0, criteria) == pytest.approx(cost, abs=1e-12)


def test_nobody_moves_along_a_line_of_no_slope():
    scores, slopes, criteria = people(0)
    assert search_line(scores, 0 * slopes, criteria) == (np.inf, 0.0)


@pytest.mark.parametrize("constraint", [DemographicParity(0.05), EqualizedOdds(0.1)])
@pytest.mark.parametrize("reference", ["overall", "pairwise"])
def test_two_sided_inequalities_are_those_of_the_game(constraint, reference):
    rng = np.random.default_rng(0)
    y, A = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
    cells = Cells.from_columns(y, {"A": A})
    rule = type(constraint)(constraint.eps, reference=reference)
    game = Lagrangian.from_moments(rule.moments(cells), cells)
    fair = cells.sum(np.full(200, 0.5))
    slopes, low, high = directions_of(game, fair)
    assert len(slopes) == game.n_constraints / 2
    for _ in range(20):
        s = cells.sum(rng.random(200) < rng.random())
        rows = slopes @ s
        excess = np.maximum(rows - high, low - rows).max()
        assert excess == pytest.approx((game.gamma(s) - game.c).max())


def test_the_rule_found_is_within_the_bounds_and_near_the_mixture():
    """Two scores, two groups; the mixture of two cuts is nearly matched by a third one."""
    rng = np.random.default_rng(1)
    n = 2000
    A = rng.integers(0, 2, n)
    X = np.column_stack([A + rng.normal(size=n), rng.normal(size=n), np.ones(n)])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.5).astype(int)
    cells = Cells.from_columns(y, {"A": A})
    game = Lagrangian.from_moments(DemographicParity(0.05).moments(cells), cells)
    first, second = np.array([1.0, 1.0, -0.5]), np.array([-0.4, 1.0, 0.2])
    mixed = 0.5 * (X @ first > 0) + 0.5 * (X @ second > 0)
    s = cells.sum(mixed)
    slopes, low, high = directions_of(game, s)
    gain = [(1 - 2 * mixed) / n, cells.signed_costs(game.error_slope)]
    gain = np.column_stack([*gain, *(cells.signed_costs(slope) for slope in slopes)])
    offset = np.append([mixed.mean(), game.error_offset], np.zeros(len(slopes)))
    error = float(game.error(s))
    criteria = Criteria(gain, offset, low, high, error)
    theta = find_cut(X, [first, second], criteria, np.random.default_rng(0), error)
    h = X @ theta > 0
    rates = [h[a == A].mean() for a in (0, 1)]
    assert max(abs(rate - h.mean()) for rate in rates) <= max(high.max(), -low.min()) + 1e-9
    assert (h != y).mean() <= error + 1e-9
    np.testing.assert_allclose(criteria.sums(h)[:2], [np.abs(h - mixed).mean(), (h != y).mean()])


def test_a_sample_has_the_sums_of_the_mixture_over_all_people():
    _, _, criteria = people(3, n=200)
    rng = np.random.default_rng(0)
    mixed = rng.choice([0.0, 0.3, 1.0], 200)
    rows = np.sort(rng.choice(200, 40, replace=False))
    sample = criteria.of_sample(rows, mixed)
    of_all = criteria.offset + mixed @ criteria.gain
    np.testing.assert_allclose(sample.offset + mixed[rows] @ sample.gain, of_all)
