"""Section 3.3 and appendix C: Lemmas 1 to 6, Assumption 1, Theorems 2 to 4."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from finite_problems import NOTIONS, FiniteProblem, every_classifier, least_error, random_problem
from games import constraint_of, fit, game_of, listed, paper_order, weights_in_list

from equipoise import Costs, FairClassifier
from equipoise.game import Pool, theory
from equipoise.game.exponentiated_gradient import exponentiated_gradient

# --- appendix C: Lemmas 1 to 3 -------------------------------------------------------------------

#: The problem, B, nu, Q and lambda.
SaddlePoint = tuple[FiniteProblem, float, float, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def saddle_points() -> list[SaddlePoint]:
    """Computed (Q, lambda), each checked from raw arrays to be nu-approximate: equation (19)."""
    found = []
    for seed in range(24):
        problem, B, nu = random_problem(seed), (1.0, 4.0)[seed % 3 == 0], (0.2, 0.04)[seed % 4 > 0]
        game, pool = game_of(problem, B), Pool()
        *_, last = exponentiated_gradient(game.lagrangian, game.oracle, pool, nu=nu)
        q = weights_in_list(problem, pool.classifiers, last.mixture)
        lam = last.mixture.multipliers[paper_order(problem, game.moments.rows)]
        value = problem.lagrangian(lam) @ q
        excess = problem.gamma().T @ q - problem.eps
        assert value <= problem.lagrangian(lam).min() + nu + 1e-9
        assert value >= problem.error() @ q + B * max(excess.max(), 0.0) - nu - 1e-7
        found.append((problem, B, nu, q, lam))
    return found


def test_lemma_1_approximate_complementary_slackness(saddle_points: list[SaddlePoint]) -> None:
    for problem, B, nu, q, lam in saddle_points:
        excess = problem.gamma().T @ q - problem.eps
        assert lam @ excess >= B * max(excess.max(), 0.0) - nu - 1e-7


def test_lemma_2_empirical_error_bound(saddle_points: list[SaddlePoint]) -> None:
    for problem, _, nu, q, _ in saddle_points:
        best = least_error(problem)
        assert best is not None
        assert problem.error() @ q <= best.value + 2 * nu + 1e-7


def test_lemma_3_empirical_fairness_violation(saddle_points: list[SaddlePoint]) -> None:
    violated = 0
    for problem, B, nu, q, _ in saddle_points:
        excess = (problem.gamma().T @ q - problem.eps).max()
        assert excess <= (1 + 2 * nu) / B
        violated += excess > 1e-3
    assert violated  # a finite B does let constraints be exceeded


def test_lemma_3_takes_the_largest_cost_where_it_exceeds_one() -> None:
    # The 1 in (1 + 2 nu) / B bounds err(Q) - err(Q-hat); errors beyond [0, 1] are not the paper's.
    y = group = np.repeat([0, 1], 20)
    noisy = np.where(np.arange(40) % 10 == 0, 1 - y, y)
    H = np.array([noisy, np.zeros(40, dtype=int), np.ones(40, dtype=int)])
    problem, cost, B, nu = FiniteProblem(y, group, H, "DP", 0.0), 5.0, 3.0, 1e-3
    costs = Costs(false_positive=cost, false_negative=cost)
    clf = FairClassifier(listed(problem), constraint_of(problem), objective=costs, B=B, nu=nu)
    violation = problem.gamma(fit(clf, problem).predict_proba(H.T)[:, 1]).max()
    assert (1 + 2 * nu) / B < violation <= (cost + 2 * nu) / B


# --- Lemmas 4 to 6 -------------------------------------------------------------------------------


def test_lemmas_4_to_6_formulas() -> None:
    for n, delta, C, alpha in [(100, 0.05, 0.0, 0.5), (2500, 0.1, 1.3, 0.5), (400, 0.01, 2.0, 0.3)]:
        R = C * n**-alpha
        printed = 2 * R + 2 / math.sqrt(n) + math.sqrt(math.log(2 / delta) / (2 * n))
        assert theory.deviation(n, delta, C, alpha) == pytest.approx(printed)
        p = 0.5
        R_half = C * (n * p / 2) ** -alpha
        second = 2 * R_half + 2 * math.sqrt(2 / (n * p)) + math.sqrt(math.log(4 / delta) / (n * p))
        assert theory.population_deviation(n, p, delta, C, alpha) == pytest.approx(second)
    with pytest.raises(ValueError, match=r"expected 10 times in n=1000 .* at least 8 ln"):
        theory.population_deviation(1000, 0.01, delta=0.05)


def test_rademacher_complexity_of_a_list() -> None:
    # By its definition in appendix C, in full: all signs, on the worst of several samples.
    rng = np.random.default_rng(0)
    n, size = 9, 6
    signs = 2 * every_classifier(n) - 1
    worst = max(
        np.abs(signs @ rng.integers(0, 2, (size, n)).T / n).max(axis=1).mean() for _ in range(200)
    )
    assert worst <= theory.list_complexity(size) / math.sqrt(n)
    assert worst > 0.2 * theory.list_complexity(size) / math.sqrt(n)


def test_equation_21_complexity_of_what_is_averaged() -> None:
    # R_n(F) <= 1 / sqrt(n) + R_n(H) for f_h = g(x, a, y, h(x)), sample by sample, all signs.
    rng = np.random.default_rng(1)
    n, size = 9, 5
    signs = 2 * every_classifier(n) - 1

    def complexity(values: np.ndarray) -> float:
        return np.abs(signs @ values.T / n).max(axis=1).mean()

    for _ in range(50):
        H, g = rng.integers(0, 2, (size, n)), rng.uniform(size=(n, 2))
        F = np.where(H == 1, g[:, 1], g[:, 0])
        assert complexity(F) <= 1 / math.sqrt(n) + complexity(H)


class Population:
    """A finite population of which samples are drawn, and a list of classifiers on it."""

    def __init__(self, notion: str, eps: float) -> None:
        self.problem = replace(
            random_problem(8, notion=notion, n_groups=2, n=200, weighted=True), eps=eps
        )
        self.share = self.problem.w / self.problem.w.sum()
        self.C = theory.list_complexity(len(self.problem.H))

    def sample(self, n: int, seed: int) -> FiniteProblem:
        rows = np.random.default_rng(seed).choice(len(self.share), n, p=self.share)
        p = self.problem
        return replace(p, y=p.y[rows], group=p.group[rows], H=p.H[:, rows], weight=None)


def test_lemmas_4_to_6_hold_on_samples() -> None:
    population, n, delta = Population("EO", eps=0.1), 4000, 0.05
    true, C = population.problem, population.C
    events = [(a, y) for a in (*sorted(set(true.group.tolist())), "star") for y in (0, 1)]
    worst = 0.0
    for seed in range(40):
        sample = population.sample(n, seed)
        off = np.abs(sample.error() - true.error()).max()
        assert off <= theory.deviation(n, delta, C)
        for event in events:
            n_j = sample.event(*event).sum()
            p_j = population.share[true.event(*event)].sum()
            off = np.abs(
                sample.mean(sample.H, sample.event(*event)) - true.mean(true.H, true.event(*event))
            ).max()
            assert off <= theory.deviation(n_j, delta, C)
            assert off <= theory.population_deviation(n, p_j, delta, C)
            worst = max(worst, off / theory.deviation(n_j, delta, C))
    assert worst > 0.1  # within sight of the bound
    assert theory.deviation(n, delta, C) < 0.2  # which says something


# --- Assumption 1, Examples 5 and 6 --------------------------------------------------------------


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("alpha", [0.5, 0.3])
def test_assumption_1_with_examples_5_and_6(notion: str, alpha: float) -> None:
    problem, constant = random_problem(4, notion=notion), 0.7
    game = game_of(problem)
    eps = theory.slack(game.moments, constant, alpha)[paper_order(problem, game.moments.rows)]
    for found, (a, y, _) in zip(eps, problem.keys, strict=True):
        # C' (n_a^-alpha + n^-alpha), and C' (n_(a,y)^-alpha + n_(*,y)^-alpha)
        n_group, n_all = problem.event(a, y).sum(), problem.event("star", y).sum()
        assert found == pytest.approx(constant * (n_group**-alpha + n_all**-alpha))


def test_assumption_1_in_a_fit() -> None:
    problem = replace(random_problem(4, notion="DP"), eps=0.01)
    slack = 0.2
    clf = fit(
        FairClassifier(listed(problem), constraint_of(problem), sampling_slack=slack), problem
    )
    order = paper_order(problem, clf.certificate_.rows)
    n = len(problem.y)
    for bound, (a, _, _) in zip(clf.certificate_.bound[order], problem.keys, strict=True):
        n_a = (problem.group == a).sum()
        assert bound == pytest.approx(0.01 + slack * (n_a**-0.5 + n**-0.5))


# --- Theorems 2 to 4 -----------------------------------------------------------------------------


def test_theorems_2_to_4_formulas() -> None:
    n, nu, B, delta, C, alpha = 900, 0.02, 25.0, 0.05, 1.1, 0.4
    problem = random_problem(9, notion="EO")
    game = game_of(problem)
    order = paper_order(problem, game.moments.rows)

    def spread(n_j: float, delta: float) -> float:
        R = C * n_j**-alpha
        return 2 * R + 2 / math.sqrt(n_j) + math.sqrt(math.log(2 / delta) / (2 * n_j))

    least = [
        spread(problem.event(a, y).sum(), delta) + spread(problem.event("star", y).sum(), delta)
        for a, y, _ in problem.keys
    ]
    assert theory.moment_slack(game.moments, delta, C, alpha)[order] == pytest.approx(least)
    R = C * n**-alpha
    printed = 0.1 + 2 * nu + 4 * R + 4 / math.sqrt(n) + math.sqrt(2 * math.log(2 / delta) / n)
    assert theory.error_bound(0.1, nu, n, delta, C, alpha) == pytest.approx(printed)
    eps = np.array(least)
    assert theory.violation_bound(problem.eps, eps, nu, B) == pytest.approx(
        problem.eps + (1 + 2 * nu) / B + 2 * eps
    )
    # Theorem 2: this C' makes the eps_k of Assumption 1 enough for Theorem 4 at delta / 2.
    constant = theory.slack_constant(delta, C)
    assert constant == pytest.approx(2 * C + 2 + math.sqrt(math.log(4 / delta) / 2))
    enough = theory.slack(game.moments, constant, alpha)
    assert (enough >= theory.moment_slack(game.moments, delta / 2, C, alpha) - 1e-12).all()


@pytest.mark.parametrize("alpha", [0.5, 0.25])
def test_theorem_3_parameters_and_iterations(alpha: float) -> None:
    rho, K = 2.0, 8
    for n in (100, 10_000):
        chosen = theory.theorem_3_parameters(n, rho, alpha)
        assert chosen["nu"] == pytest.approx(n**-alpha)
        assert chosen["B"] == pytest.approx(n**alpha)
        assert chosen["eta"] * rho**2 * n ** (2 * alpha) == pytest.approx(0.5)  # the same for all n
        iterations = theory.iteration_bound(chosen["nu"], rho, chosen["B"], K)
        ratio = iterations / (rho**2 * n ** (4 * alpha) * math.log(K + 1))
        assert ratio == pytest.approx(4, rel=1e-2)
        # with this step the bound of Theorem 1 does reach nu
        gap = theory.gap_bound(iterations, chosen["eta"], rho, chosen["B"], K)
        assert gap <= chosen["nu"] * (1 + 1e-9)
        # with twice the step, rho^-2 n^(-2 alpha) and constant one, it never would
        assert theory.gap_bound(10**18, 2 * chosen["eta"], rho, chosen["B"], K) > chosen["nu"]


@pytest.mark.parametrize("notion", NOTIONS)
def test_theorems_2_to_4_hold_on_samples(notion: str) -> None:
    population, n, delta, B, nu = Population(notion, eps=0.02), 20_000, 0.05, 50.0, 1e-3
    true, C = population.problem, population.C
    best = least_error(true)
    assert best is not None
    constant = theory.slack_constant(delta, C)
    for seed in range(8):
        sample = population.sample(n, seed)
        clf = FairClassifier(
            listed(sample), constraint_of(sample), nu=nu, B=B, sampling_slack=constant
        )
        fit(clf, sample)
        moments = game_of(sample).moments
        eps = theory.slack(moments, constant)[paper_order(sample, moments.rows)]
        # Equation (22): no gamma_k moves by more than eps_k, so that Q* stays feasible.
        assert (np.abs(sample.gamma() - true.gamma()) <= eps).all()
        assert (sample.gamma().T @ best.q <= true.eps + eps).all()
        selected = clf.predict_proba(true.H.T)[:, 1]
        assert true.error(selected) <= theory.error_bound(best.value, nu, n, delta / 2, C)
        assert (true.gamma(selected) <= theory.violation_bound(true.eps, eps, nu, B)).all()
    assert theory.violation_bound(true.eps, eps, nu, B).max() < 0.75  # not vacuous
