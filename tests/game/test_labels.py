"""More than two labels: the game over finite classes against a linear program of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from equipoise.cells import Cells
from equipoise.constraints import (
    AccuracyEquality,
    BoundedGroupError,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
)
from equipoise.game.column_generation import column_generation
from equipoise.game.lagrangian import BalancedError, Costs, Lagrangian, loss_table
from equipoise.game.rounds import Pool
from equipoise.oracles.candidates import ExactOracle

NOTIONS = (DemographicParity, EqualOpportunity, EqualizedOdds, AccuracyEquality)


class Problem:
    """People, a short list of classifiers, and the inequalities of a notion, all by hand."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.V, self.G = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        n = int(rng.integers(60, 160))
        # Everybody occurs: no event is empty.
        kinds = [(a, y) for a in range(self.G) for y in range(self.V)]
        rest = [(rng.integers(self.G), rng.integers(self.V)) for _ in range(n)]
        self.group, self.label = np.array([*kinds, *rest]).T
        n = len(self.label)
        self.weight = rng.uniform(0.2, 2.0, n) if seed % 2 else np.ones(n)
        self.notion = NOTIONS[seed % 4]
        self.pairwise, self.eps = bool(seed // 4 % 2), float(rng.choice([0.0, 0.02, 0.1]))
        self.H = [self._classifier() for _ in range(int(rng.integers(6, 40)))]
        if seed % 5:
            self.H += [np.full(n, v) for v in range(self.V)]
        self.loss = 1.0 - np.eye(self.V)
        if seed % 3 == 0:
            self.loss = rng.uniform(size=(self.V, self.V))

    def _classifier(self) -> np.ndarray:
        rng, n = self.rng, len(self.label)
        other = (self.group + rng.integers(0, self.V)) % self.V
        return np.where(rng.uniform(size=n) < rng.uniform(), self.label, other)

    def rate(self, h: np.ndarray, who: np.ndarray, good: np.ndarray) -> float:
        return float(self.weight[who] @ good[who] / self.weight[who].sum())

    def differences(self, h: np.ndarray) -> list[float]:
        """Every difference that the notion bounds, in both directions."""
        everybody = np.ones(len(h), dtype=bool)
        favourable = range(self.V) if self.V > 2 else [1]
        kinds: dict[Any, list[tuple[np.ndarray, np.ndarray]]] = {
            DemographicParity: [(everybody, h == v) for v in range(self.V)],
            EqualOpportunity: [(self.label == v, h == v) for v in favourable],
            EqualizedOdds: [
                (self.label == y, h == v) for y in range(self.V) for v in range(self.V)
            ],
            AccuracyEquality: [(everybody, h != self.label)],
        }
        found = []
        for event, good in kinds[self.notion]:
            rates = [self.rate(h, event & (self.group == a), good) for a in range(self.G)]
            others = [self.rate(h, event, good)] if not self.pairwise else rates
            found += [a - b for a in rates for b in others] + [b - a for a in rates for b in others]
        return found

    def optimum(self) -> tuple[float | None, float]:
        """The least error of a mixture within the bound, or None, and the least slack."""
        error = [self.weight @ self.loss[self.label, h] / self.weight.sum() for h in self.H]
        gaps = np.array([self.differences(h) for h in self.H]).T
        m, one = len(self.H), np.ones((1, len(self.H)))
        best = linprog(error, A_ub=gaps, b_ub=np.full(len(gaps), self.eps), A_eq=one, b_eq=[1])
        slack = linprog(
            np.append(np.zeros(m), 1.0),
            A_ub=np.column_stack([gaps, -np.ones(len(gaps))]),
            b_ub=np.full(len(gaps), self.eps),
            A_eq=np.append(one, [[0.0]], axis=1),
            b_eq=[1],
        )
        return (float(best.fun) if best.status == 0 else None), float(slack.fun)

    def solved(self, order: np.ndarray | None = None) -> Any:
        """The last round of the game; ``order`` renames the labels."""
        order = np.arange(self.V) if order is None else order
        names = (0, 1) if self.V == 2 else tuple(f"label {v}" for v in range(self.V))
        cells = Cells.from_columns(
            order[self.label], {"group": self.group}, weight=self.weight, decisions=names
        )
        reference = "pairwise" if self.pairwise else "overall"
        matrix = np.empty_like(self.loss)
        matrix[np.ix_(order, order)] = self.loss
        game = Lagrangian.from_moments(
            self.notion(eps=self.eps, reference=reference).moments(cells),
            cells,
            Costs(matrix=matrix),
        )
        oracle = ExactOracle.from_predictions([order[h] for h in self.H], cells)
        *_, last = column_generation(game, oracle, Pool(), nu=1e-7)
        return last


@pytest.mark.parametrize("seed", range(60))
def test_the_game_ends_at_the_optimum_of_the_whole_program(seed):
    problem = Problem(seed)
    best, slack = problem.optimum()
    last = problem.solved()
    assert last.least_slack == pytest.approx(max(slack, 0.0), abs=2e-7)
    if best is not None:
        assert last.error == pytest.approx(best, abs=2e-7)
        assert last.lower == pytest.approx(best, abs=2e-7)
        assert last.violation <= 1e-7


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_other_names_of_the_labels_change_nothing(seed):
    problem = Problem(seed)
    order = np.random.default_rng(seed).permutation(problem.V)
    plain, renamed = problem.solved(), problem.solved(order)
    if problem.V == 2 and problem.notion is EqualOpportunity and order[0] == 1:
        return  # of two labels it is about the second one
    assert renamed.least_slack == pytest.approx(plain.least_slack, abs=2e-7)
    assert renamed.lower == pytest.approx(plain.lower, abs=2e-7)
    assert renamed.upper == pytest.approx(plain.upper, abs=2e-7)


def three(seed: int = 0) -> tuple[Cells, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label, sex = rng.integers(0, 3, 200), rng.choice(["F", "M"], 200)
    cells = Cells.from_columns(label, {"sex": sex}, decisions=("high", "low", "none"))
    return cells, label, sex, rng.integers(0, 3, 200)


def test_objectives_of_three_labels_are_the_means_row_by_row():
    cells, label, sex, h = three()

    def mean(objective: Any) -> float:
        offset, slope = cells.total(loss_table(objective, cells))
        return float(offset + slope @ cells.sum(h))

    assert mean(None) == pytest.approx((label != h).mean())
    matrix = np.array([[0, 1, 5], [2, 0, 1], [3, 4, 0]])
    assert mean(Costs(matrix=matrix)) == pytest.approx(matrix[label, h].mean())
    each = [(h[label == y] != y).mean() for y in range(3)]
    assert mean(BalancedError()) == pytest.approx(np.mean(each))
    names = np.array(["high", "low", "none"])

    def loss(a: dict, y: str, v: str) -> float:
        return float(y != v) * (1.0 if a["sex"] == "F" else 0.5)

    by_hand = [loss({"sex": s}, names[y], names[v]) for s, y, v in zip(sex, label, h, strict=True)]
    assert mean(loss) == pytest.approx(np.mean(by_hand))


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (Costs(false_negative=5), "Costs.* is about two labels, but there are 3.*Costs.matrix"),
        (Costs(matrix=np.eye(2)), r"shape \(2, 2\) for 3 labels: 'high', 'low', 'none'"),
    ],
)
def test_costs_of_two_labels_are_refused_for_three(objective, says):
    with pytest.raises(ValueError, match=says):
        loss_table(objective, three()[0])


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ([[0, 1]], r"shape \(1, 2\); expected finite numbers"),
        ([[0, -1], [1, 0]], "expected finite numbers >= 0"),
        ([[1, 1], [2, 2]], "no decision costs more than another"),
    ],
)
def test_matrices_that_are_no_costs_are_refused(matrix, says):
    with pytest.raises(ValueError, match=says):
        Costs(matrix=matrix)
    with pytest.raises(ValueError, match="in place of false_positive"):
        Costs(false_negative=2, matrix=[[0, 1], [1, 0]])


def test_group_bounds_hold_the_error_of_decisions_of_every_kind():
    cells, label, sex, h = three()
    moments = BoundedGroupError(0.3).moments(cells)
    gamma = moments.M @ moments.mu(cells.sum(h))
    wrong = {row.group: (h != label)[sex == row.group].mean() for row in moments.rows}
    assert dict(zip((row.group for row in moments.rows), gamma, strict=True)) == pytest.approx(
        wrong
    )
