"""The Lagrangian against averages over rows: linear in both players, blind to names and order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from finite_problems import FiniteProblem, random_problem
from games import constraint_of, fit, game_of, listed, paper_order
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise import FairClassifier
from equipoise.game import Lagrangian

steady = settings(deadline=None, derandomize=True, max_examples=40)
seeds = st.integers(0, 10**6)


def shares(problem: FiniteProblem) -> tuple[Lagrangian, np.ndarray, np.ndarray]:
    """Return the game, the shares of every classifier, and the paper's order of the rows."""
    game = game_of(problem, B=2.0)
    return game.lagrangian, game.oracle.s, paper_order(problem, game.moments.rows)


def random_lambdas(seed: int, count: int, K: int) -> np.ndarray:
    return np.random.default_rng(seed).exponential(size=(count, K))


@steady
@given(seeds)
def test_error_and_gamma_are_averages_over_the_rows(seed: int) -> None:
    problem = random_problem(seed)
    lagrangian, s, order = shares(problem)
    assert lagrangian.error(s) == pytest.approx(problem.error(), abs=1e-12)
    assert lagrangian.gamma(s)[:, order] == pytest.approx(problem.gamma(), abs=1e-12)
    worst = np.maximum(problem.gamma().max(axis=1) - problem.eps, 0)
    assert lagrangian.violation(s) == pytest.approx(worst, abs=1e-12)


@steady
@given(seeds)
def test_value_is_error_plus_lambda_times_the_excess(seed: int) -> None:
    problem = random_problem(seed)
    lagrangian, s, order = shares(problem)
    lams = random_lambdas(seed, 3, len(order))
    expected = [problem.lagrangian(lam[order]) for lam in lams]
    assert lagrangian.value(s, lams) == pytest.approx(np.array(expected), abs=1e-12)
    assert lagrangian.value(s[0], lams[1]) == pytest.approx(expected[1][0], abs=1e-12)


@steady
@given(seeds)
def test_value_is_linear_in_Q(seed: int) -> None:
    problem = random_problem(seed)
    lagrangian, s, order = shares(problem)
    q = np.random.default_rng(seed).dirichlet(np.ones(len(s)))
    (lam,) = random_lambdas(seed, 1, len(order))
    assert lagrangian.value(q @ s, lam) == pytest.approx(q @ lagrangian.value(s, lam), abs=1e-12)
    # The shares of Q are those of its probabilities of selecting each row (appendix A).
    probabilities = game_of(problem).cells.sum(problem.mixture(q))
    assert probabilities == pytest.approx(q @ s, abs=1e-12)


@steady
@given(seeds, st.floats(-2, 3))
def test_value_is_affine_in_lambda(seed: int, a: float) -> None:
    problem = random_problem(seed)
    lagrangian, s, order = shares(problem)
    one, other = random_lambdas(seed, 2, len(order))
    between = lagrangian.value(s, a * one + (1 - a) * other)
    assert between == pytest.approx(
        a * lagrangian.value(s, one) + (1 - a) * lagrangian.value(s, other), abs=1e-11
    )
    assert lagrangian.value(s, 0 * one) == pytest.approx(problem.error(), abs=1e-12)


@steady
@given(seeds)
def test_costs_are_the_slope_of_the_value(seed: int) -> None:
    problem = random_problem(seed)
    lagrangian, s, order = shares(problem)
    (lam,) = random_lambdas(seed, 1, len(order))
    nobody = lagrangian.value(np.zeros(s.shape[1]), lam)
    values = problem.lagrangian(lam[order])
    assert nobody + s @ lagrangian.costs(lam) == pytest.approx(values, abs=1e-12)


@steady
@given(seeds)
def test_upper_is_the_largest_value_and_best_lambda_attains_it(seed: int) -> None:
    problem = random_problem(seed)
    lagrangian, s, order = shares(problem)
    corners = np.vstack([np.zeros(len(order)), 2.0 * np.eye(len(order))])
    values = np.array([problem.lagrangian(corner) for corner in corners])
    for h, largest in enumerate(values.max(axis=0)):
        lam = lagrangian.best_lambda(s[h])
        assert lagrangian.upper(s[h]) == pytest.approx(largest, abs=1e-7)
        assert problem.lagrangian(lam[order])[h] == pytest.approx(largest, abs=1e-12)
        assert lam.sum() in (0.0, 2.0)


@steady
@given(seeds)
def test_lower_is_the_best_of_the_dual_bounds(seed: int) -> None:
    problem = random_problem(seed)
    lagrangian, s, order = shares(problem)
    lams = random_lambdas(seed, 4, len(order))
    bounds = [problem.lagrangian(lam[order]).min() for lam in lams]
    lower, lam = lagrangian.lower(s, lams)
    assert lower == pytest.approx(max(bounds), abs=1e-12)
    assert lam.tolist() == lams[int(np.argmax(bounds))].tolist()


def test_relaxed_and_feasibility_games() -> None:
    problem = random_problem(5)
    lagrangian, s, order = shares(problem)
    loose = lagrangian.relaxed(0.03)
    expected = shares(replace(problem, eps=problem.eps + 0.03))[0]
    assert loose.violation(s) == pytest.approx(expected.violation(s), abs=1e-12)
    assert loose.error(s) == pytest.approx(problem.error(), abs=1e-12)
    alone = lagrangian.feasibility()
    assert alone.error(s) == pytest.approx(0)
    assert [alone.upper(h) for h in s] == pytest.approx(lagrangian.violation(s), abs=1e-7)
    per_row = np.linspace(0, 1, len(order))
    assert lagrangian.relaxed(per_row).c == pytest.approx(problem.eps + per_row)


# --- what must not matter ------------------------------------------------------------------------


def assert_same_game(one: FiniteProblem, other: FiniteProblem, rename: dict | None = None) -> None:
    """Compare error, gamma and value of all classifiers, constraint by constraint."""
    (first, s, order), (second, t, other_order) = shares(one), shares(other)
    if rename:  # the paper's order of the new names, in terms of the old ones
        keys = [k._replace(group=rename[k.group]) for k in one.keys]
        other_order = other_order[[other.keys.index(k) for k in keys]]
    assert second.error(t) == pytest.approx(first.error(s), abs=1e-12)
    assert second.gamma(t)[:, other_order] == pytest.approx(first.gamma(s)[:, order], abs=1e-12)
    assert second.c[other_order] == pytest.approx(first.c[order])


def permuted(problem: FiniteProblem, seed: int) -> FiniteProblem:
    order = np.random.default_rng(seed).permutation(len(problem.y))
    weight = None if problem.weight is None else problem.weight[order]
    return replace(
        problem,
        y=problem.y[order],
        group=problem.group[order],
        H=problem.H[:, order],
        weight=weight,
    )


def renamed(problem: FiniteProblem) -> tuple[FiniteProblem, dict]:
    names = sorted(set(problem.group.tolist()))
    new = {name: f"{len(names) - number} once {name}" for number, name in enumerate(names)}
    return replace(problem, group=np.array([new[a] for a in problem.group])), new


def weight_two(problem: FiniteProblem, row: int) -> tuple[FiniteProblem, FiniteProblem]:
    """Return the problem with a row of weight 2, and with that row twice with weight 1."""
    heavy, again = problem.w.copy(), np.append(np.arange(len(problem.y)), row)
    heavy[row] = 2.0
    split = heavy[again]
    split[[row, -1]] = 1.0
    return replace(problem, weight=heavy), replace(
        problem,
        y=problem.y[again],
        group=problem.group[again],
        H=problem.H[:, again],
        weight=split,
    )


@steady
@given(seeds)
def test_permuting_rows_changes_nothing(seed: int) -> None:
    problem = random_problem(seed)
    assert_same_game(problem, permuted(problem, seed))


@steady
@given(seeds)
def test_renaming_groups_changes_nothing(seed: int) -> None:
    problem = random_problem(seed)
    other, new = renamed(problem)
    assert_same_game(problem, other, new)


@steady
@given(seeds)
def test_a_row_of_weight_two_is_two_rows(seed: int) -> None:
    problem = random_problem(seed)
    assert_same_game(*weight_two(problem, seed % len(problem.y)))


@pytest.mark.parametrize("seed", range(6))
def test_the_fit_depends_neither_on_order_nor_on_names_nor_on_how_weight_is_cut(seed: int) -> None:
    problem = random_problem(seed)
    heavy, split = weight_two(problem, 3)
    pairs = [(problem, permuted(problem, seed)), (problem, renamed(problem)[0]), (heavy, split)]
    for one, other in pairs:
        errors = []
        for p in (one, other):
            clf = fit(FairClassifier(listed(p), constraint_of(p), nu=1e-7), p)
            errors.append(p.error(clf.predict_proba(p.H.T)[:, 1]))
        assert errors[1] == pytest.approx(errors[0], abs=1e-6)
