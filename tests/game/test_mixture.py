"""The linear program over a pool, against programs over raw rows."""

from __future__ import annotations

import numpy as np
import pytest
from finite_problems import (
    least_error,
    least_penalised_error,
    random_problem,
)
from games import game_of, paper_order, weights_in_list
from scipy.optimize import linprog

from equipoise.game.mixture import Program, best_mixture, best_mixtures, solve
from equipoise.game.simplex import SimplexProgram

#: What the linear programs of both sides may differ by.
SOLVER = 2e-7


@pytest.mark.parametrize("B", [0.5, 4.0, np.inf])
@pytest.mark.parametrize("seed", range(10))
def test_best_mixture_is_an_optimal_vertex_with_its_multipliers(seed: int, B: float) -> None:
    problem = random_problem(seed)
    game = game_of(problem, B)
    mixture = best_mixture(game.lagrangian, game.oracle.s)
    best = least_penalised_error(problem, B) if np.isfinite(B) else least_error(problem)
    assert best is not None
    q = weights_in_list(problem, range(len(problem.H)), mixture)
    violation = max((problem.gamma().T @ q).max() - problem.eps, 0.0)
    price = B if np.isfinite(B) else 0.0
    value = problem.error() @ q + price * violation
    assert value == pytest.approx(best.value, abs=SOLVER)
    assert len(mixture.indices) <= len(problem.keys) + 1
    # Weak duality from raw arrays, and strong duality: the multipliers attain the same value.
    lam = mixture.multipliers[paper_order(problem, game.moments.rows)]
    assert (lam >= 0).all()
    assert lam.sum() <= B + SOLVER
    assert problem.lagrangian(lam).min() == pytest.approx(best.value, abs=SOLVER)


@pytest.mark.parametrize("seed", range(10))
def test_programs_solved_as_one_have_the_optima_of_each(seed: int) -> None:
    problem = random_problem(seed)
    game = game_of(problem, 4.0)
    looser = [game.lagrangian.relaxed(slack) for slack in (0.0, 0.01, 0.05, 0.3, 1.0)]
    mixtures = best_mixtures(looser, game.oracle.s)
    for each, mixture in zip(looser, mixtures, strict=True):
        alone = best_mixture(each, game.oracle.s)
        values = [each.error(m.shares(game.oracle.s)) + 4.0 * m.slack for m in (mixture, alone)]
        assert values[0] == pytest.approx(values[1], abs=1e-9)
        assert mixture.weights.sum() == pytest.approx(1)
        dual = each.value(
            game.oracle.s, mixture.multipliers
        ).min()  # weak duality is tight: both optimal
        assert dual == pytest.approx(values[0], abs=SOLVER)


def test_best_mixture_is_indifferent_between_its_members() -> None:
    # Section 3.4: Q-dagger puts mass only on best responses to lambda-dagger.
    for seed in range(20):
        problem = random_problem(seed)
        game = game_of(problem)
        mixture = best_mixture(game.lagrangian, game.oracle.s)
        values = problem.lagrangian(mixture.multipliers[paper_order(problem, game.moments.rows)])
        assert values[mixture.indices] == pytest.approx(values.min(), abs=1e-6)


@pytest.mark.parametrize("B", [0.3, np.inf])
def test_of_many_inequalities_the_solution_is_one_of_the_whole_program(
    B: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    error, excess = rng.uniform(size=40), rng.normal(0.0, 0.02, size=(40, 500))
    excess[0], error[0] = -0.001, 1.0  # one that meets all
    (alone,) = solve([Program(error, excess, np.zeros(500), B)])
    (before,) = solve([Program(error[:20], excess[:20], np.full(500, -0.0005), B)])
    (after,) = solve([Program(error, excess, np.zeros(500), B, before)])
    assert all(mixture.vertex for mixture in (alone, before, after))
    monkeypatch.setattr(SimplexProgram, "from_vertex", lambda *_: None)
    (by_highs,) = solve([Program(error, excess, np.zeros(500), B, before)])
    assert by_highs.vertex is None
    slack = np.append(np.ones(40), 0.0)[None, :]
    whole = linprog(
        np.append(error, 0.0 if np.isinf(B) else B),
        A_ub=np.column_stack([excess.T, -np.ones(500)]),
        b_ub=np.zeros(500),
        A_eq=slack,
        b_eq=[1.0],
        bounds=[*[(0, None)] * 40, (0, 0.0 if np.isinf(B) else None)],
    )
    for mixture in (alone, after, by_highs):
        over = mixture.weights @ excess[mixture.indices]
        price = 0.0 if np.isinf(B) else B * max(over.max(), 0.0)
        assert mixture.weights @ error[mixture.indices] + price == pytest.approx(
            whole.fun, abs=1e-7
        )
        assert (over <= mixture.slack + 1e-9).all()
        proven = (error + excess @ mixture.multipliers).min()  # the dual value of the multipliers
        assert proven == pytest.approx(whole.fun, abs=1e-6)
        assert mixture.multipliers.sum() <= B + 1e-9
