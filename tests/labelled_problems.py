"""Finite problems of several labels: people, a list of classifiers, and the optimum by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from equipoise.cells import Cells
from equipoise.constraints import (
    AccuracyEquality,
    BoundedGroupError,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    FalsePositiveRateParity,
    FourFifthsRule,
    UtilityParity,
    rate,
)
from equipoise.game.column_generation import column_generation
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.objectives import Costs
from equipoise.game.rounds import Pool
from equipoise.oracles.candidates import ExactOracle

#: Those after the first four are about some decisions only, are no differences, or have tables.
NOTIONS = (
    "demographic parity",
    "equal opportunity",
    "equalized odds",
    "accuracy equality",
    "some decisions",
    "one against the rest",
    "four fifths",
    "group bounds",
    "utilities",
    "expressions",
)


class LabelledProblem:
    """People, a short list of classifiers, and the inequalities of a notion, all by hand."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.V, self.G = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        self.notion = NOTIONS[seed % len(NOTIONS)]
        self.n_strata = 2 if seed // 10 % 3 == 2 and self.notion != "expressions" else 1
        n = int(rng.integers(60, 160))
        # Everybody occurs: no event is empty.
        sizes = self.G, self.V, self.n_strata
        kinds = np.indices(sizes).reshape(3, -1)
        rest = [rng.integers(0, size, n) for size in sizes]
        self.group, self.label, self.stratum = np.column_stack([kinds, rest])
        n = len(self.label)
        self.weight = rng.uniform(0.2, 2.0, n) if seed % 2 else np.ones(n)
        self.pairwise = bool(seed // 4 % 2) or self.notion == "four fifths"
        self.eps = float(rng.choice([0.0, 0.02, 0.1]))
        if self.notion in ("group bounds", "expressions"):
            self.eps = float(rng.choice([0.01, 0.1, 0.5]))
        elif self.notion == "four fifths":
            self.eps = 0.0
        self.H = [self._classifier() for _ in range(int(rng.integers(6, 40)))]
        if seed // 3 % 5:  # every notion comes without constants, too
            self.H += [np.full(n, v) for v in range(self.V)]
        self.loss = 1.0 - np.eye(self.V)
        if seed % 3 == 0:
            self.loss = rng.uniform(size=(self.V, self.V))
        self.utility = rng.uniform(size=(self.V, self.V))

    def _classifier(self) -> np.ndarray:
        rng, n = self.rng, len(self.label)
        other = (self.group + rng.integers(0, self.V)) % self.V
        return np.where(rng.uniform(size=n) < rng.uniform(), self.label, other)

    def rate(self, who: np.ndarray, good: np.ndarray) -> float:
        return float(self.weight[who] @ good[who] / self.weight[who].sum())

    def compared(self, h: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Who counts, and what is averaged over these, for each rate of the notion."""
        label, V, last = self.label, self.V, self.V - 1
        everybody, several = np.ones(len(h), dtype=bool), V > 2
        if self.notion == "demographic parity":
            return [(everybody, h == v) for v in range(V)]
        if self.notion == "equal opportunity":
            return [(label == v, h == v) for v in (range(V) if several else [1])]
        if self.notion == "equalized odds":
            return [(label == y, h == v) for y in range(V) for v in range(V)]
        if self.notion in ("accuracy equality", "group bounds"):
            return [(everybody, h != label)]
        if self.notion == "some decisions":
            return [(everybody, h == v) for v in ({0, last} if several else [1])]
        if self.notion == "one against the rest":
            return [(label != last, h == last)]
        if self.notion == "utilities":
            return [(everybody, self.utility[label, h])]
        return [(everybody, h == last)]  # four fifths, expressions

    def values(self, h: np.ndarray) -> list[float]:
        """Every number that the notion bounds, in both directions."""
        found = []
        for event, good in self.compared(h):
            for stratum in range(self.n_strata):
                inside = event & (self.stratum == stratum)
                rates = [self.rate(inside & (self.group == a), good) for a in range(self.G)]
                if self.notion == "group bounds":
                    found += rates
                elif self.notion == "expressions":  # of the first group, and of everybody's errors
                    found += [rates[0], self.rate(inside, h != self.label) - 0.2]
                elif self.notion == "four fifths":
                    found += [0.8 * b - a for a in rates for b in rates]
                else:
                    others = rates if self.pairwise else [self.rate(inside, good)]
                    found += [d for a in rates for b in others for d in (a - b, b - a)]
        return found

    def optimum(self) -> tuple[float | None, float]:
        """The least error of a mixture within the bound, or None, and the least slack."""
        error = [self.weight @ self.loss[self.label, h] / self.weight.sum() for h in self.H]
        gaps = np.array([self.values(h) for h in self.H]).T
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

    def constraint(self, names: tuple[Any, ...], order: np.ndarray) -> Constraint:
        """The constraint of the library; ``order`` says which name a label has."""
        eps, last = self.eps, names[order[-1]]
        reference: Any = "pairwise" if self.pairwise else "overall"
        given: dict[str, Any] = {"eps": eps, "reference": reference}
        positive = {} if self.V == 2 else {"positive": last}
        if self.notion == "some decisions":
            some = {} if self.V == 2 else {"decisions": sorted({names[order[0]], last})}
            return DemographicParity(**given, **some)
        if self.notion == "one against the rest":
            return FalsePositiveRateParity(**given, **positive)
        if self.notion == "four fifths":
            return FourFifthsRule(**positive)
        if self.notion == "group bounds":
            return BoundedGroupError(eps)
        if self.notion == "utilities":
            table = np.empty_like(self.utility)
            table[np.ix_(order, order)] = self.utility
            return UtilityParity(**given, utility=table.tolist())
        if self.notion == "expressions":
            decision = {} if self.V == 2 else {"decision": last}
            return (rate("selected", group=0, **decision) <= eps) & (rate("error") <= eps + 0.2)
        kinds = (DemographicParity, EqualOpportunity, EqualizedOdds, AccuracyEquality)
        return kinds[NOTIONS.index(self.notion)](**given)

    def solved(self, order: np.ndarray | None = None) -> Any:
        """The last round of the game; ``order`` renames the labels."""
        order = np.arange(self.V) if order is None else order
        names = (0, 1) if self.V == 2 else tuple(f"label {v}" for v in range(self.V))
        control = {"stratum": self.stratum} if self.n_strata > 1 else {}
        cells = Cells.from_columns(
            order[self.label], {"group": self.group}, control, self.weight, decisions=names
        )
        matrix = np.empty_like(self.loss)
        matrix[np.ix_(order, order)] = self.loss
        game = Lagrangian.from_moments(
            self.constraint(names, order).moments(cells), cells, Costs(matrix=matrix)
        )
        oracle = ExactOracle.from_predictions([order[h] for h in self.H], cells)
        for found in column_generation(game, oracle, Pool(), nu=5e-7):
            # Much below this nu the rounding of linear programs keeps gaps open.
            assert found.iteration < 1000, "the game does not end"
        return found
