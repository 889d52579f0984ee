"""Sections 2, 3.1 and appendix A: definitions, the general form, costs, equation (2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from finite_problems import (
    NOTIONS,
    FiniteProblem,
    Key,
    every_classifier,
    random_lambda,
    random_problem,
)
from games import constraint_of, fit, game_of, library_costs, listed, paper_order
from printed import example_3_costs, example_4_costs, general_costs, printed_M
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, EqualizedOdds, GridSearch, RandomizedClassifier
from equipoise.cells import Cells
from equipoise.game import Lagrangian, theory
from equipoise.oracles import RefitOracle

# --- section 2: definitions, the general form ----------------------------------------------------


@pytest.mark.parametrize("notion", NOTIONS)
def test_definitions_1_and_2(notion: str) -> None:
    y = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    group = np.array(list("aaaabbbb"))
    problem = FiniteProblem(y, group, every_classifier(8), notion, eps=0.0)
    game = game_of(problem)
    found = game.lagrangian.violation(game.oracle.s) <= 1e-12

    def satisfies(h: np.ndarray) -> bool:
        events = [y == y] if notion == "DP" else [y == 0, y == 1]
        return all(
            # P[h(X)=1 | A=a, event] = P[h(X)=1 | event], in whole numbers
            h[e & (group == a)].sum() * e.sum() == h[e].sum() * (e & (group == a)).sum()
            for e in events
            for a in "ab"
        )

    expected = [satisfies(h) for h in problem.H]
    assert found.tolist() == expected
    assert 2 < sum(expected) < len(expected)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_equation_1_with_the_M_of_examples_1_and_2(notion: str, seed: int) -> None:
    problem = random_problem(seed, notion=notion)
    M, J = printed_M(problem)
    mu = np.array([problem.mean(problem.H, problem.event(*j)) for j in J])  # (J, P)
    game = game_of(problem)
    order = paper_order(problem, game.moments.rows)
    assert game.lagrangian.gamma(game.oracle.s)[:, order] == pytest.approx((M @ mu).T, abs=1e-12)
    assert game.lagrangian.c == pytest.approx(problem.eps)
    # The library's own M and events: the same rows over the same moments, maybe in other order.
    moments = game.moments.mu(game.oracle.s).T
    to_printed = [int(np.argmin(np.abs(moments - row).max(axis=1))) for row in mu]
    assert moments[to_printed] == pytest.approx(mu, abs=1e-12)
    assert sorted(to_printed) == list(range(len(J)))
    assert game.moments.M.toarray()[order][:, to_printed].tolist() == M.tolist()
    counts = [problem.event(*j).sum() for j in J]
    assert game.moments.event_count[to_printed].tolist() == counts


def test_examples_1_and_2_take_any_number_of_groups_by_any_name() -> None:
    y, group = np.tile([0, 1], 6), np.repeat(["x", "y", "z"], 4)
    cells = Cells.from_columns(y, {"group": group})
    for constraint, K in ((DemographicParity(eps=0), 6), (EqualizedOdds(eps=0), 12)):
        moments = constraint.moments(cells)
        assert Lagrangian.from_moments(moments, cells).n_constraints == K
        assert moments.M.shape == (K, {6: 4, 12: 8}[K])
        assert (np.abs(moments.M).sum(axis=1) == 2).all()
        assert (moments.M.sum(axis=1) == 0).all()


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("seed", range(6))
def test_costs_of_section_3_2(notion: str, seed: int) -> None:
    problem = random_problem(seed, notion=notion)
    lam = random_lambda(problem, seed)
    C0, C1 = general_costs(problem, lam)
    assert library_costs(problem, lam) == pytest.approx(C1 - C0, abs=1e-12)
    # "The minimization of L(h, lambda) over h then corresponds to" these costs.
    total = (problem.w * np.where(problem.H == 1, C1, C0)).sum(axis=1) / problem.w.sum()
    constant = -problem.eps * sum(lam.values())
    values = problem.lagrangian(np.array(list(lam.values())))
    assert total + constant == pytest.approx(values, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_example_3_costs_of_demographic_parity(seed: int) -> None:
    problem = random_problem(seed, notion="DP", weighted=seed % 2 == 1)
    lam = random_lambda(problem, seed)
    C0, C1 = example_3_costs(problem, lam)
    assert library_costs(problem, lam) == pytest.approx(C1 - C0, abs=1e-12)
    assert general_costs(problem, lam)[1] == pytest.approx(C1, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_example_4_costs_of_equalized_odds(seed: int) -> None:
    problem = random_problem(seed, notion="EO", weighted=seed % 2 == 1)
    lam = random_lambda(problem, seed)
    C0, C1 = example_4_costs(problem, lam)
    assert library_costs(problem, lam) == pytest.approx(C1 - C0, abs=1e-12)


def test_erratum_example_2_needs_an_indicator_in_the_star_columns() -> None:
    # As printed, M_{(a,y,+),(*,y')} = -1 for every y'. Then the general costs of section 3.2 are
    # not those that Example 4 prints; with -1{y'=y} they are.
    off = []
    for seed in range(6):
        problem = random_problem(seed, notion="EO")
        lam = random_lambda(problem, seed)
        _, C1 = example_4_costs(problem, lam)
        assert general_costs(problem, lam)[1] == pytest.approx(C1, abs=1e-12)
        off.append(np.abs(general_costs(problem, lam, indicator=False)[1] - C1).max())
    assert min(off) > 0.1
    # Nor would the printed rows say what Definition 2 says: everybody is treated alike here, yet
    # the row (a, 0, +) as printed asks for mu_(a,0) - mu_(*,0) - mu_(*,1) <= 0, in which the
    # true-positive rate makes up for a higher false-positive rate of group a.
    y, group = np.array([0, 0, 1, 1]), np.array(list("abab"))
    unfair = FiniteProblem(y, group, np.array([[1, 0, 1, 1]]), "EO", eps=0.0)
    rows, (M, J) = unfair.keys, printed_M(unfair, indicator=False)
    mu = np.array([unfair.mean(unfair.H[0], unfair.event(*j)) for j in J])
    as_printed = dict(zip(rows, M @ mu, strict=True))
    assert as_printed[Key("a", 0, +1)] == pytest.approx(1 - 0.5 - 1)  # <= 0: "satisfied"
    corrected = dict(zip(rows, unfair.gamma()[0], strict=True))
    assert corrected[Key("a", 0, +1)] == pytest.approx(0.5)  # > 0: violated, as it should be


@pytest.mark.parametrize("notion", NOTIONS)
def test_examples_3_and_4_rho_is_at_most_two(notion: str) -> None:
    for seed in range(20):
        for eps in (0.0, 0.3, 1.0):
            problem = replace(random_problem(seed, notion=notion), eps=eps)
            game = game_of(problem)
            over_H = np.abs(problem.gamma() - eps).max()
            assert over_H <= theory.rho(game.lagrangian, game.cells) + 1e-12
            assert theory.rho(game.lagrangian, game.cells) <= 2


@pytest.mark.parametrize("notion", NOTIONS)
def test_rho_is_the_maximum_over_every_classifier_at_all(notion: str) -> None:
    y, group = np.array([0, 0, 1, 1, 0, 1, 1, 0]), np.array(list("aaabbbbb"))
    weight = np.array([1.0, 2, 0.5, 1, 3, 1, 1, 0.25])
    problem = FiniteProblem(y, group, every_classifier(8), notion, 0.2, weight)
    game = game_of(problem)
    expected = np.abs(problem.gamma() - 0.2).max(axis=0)
    assert theory.rho(game.lagrangian, game.cells) == pytest.approx(expected.max(), abs=1e-12)
    for k, row in enumerate(paper_order(problem, game.moments.rows)):
        alone = replace(  # on its own, so that neither sign hides behind the other
            game.lagrangian,
            gamma_offset=game.lagrangian.gamma_offset[[row]],
            gamma_slope=game.lagrangian.gamma_slope[[row]],
            c=np.array([-0.2]),
        )
        highest = np.abs(problem.gamma()[:, k] + 0.2).max()
        assert theory.rho(alone, game.cells) == pytest.approx(highest, abs=1e-12)


# --- appendix A ----------------------------------------------------------------------------------


@pytest.mark.parametrize("notion", NOTIONS)
def test_appendix_A_error_and_moments_of_a_randomized_classifier(notion: str) -> None:
    problem = random_problem(11, notion=notion)
    q = np.random.default_rng(0).dirichlet(np.ones(len(problem.H)))
    Q = RandomizedClassifier(listed(problem), q)
    selected = Q.predict_proba(problem.H.T)[:, 1]
    # over the draw of h for every row, against the mean of the classifiers' own figures
    assert problem.error(selected) == pytest.approx(q @ problem.error(), abs=1e-12)
    assert problem.gamma(selected) == pytest.approx(q @ problem.gamma(), abs=1e-12)
    game = game_of(problem)
    order = paper_order(problem, game.moments.rows)
    s = game.cells.sum(selected)
    assert game.lagrangian.error(s) == pytest.approx(q @ problem.error(), abs=1e-12)
    assert game.lagrangian.gamma(s)[order] == pytest.approx(q @ problem.gamma(), abs=1e-12)
    drawn = np.mean([Q.predict(problem.H.T, random_state=seed) for seed in range(600)], axis=0)
    assert np.abs(drawn - selected).max() < 0.1  # five standard deviations of a fresh draw


# --- section 3.1 ---------------------------------------------------------------------------------


class Spy(DecisionTreeClassifier):
    """A learner that remembers what it was last given."""

    seen: tuple[np.ndarray, np.ndarray]

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> Spy:
        Spy.seen = np.array(y), np.array(sample_weight)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("seed", range(5))
def test_equation_5_cost_sensitive_is_weighted_classification(seed: int) -> None:
    problem = random_problem(seed, n=30, n_groups=2)
    lam = random_lambda(problem, seed)
    C0, C1 = general_costs(problem, lam)
    game = game_of(problem)
    vector = np.zeros(len(lam))
    vector[paper_order(problem, game.moments.rows)] = list(lam.values())
    RefitOracle(Spy(), problem.H.T, game.cells).best_response(game.lagrangian.costs(vector))
    Y, W = Spy.seen
    printed_W = np.abs(C0 - C1) * problem.w
    assert Y.tolist() == (C0 >= C1).astype(int).tolist()
    assert W / W.sum() == pytest.approx(printed_W / printed_W.sum(), abs=1e-12)
    # Over any classifiers the two objectives differ by a constant, after the change of scale.
    H = np.random.default_rng(seed).integers(0, 2, (50, len(problem.y)))
    cost_sensitive = (problem.w * np.where(H == 1, C1, C0)).sum(axis=1)
    weighted = (W * (H != Y)).sum(axis=1) * printed_W.sum() / W.sum()
    assert np.ptp(cost_sensitive - weighted) < 1e-9


# --- equation (2): deterministic classifiers -----------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_equation_2_least_error_within_the_constraints_among_the_candidates(seed: int) -> None:
    problem = replace(random_problem(seed, notion="DP", n_groups=2), eps=0.2)
    grid = fit(GridSearch(listed(problem), constraint_of(problem), grid_size=31), problem)
    numbers = [candidate.classifier.classifier.number for candidate in grid.candidates_]
    error, excess = problem.error()[numbers], problem.gamma()[numbers].max(axis=1) - problem.eps
    assert [c.error for c in grid.candidates_] == pytest.approx(error, abs=1e-12)
    within = excess <= 1e-9
    assert within.any()
    assert excess[grid.best_index_] <= 1e-9
    assert error[grid.best_index_] == pytest.approx(error[within].min(), abs=1e-12)
    assert grid.predict(problem.H.T).tolist() == problem.H[numbers[grid.best_index_]].tolist()
