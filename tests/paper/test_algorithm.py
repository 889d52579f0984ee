"""Sections 3.2 and appendix B: the saddle point, Algorithm 1 and Theorem 1."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from finite_problems import NOTIONS, FiniteProblem, least_penalised_error, random_problem
from games import constraint_of, fit, game_of, listed, paper_order, weights_in_list
from printed import algorithm_1
from scipy.optimize import linprog

from equipoise import ExponentiatedGradient, FairClassifier
from equipoise.game import Pool, theory
from equipoise.game.exponentiated_gradient import exponentiated_gradient
from equipoise.game.rounds import Round

# --- section 3.2: the saddle point ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_primal_and_dual_have_the_same_value(seed: int) -> None:
    """(P) and (D), each as its own linear program from raw arrays, and FairClassifier's value."""
    problem, B = random_problem(seed), 1.5
    primal = least_penalised_error(problem, B).value
    # (D): the largest v with v <= L(h, lambda) for all h, lambda >= 0, |lambda|_1 <= B.
    excess = problem.gamma() - problem.eps
    P, K = excess.shape
    dual = linprog(
        c=[*np.zeros(K), -1.0],
        A_ub=np.vstack([np.hstack([-excess, np.ones((P, 1))]), [*np.ones(K), 0.0]]),
        b_ub=[*problem.error(), B],
        bounds=[(0, None)] * K + [(None, None)],
    )
    assert -dual.fun == pytest.approx(primal, abs=1e-8)
    clf = fit(FairClassifier(listed(problem), constraint_of(problem), B=B, nu=1e-6), problem)
    assert clf.certificate_.upper == pytest.approx(primal, abs=2e-6)
    assert clf.certificate_.lower == pytest.approx(primal, abs=2e-6)


def test_best_lambda() -> None:
    for seed in range(20):
        problem, B = random_problem(seed), 4.0
        game = game_of(problem, B)
        order = paper_order(problem, game.moments.rows)
        for h, s in enumerate(game.oracle.s):
            excess = problem.gamma()[h] - problem.eps
            expected = np.zeros(len(excess))
            if not (excess <= 0).all():
                expected[excess.argmax()] = B
            assert game.lagrangian.best_lambda(s)[order].tolist() == expected.tolist()


# --- Algorithm 1 ---------------------------------------------------------------------------------


def played(
    problem: FiniteProblem, rounds: list[Round], pool: Pool, order: np.ndarray
) -> list[dict]:
    return [
        {
            "lam": found.mixture.multipliers[order],
            "Q": weights_in_list(problem, pool.classifiers, found.mixture),
            "nu": found.gap,
            "upper": found.upper,
            "lower": found.lower,
        }
        for found in rounds
    ]


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("seed", "eta"), [(0, 0.3), (1, 1.0), (2, 3.0), (3, 0.1), (4, 8.0)])
def test_algorithm_1_is_the_printed_one(notion: str, seed: int, eta: float) -> None:
    problem, B, nu = random_problem(seed, notion=notion, weighted=True), 2.0, 0.02
    expected = algorithm_1(problem, B, nu, eta, rounds=150)
    game, pool, rounds = game_of(problem, B), Pool(), []
    for found in exponentiated_gradient(
        game.lagrangian, game.oracle, pool, nu=nu, eta=eta, always_check=True
    ):
        rounds.append(found)
        if found.iteration == 150:
            break
    found = played(problem, rounds, pool, paper_order(problem, game.moments.rows))
    assert len(found) == len(expected) > 1
    for mine, printed in zip(found, expected, strict=True):
        for name in printed:
            assert mine[name] == pytest.approx(printed[name], abs=1e-7), name


@pytest.mark.parametrize("seed", range(5))
def test_algorithm_1_checks_lazily_without_changing_the_outcome(seed: int) -> None:
    problem, B, nu = random_problem(seed), 2.0, 0.03
    game, ends, calls = game_of(problem, B), [], []
    for always in (True, False):
        pool = Pool()
        *_, last = exponentiated_gradient(
            game.lagrangian, game.oracle, pool, nu=nu, always_check=always
        )
        ends.append((last.iteration, last.error, last.gap))
        calls.append(pool.n_calls)
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)
    assert calls[1] <= calls[0]


def test_algorithm_1_multipliers_are_stable_for_huge_theta() -> None:
    problem, B, eta = random_problem(6, notion="DP"), 2.0, 1e7
    game, pool = game_of(problem, B), Pool()
    order = paper_order(problem, game.moments.rows)
    theta = sum_before = np.zeros(len(order))
    rounds = exponentiated_gradient(game.lagrangian, game.oracle, pool, nu=1e-9, eta=eta)
    with np.errstate(all="raise", under="ignore"):
        for t, found in zip(range(1, 31), rounds, strict=False):
            lam_t, sum_before = (
                t * found.mixture.multipliers[order] - sum_before,
                t * found.mixture.multipliers[order],
            )
            # B exp(theta_k) / (1 + sum of exp(theta)), divided through by its own exponential
            powers = np.append(theta, 0.0)
            expected = [
                B / sum(math.exp(min(other - own, 700.0)) for other in powers) for own in theta
            ]
            assert lam_t == pytest.approx(np.array(expected), abs=1e-9 * t)
            q = weights_in_list(problem, pool.classifiers, found.mixture)
            theta = eta * t * (q @ problem.gamma() - problem.eps)
    assert t == 30
    assert np.abs(theta).max() > 1e6  # the exponential of which is no number any more


# --- Theorem 1 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("eta", [0.02, 0.2, 2.0])
def test_theorem_1_bound_at_every_t(notion: str, eta: float) -> None:
    tightest = np.inf
    for seed in range(5):
        problem, B = random_problem(seed, notion=notion), 1.5
        rho = np.abs(problem.gamma() - problem.eps).max()
        K = len(problem.keys)
        game = game_of(problem, B)
        for found in exponentiated_gradient(
            game.lagrangian, game.oracle, Pool(), nu=1e-6, eta=eta, always_check=True
        ):
            t = found.iteration
            bound = B * math.log(K + 1) / (eta * t) + eta * rho**2 * B
            assert found.gap <= bound + 1e-7
            assert theory.gap_bound(t, eta, rho, B, K) == pytest.approx(bound)
            # Hoeffding's lemma gives half of the second term; see the errata.
            half = B * math.log(K + 1) / (eta * t) + eta * rho**2 * B / 2
            assert found.gap <= half + 1e-7
            tightest = min(tightest, half / max(found.gap, 1e-12))
            if t == 120:
                break
    assert tightest < 20  # the bound is within sight of what happens, so that it could fail


@pytest.mark.parametrize("notion", NOTIONS)
def test_theorem_1_iteration_count_with_the_step_of_the_theory(notion: str) -> None:
    most = 0
    for seed in range(6):
        problem, B, nu = random_problem(seed, notion=notion), 1.0, 0.15
        game = game_of(problem, B)
        rho = theory.rho(game.lagrangian, game.cells)
        K = len(problem.keys)
        printed_bound = 4 * rho**2 * B**2 * math.log(K + 1) / nu**2
        assert theory.iteration_bound(nu, rho, B, K) == math.ceil(printed_bound)
        clf = ExponentiatedGradient(
            listed(problem),
            constraint_of(problem),
            B=B,
            nu=nu,
            eta="theory",
            polish=False,
            max_iter=10_000,
        )
        fit(clf, problem)
        assert clf.n_iter_ <= printed_bound
        assert clf.certificate_.gap <= nu
        most = max(most, clf.n_iter_)
    assert most > 5
    assert theory.eta(nu, rho, B) == pytest.approx(nu / (2 * rho**2 * B))


@pytest.mark.parametrize("eta", [0.05, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_equations_7_to_18_the_regret_and_what_follows(seed: int, eta: float) -> None:
    problem, B = random_problem(seed), 1.5
    error, reward = problem.error(), problem.gamma() - problem.eps
    rho, K = np.abs(reward).max(), len(problem.keys)
    corners = np.vstack([np.zeros(K), B * np.eye(K)])  # of Lambda; (9) is linear in lambda
    for T, (hs, lams) in enumerate(best_responses(problem, B, eta, rounds=40), start=1):
        zeta = B * math.log(K + 1) / eta + eta * rho**2 * B * T
        earned = sum(lam @ reward[h] for h, lam in zip(hs, lams, strict=True))
        assert (corners @ reward[hs].sum(axis=0)).max() <= earned + zeta + 1e-9  # (9)
        assert (lams[-1] > 0).all()
        assert lams[-1].sum() < B  # the rest of B is on the coordinate K+1 of lambda'
        Q, lam = np.bincount(hs, minlength=len(error)) / T, np.mean(lams, axis=0)
        value = Q @ (error + reward @ lam)
        best_of_lambda = (Q @ error + corners @ (Q @ reward)).max()
        assert value >= best_of_lambda - zeta / T - 1e-9  # (13)
        assert value <= (error + reward @ lam).min() + zeta / T + 1e-9  # (18)


def test_erratum_equation_15_rests_on_lambda_t_not_on_its_average() -> None:
    # "by the optimality of h_t with respect to lambda-hat_t": h_t answers lambda_t. To the average
    # it is no best response in general.
    off_average = 0.0
    for seed in range(4):
        problem = random_problem(seed)
        for hs, lams in best_responses(problem, B=1.5, eta=0.5, rounds=40):
            own, average = problem.lagrangian(lams[-1]), problem.lagrangian(np.mean(lams, axis=0))
            assert own[hs[-1]] <= own.min() + 1e-9
            off_average = max(off_average, average[hs[-1]] - average.min())
    assert off_average > 0.01


def best_responses(
    problem: FiniteProblem, B: float, eta: float, rounds: int
) -> Iterator[tuple[list[int], list[np.ndarray]]]:
    """Play Algorithm 1; yield all h_t, as numbers in the list, and all lambda_t so far."""
    game, pool = game_of(problem, B), Pool()
    order = paper_order(problem, game.moments.rows)
    hs: list[int] = []
    lams: list[np.ndarray] = []
    played = exponentiated_gradient(game.lagrangian, game.oracle, pool, nu=1e-9, eta=eta)
    for t, found in zip(range(1, rounds + 1), played, strict=False):
        times = t * weights_in_list(problem, pool.classifiers, found.mixture)
        hs.append(int(np.argmax(times - np.bincount(hs, minlength=len(times)))))
        lams.append(t * found.mixture.multipliers[order] - np.sum(lams, axis=0))
        yield hs, lams


def test_theorem_1_best_step_for_a_given_t() -> None:
    rho, B, K, t = 1.7, 3.0, 8, 500
    best = math.sqrt(math.log(K + 1)) / (rho * math.sqrt(t))
    value = theory.gap_bound(t, best, rho, B, K)
    assert value == pytest.approx(2 * rho * B * math.sqrt(math.log(K + 1) / t))
    assert value < min(theory.gap_bound(t, best * f, rho, B, K) for f in (0.5, 0.9, 1.1, 2.0))


def test_examples_3_and_4_number_of_iterations() -> None:
    # 16 B^2 log(2 |A| + 1) / nu^2 and 16 B^2 log(4 |A| + 1) / nu^2, from rho <= 2.
    B, nu, groups = 5.0, 0.1, 3
    for notion, K in (("DP", 2 * groups), ("EO", 4 * groups)):
        problem = random_problem(0, notion=notion, n_groups=groups)
        assert game_of(problem).lagrangian.n_constraints == K
        expected = math.ceil(16 * B**2 * math.log(K + 1) / nu**2)
        assert theory.iteration_bound(nu, 2.0, B, K) == expected
