"""The simplex method from a known vertex, against programs solved from the start."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from equipoise.game import simplex
from equipoise.game.simplex import SimplexProgram, Vertex


def random_program(seed):
    """Return cost, gamma and bounds; the first member is within them with room to spare."""
    rng = np.random.default_rng(seed)
    n_members, n_rows = int(rng.integers(2, 60)), int(rng.integers(1, 60))
    gamma = 0.2 * rng.normal(size=(n_members, n_rows)).round(seed % 3 + 1)  # with ties
    gamma[0] = 0.0
    return rng.uniform(size=n_members), gamma, np.full(n_rows, rng.uniform(0.01, 0.2))


def check(found, cost, gamma, c):
    """Compare a vertex with the program solved from the start, primal and dual."""
    best = linprog(cost, gamma.T, c, np.ones((1, len(cost))), [1.0]).fun
    mixed = found.weights @ gamma[found.members]
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.weights.min() >= 0
    assert (mixed - c).max(initial=-1.0) <= 1e-9
    assert found.weights @ cost[found.members] == pytest.approx(best, abs=1e-9)
    lam = np.zeros(len(c))
    lam[found.tight] = found.multipliers
    assert lam.min(initial=0.0) >= 0
    assert (cost + gamma @ lam).min() - lam @ c == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_more_members_and_tighter_bounds_are_solved_from_the_last_vertex(seed):
    cost, gamma, c = random_program(seed)
    half = max(len(cost) // 2, 1)
    first = SimplexProgram(cost[:half], gamma[:half], 2 * c).from_vertex(Vertex.alone(0))
    check(first, cost[:half], gamma[:half], 2 * c)
    tighter = SimplexProgram(cost[:half], gamma[:half], c).from_vertex(first)
    check(tighter, cost[:half], gamma[:half], c)
    for start in (first, tighter, Vertex.alone(0)):
        check(SimplexProgram(cost, gamma, c).from_vertex(start), cost, gamma, c)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_zero_are_solved_or_left_to_others(seed):
    cost, gamma, c = random_program(seed)
    found = SimplexProgram(cost, gamma, 0 * c).from_vertex(Vertex.alone(0))
    if found is not None:
        check(found, cost, gamma, 0 * c)


def test_what_cannot_be_met_is_left_to_others():
    program = SimplexProgram(np.array([0.0, 1.0]), np.array([[1.0], [2.0]]), np.array([0.5]))
    assert program.from_vertex(Vertex.alone(0)) is None


def test_a_vertex_that_is_none_is_left_to_others():
    cost, gamma = np.array([0.0, 1.0]), np.zeros((2, 1))
    alike = Vertex(np.array([0, 1]), np.array([0]), np.ones(2) / 2, np.zeros(1))
    assert SimplexProgram(cost, gamma, np.ones(1)).from_vertex(alike) is None


def test_a_search_without_end_is_left_to_others(monkeypatch):
    cost, gamma, c = random_program(3)
    monkeypatch.setattr(simplex, "_MOST_STEPS", 1)
    assert SimplexProgram(cost, gamma, c).from_vertex(Vertex.alone(0)) is None


def test_rounding_on_the_way_is_not_in_the_result(monkeypatch):
    cost, gamma, c = random_program(13)
    exchange = simplex._State._exchange

    def imprecise(self, enters, leaves):
        went = exchange(self, enters, leaves)
        self.inverse = self.inverse + 1e-6
        return went

    monkeypatch.setattr(simplex._State, "_exchange", imprecise)
    check(SimplexProgram(cost, gamma, c).from_vertex(Vertex.alone(0)), cost, gamma, c)
