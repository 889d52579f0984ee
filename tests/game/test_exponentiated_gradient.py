"""Algorithm 1 against brute force: every optimum is also found by an LP over raw rows."""

from __future__ import annotations

import numpy as np
import pytest
from finite_problems import (
    FiniteProblem,
    least_error,
    least_penalised_error,
    random_problem,
)
from games import constraint_of, fit, game_of, listed, weights_in_list

from equipoise import (
    ExponentiatedGradient,
)
from equipoise.game.exponentiated_gradient import exponentiated_gradient, polished
from equipoise.game.rounds import Limits, Pool, run

#: What the linear programs of both sides may differ by.
SOLVER = 2e-7


@pytest.mark.parametrize("seed", range(200))
def test_polished_exponentiated_gradient_finds_the_optimum(seed: int) -> None:
    problem, B, nu = random_problem(seed), 20.0, 5e-3
    best, penalised = least_error(problem), least_penalised_error(problem, B)
    assert best is not None
    clf = ExponentiatedGradient(listed(problem), constraint_of(problem), B=B, nu=nu)
    certificate = fit(clf, problem).certificate_

    selected = clf.predict_proba(problem.H.T)[:, 1]
    violation = max(problem.gamma(selected).max() - problem.eps, 0.0)
    value = problem.error(selected) + B * violation
    assert penalised.value - SOLVER <= value <= penalised.value + nu + SOLVER
    assert problem.error(selected) <= best.value + nu + SOLVER
    assert certificate.lower <= penalised.value + SOLVER
    assert violation <= (1 + 2 * nu) / B
    assert len(clf.classifier_.members) <= len(problem.keys) + 1


@pytest.mark.parametrize("seed", range(200))
def test_printed_exponentiated_gradient_finds_the_optimum(seed: int) -> None:
    problem, B, nu = random_problem(seed), 3.0, 0.05
    best, penalised = least_error(problem), least_penalised_error(problem, B)
    assert best is not None
    _, _, lagrangian, oracle = game_of(problem, B)
    pool = Pool()
    last = run(exponentiated_gradient(lagrangian, oracle, pool, nu=nu), Limits(3000)).last
    assert last.gap <= nu

    q = weights_in_list(problem, pool.classifiers, last.mixture)
    error, gamma = problem.error() @ q, problem.gamma().T @ q
    violation = max(gamma.max() - problem.eps, 0.0)
    assert penalised.value - SOLVER <= error + B * violation <= penalised.value + 2 * nu + SOLVER
    assert error <= best.value + 2 * nu + SOLVER
    assert violation <= (1 + 2 * nu) / B
    assert last.lower <= penalised.value + SOLVER
    assert last.upper == pytest.approx(error + B * violation, abs=1e-6)


def threshold_problem(seed: int) -> tuple[FiniteProblem, float]:
    """Every pair of cut-offs for two groups: a best response that changes with each lambda."""
    rng = np.random.default_rng(seed)
    group = np.append([0, 0, 1, 1], rng.integers(0, 2, 56))
    y = np.append([0, 1, 0, 1], rng.random(56) < np.where(group[4:], 0.7, 0.3)).astype(int)
    score = y + group * rng.uniform(0, 2) + rng.normal(size=60)
    cuts = np.linspace(-1, 4, 14)
    H = np.array([score > np.where(group, a, b) for a in cuts for b in cuts]).astype(int)
    eps, B = rng.choice([0, 0.01, 0.05]), rng.choice([0.3, 0.6, 1, 2, 5])
    return FiniteProblem(y, group, np.unique(H, axis=0), "DP", float(eps)), float(B)


@pytest.mark.parametrize("seed", range(40))
def test_polished_lower_value_never_exceeds_the_optimum(seed: int) -> None:
    # The averages of the multipliers were once taken for a bound without having been asked for;
    # now and then (here with seeds 4, 28, 32 and 38) the lower value then passed the optimum.
    problem, B = threshold_problem(seed)
    best = least_penalised_error(problem, B).value
    _, _, lagrangian, oracle = game_of(problem, B)
    pool = Pool()
    rounds = exponentiated_gradient(lagrangian, oracle, pool, nu=1e-3)
    lowers = [found.lower for found in polished(rounds, lagrangian, oracle, pool, nu=1e-3)]
    assert max(lowers) <= best + SOLVER
    assert lowers[-1] >= best - 1e-3 - SOLVER
