"""The least random optimum, against all mixtures of a fine grid, from raw decisions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.constraints import DemographicParity, EqualizedOdds
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.least_random import _Search, least_random, lottery, members_that_matter
from equipoise.game.mixture import Mixture, best_mixture
from equipoise.game.simplex import _State

STEPS = 20


def problem(seed, constraint, P=5, n=40):
    """Decisions H (P, n) of nested cuts with noise, the game, and shares (P, C)."""
    rng = np.random.default_rng(seed)
    y, A = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = y + A + rng.normal(size=n)
    H = np.array([score + 0.4 * rng.normal(size=n) > t for t in np.linspace(0.0, 2.0, P)])
    cells = Cells.from_columns(y, {"A": A})
    game = Lagrangian.from_moments(constraint.moments(cells), cells)
    return H, game, np.array([cells.sum(h) for h in H])


def differ(H):
    return (H[:, None, :] != H[None, :, :]).mean(axis=2)


def least_random_within(game, s, H, mixture, room):
    """The least random mixture that meets the bounds as this one does and errs ``room`` more."""
    now = mixture.shares(s)
    asked = np.append(np.maximum(game.c, game.gamma(now)), game.error(now) + room)
    excess = np.column_stack([game.gamma(s), game.error(s)]) - asked
    return least_random(excess, differ(H), mixture, free=0)


def divided(H, q):
    """The share of people on whom the members with weight do not agree, counted."""
    some = H[np.asarray(q) > 1e-9]
    return float((some.any(axis=0) & ~some.all(axis=0)).mean())


def grid(P):
    return [np.array(q) / STEPS for q in product(range(STEPS + 1), repeat=P) if sum(q) == STEPS]


@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.1), EqualizedOdds(eps=0.3)])
@pytest.mark.parametrize("seed", range(12))
def test_no_mixture_of_a_fine_grid_is_less_random(seed, constraint):
    H, game, s = problem(seed, constraint)
    if game.violation(s).min() > 0.2:
        pytest.skip("far from every bound")
    game = game.relaxed(float(game.violation(s).min()))
    best, room = best_mixture(game, s), 0.03
    found = least_random_within(game, s, H, best, room)
    q = np.zeros(len(H))
    q[found.indices] = found.weights
    mine, most = divided(H, q), float(game.error(best.shares(s))) + room
    assert mine == pytest.approx(lottery(differ(H), found.indices).share)
    assert game.violation(q @ s) <= 1e-9
    assert game.error(q @ s) <= most + 1e-9
    assert mine <= divided(H, np.eye(len(H))[best.indices].sum(axis=0)) + 1e-12
    for other in grid(len(H)):
        if game.violation(other @ s) <= 0 and game.error(other @ s) <= most:
            assert mine <= divided(H, other) + 1e-12


@pytest.fixture
def two():
    """Decisions by group, without error, and nobody selected: half of the first is within 1/4."""
    A = np.repeat([0, 1], 4)
    H = np.array([A == 1, np.zeros(8, bool)])
    cells = Cells.from_columns(A, {"A": A})
    game = Lagrangian.from_moments(DemographicParity(eps=0.25).moments(cells), cells)
    return H, game, np.array([cells.sum(h) for h in H])


def test_of_equally_random_mixtures_the_nearest_to_the_unconstrained_decisions(two):
    H, game, s = two
    far = Mixture.of_weights(np.array([0.3, 0.7]), np.zeros(4))
    found = least_random_within(game, s, H, far, 0.0)
    np.testing.assert_allclose(found.weights, [0.5, 0.5])


def test_nothing_to_gain_leaves_the_mixture_as_it_is(two):
    H, game, s = two
    best = best_mixture(game, s)
    np.testing.assert_allclose(best.weights, [0.5, 0.5])
    assert least_random_within(game, s, H, best, 0.0) is best
    assert least_random_within(game, s, H, best, 0.2) is best
    alone = least_random_within(game, s, H, best, 0.25)
    assert alone.indices.tolist() == [1]  # nobody selected: half of the people more are wronged


def test_share_of_up_to_three_members_is_exact_and_of_more_an_upper_value():
    rng = np.random.default_rng(0)
    for _ in range(50):
        H = rng.random((5, 30)) < rng.random((5, 1))
        for size in range(1, 6):
            members = np.arange(size)
            found = lottery(differ(H), members)
            counted = divided(H[:size], np.ones(size))
            assert found.exact == (size <= 3)
            assert found.share == pytest.approx(counted) if found.exact else True
            assert found.share >= counted - 1e-12


def test_only_members_that_could_have_weight_are_considered():
    H, game, s = problem(0, DemographicParity(eps=0.1), P=5)
    game = game.relaxed(float(game.violation(s).min()))
    best = best_mixture(game, s)
    lam = best.multipliers
    value = game.value(s, lam)
    few = members_that_matter(value, best, gap=1e-6, free=4)
    assert few[: len(best.indices)].tolist() == best.indices.tolist()
    assert 4 in few
    every = members_that_matter(value, best, gap=10.0, free=4)
    assert sorted(every.tolist()) == list(range(len(H)))
    lower = value.min()
    for q in np.random.default_rng(0).dirichlet(np.ones(len(H)), 200):
        gap = float(game.error(q @ s)) - lower
        if game.violation(q @ s) <= 0:
            left_out = np.setdiff1d(
                np.arange(len(H)), members_that_matter(value, best, gap=gap, free=4)
            )
            assert (q[left_out] <= 0.05 + 1e-9).all()


def test_sets_that_could_meet_all_are_found_by_their_bits():
    rng = np.random.default_rng(0)
    for rows in (3, 64, 130):
        excess = rng.normal(-1.0, 1.0, size=(12, rows))
        differ_by = np.abs(rng.normal(size=(12, 12)))
        found = _Search(excess, differ_by, Mixture.of_weights(np.ones(12), np.zeros(rows)))
        sets = np.array(list(combinations(range(12), 2)))
        some = np.concatenate([sets[:0], *found._possible(sets)])
        met = (excess[sets].min(axis=1) <= 1e-12).all(axis=1)
        np.testing.assert_array_equal(some, sets[met])


@pytest.mark.parametrize("seed", range(6))
def test_programs_start_where_the_mixture_was_found(seed, monkeypatch):
    H, game, s = problem(seed, EqualizedOdds(eps=0.3), P=12)
    game = game.relaxed(float(game.violation(s).min()))
    best, steps = best_mixture(game, s), []
    exchange = _State._exchange
    counted = lambda *args: steps.append(1) or exchange(*args)  # noqa: E731
    monkeypatch.setattr(_State, "_exchange", counted)
    found = least_random_within(game, s, H, best, 0.0)
    warm = len(steps)
    cold = least_random_within(game, s, H, replace(best, vertex=None), 0.0)
    assert warm <= len(steps) - warm
    np.testing.assert_array_equal(found.indices, cold.indices)
    np.testing.assert_allclose(found.weights, cold.weights, atol=1e-9)
