"""Finite problems of several labels: people, a list of classifiers, and the optimum by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from equipoise.cells import Cells
from equipoise.constraints import (
    AccuracyEquality,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
)
from equipoise.game.column_generation import column_generation
from equipoise.game.lagrangian import Costs, Lagrangian
from equipoise.game.rounds import Pool
from equipoise.oracles.candidates import ExactOracle

NOTIONS = (DemographicParity, EqualOpportunity, EqualizedOdds, AccuracyEquality)


class LabelledProblem:
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
        for found in column_generation(game, oracle, Pool(), nu=5e-7):
            # Much below this nu the rounding of linear programs keeps gaps open.
            assert found.iteration < 1000, "the game does not end"
        return found
