"""Sections 3.4 and 4: the grid."""

from __future__ import annotations

import numpy as np
import pytest
from finite_problems import FiniteProblem, random_lambda, random_problem
from games import constraint_of, fit, game_of, library_costs, listed, paper_order

from equipoise import GridSearch
from equipoise.game.grid import delta_grid, free_adjustments

# --- section 3.4: the grid -----------------------------------------------------------------------


def adjustments(problem: FiniteProblem, size: int, limit: float = 2.0) -> np.ndarray:
    """Return delta of every example (columns) for every point of GridSearch's grid (rows)."""
    game = game_of(problem)
    lams = delta_grid(game.lagrangian, size, limit)
    assert (lams >= 0).all()
    error = np.where(problem.y == 1, -1.0, 1.0)
    return np.array([game.cells.spread(game.lagrangian.costs(lam)) for lam in lams]) - error


def assert_symmetric_around_zero(deltas: np.ndarray) -> None:
    points = {tuple(point) for point in np.round(deltas, 9) + 0.0}
    assert {tuple(point) for point in -np.round(deltas, 9) + 0.0} == points
    assert (0.0,) * deltas.shape[1] in points
    assert len(points) == len(deltas)


@pytest.mark.parametrize(("n_groups", "size"), [(2, 21), (3, 49)])
def test_example_7_grid_for_demographic_parity(n_groups: int, size: int) -> None:
    problem = random_problem(2, notion="DP", n_groups=n_groups, weighted=True)
    deltas = adjustments(problem, size)
    assert len(deltas) == size
    assert_symmetric_around_zero(deltas)
    groups = sorted(set(problem.group.tolist()))
    by_group = np.column_stack([deltas[:, problem.group == a][:, 0] for a in groups])
    for a, column in zip(groups, by_group.T, strict=True):  # one adjustment a group
        assert deltas[:, problem.group == a] == pytest.approx(
            np.repeat(column[:, None], (problem.group == a).sum(), axis=1), abs=1e-9
        )
    p = np.array([problem.w[problem.group == a].sum() for a in groups]) / problem.w.sum()
    assert by_group @ p == pytest.approx(0, abs=1e-9)
    assert np.linalg.matrix_rank(by_group, tol=1e-6) == n_groups - 1
    if n_groups == 2:
        assert by_group[:, 1] == pytest.approx(-p[0] * by_group[:, 0] / p[1], abs=1e-9)
    assert np.abs(deltas).max() >= 2.0 - 1e-9


@pytest.mark.parametrize("n_groups", [2, 3])
def test_example_8_grid_for_equalized_odds(n_groups: int) -> None:
    problem = random_problem(3, notion="EO", n_groups=n_groups, weighted=True)
    deltas = adjustments(problem, size=25 if n_groups == 2 else 81)
    assert_symmetric_around_zero(deltas)
    groups = sorted(set(problem.group.tolist()))
    for y in (0, 1):
        events = [problem.event(a, y) for a in groups]
        by_group = np.column_stack([deltas[:, event][:, 0] for event in events])
        p = np.array([problem.w[event].sum() for event in events]) / problem.w.sum()
        assert by_group @ p == pytest.approx(0, abs=1e-9)
        if n_groups == 2:
            assert by_group[:, 1] == pytest.approx(-p[0] * by_group[:, 0] / p[1], abs=1e-9)
            assert len(set(np.round(by_group[:, 0], 9))) == 5  # walks its own dimension
    assert np.linalg.matrix_rank(deltas, tol=1e-6) == 2 * (n_groups - 1)


@pytest.mark.parametrize(("notion", "dimensions"), [("DP", 3), ("EO", 6)])
def test_section_4_dimensions_of_the_grid_with_four_groups(notion: str, dimensions: int) -> None:
    lagrangian = game_of(random_problem(1, notion=notion, n_groups=4)).lagrangian
    assert len(free_adjustments(lagrangian.gamma_slope)) == dimensions


@pytest.mark.parametrize("seed", range(5))
def test_examples_7_and_8_every_lambda_adjusts_within_the_grid_space(seed: int) -> None:
    # The printed delta of any lambda satisfies the identity, so that the grid misses nothing.
    problem = random_problem(seed)
    lam = random_lambda(problem, seed)
    delta = library_costs(problem, lam) - np.where(problem.y == 1, -1.0, 1.0)
    for y in (None,) if problem.notion == "DP" else (0, 1):
        event = problem.event("star", y)
        assert (problem.w * delta)[event].sum() / problem.w.sum() == pytest.approx(0, abs=1e-9)


def test_section_4_footnote_reweighting_is_on_the_grid_of_equalized_odds() -> None:
    # Kamiran and Calders weigh (a, y) by p_a p_y / p_(a,y).
    problem = random_problem(10, notion="EO", weighted=False)
    game = game_of(problem)
    share = {
        (a, y): problem.event(a, y).mean()
        for a in [*sorted(set(problem.group.tolist())), "star"]
        for y in (None, 0, 1)
    }
    wanted = np.array(
        [
            share[a, None] * share["star", y] / share[a, y]
            for a, y in zip(problem.group, problem.y, strict=True)
        ]
    )
    signed = np.where(problem.y == 1, -wanted, wanted)  # costs whose relabelling is y, weighted
    delta = signed - np.where(problem.y == 1, -1.0, 1.0)
    table = np.array([delta[game.cells.code == c][0] for c in range(game.cells.n_cells)])
    lam = np.linalg.lstsq(game.lagrangian.gamma_slope.T, table, rcond=None)[0]
    assert game.lagrangian.gamma_slope.T @ lam == pytest.approx(table, abs=1e-9)


def test_section_3_4_candidates_from_the_saddle_point_are_best_responses() -> None:
    problem = random_problem(12, notion="DP")
    grid = GridSearch(listed(problem), constraint_of(problem), grid="saddle_point", tradeoff=0.5)
    fit(grid, problem)
    assert len(grid.candidates_) > 1
    order = paper_order(problem, game_of(problem).moments.rows)
    for candidate in grid.candidates_:
        values = problem.lagrangian(candidate.lam[order])
        number = candidate.classifier.classifier.number
        assert values[number] == pytest.approx(values.min(), abs=1e-3)
