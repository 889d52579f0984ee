"""Random problems over a short list of classifiers, and their answers from the raw arrays.

Nothing here uses the library: the moments are averages over rows, as the paper prints them, and
the optima come from linear programs written down from equation (4) and problem (P).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]
NOTIONS = ("DP", "EO")


class Key(NamedTuple):
    """An index k of the paper: (a, +) for demographic parity, (a, y, +) for equalized odds."""

    group: Any
    label: int | None
    sign: int


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """Least error over mixtures of ``H`` subject to |rate of a group - rate of all| <= eps.

    ``H`` (P, n) holds the predictions of each classifier. ``notion`` is "DP" or "EO".
    """

    y: NDArray[np.int64]
    group: NDArray
    H: NDArray[np.int64]
    notion: str
    eps: float
    weight: Array | None = None

    @property
    def w(self) -> Array:
        """Weights of the rows; all one without weights."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def keys(self) -> list[Key]:
        """The set K."""
        labels = (None,) if self.notion == "DP" else (0, 1)
        groups = sorted(set(self.group.tolist()))
        return [Key(a, y, sign) for a in groups for y in labels for sign in (+1, -1)]

    def event(self, group: Any, label: int | None) -> NDArray[np.bool_]:
        """Which rows are in {A=a, Y=y}; "star" is everybody, None any label."""
        inside = np.ones(len(self.y), dtype=bool)
        if group != "star":
            inside &= self.group == group
        if label is not None:
            inside &= self.y == label
        return inside

    def mean(self, values: Array, rows: NDArray[np.bool_]) -> Array:
        """Weighted mean over some rows; ``values`` may be (P, n)."""
        return (values * self.w)[..., rows].sum(axis=-1) / self.w[rows].sum()

    def error(self, H: Array | None = None) -> Array:
        """err(h) of every classifier."""
        H = self.H if H is None else H
        # |h - y| is 1{h != y} for decisions, and its expectation for probabilities.
        return self.mean(np.abs(H - self.y), np.ones(len(self.y), dtype=bool))

    def gamma(self, H: Array | None = None) -> Array:
        """(M mu(h))_k of every classifier, in the order of `keys`: shape (P, K)."""
        H = self.H if H is None else H
        columns = [
            k.sign
            * (
                self.mean(H, self.event(k.group, k.label))
                - self.mean(H, self.event("star", k.label))
            )
            for k in self.keys
        ]
        return np.stack(columns, axis=-1)

    def lagrangian(self, lam: Array) -> Array:
        """L(h, lambda) of every classifier, ``lam`` in the order of `keys`."""
        return self.error() + (self.gamma() - self.eps) @ lam

    def mixture(self, q: Array) -> Array:
        """How likely the mixture ``q`` of the list selects each row, shape (n,)."""
        return q @ self.H


class Optimum(NamedTuple):
    """An optimum, the mixture that attains it, its multipliers and the slack it used."""

    value: float
    q: Array
    lam: Array
    slack: float


def least_error(problem: FiniteProblem) -> Optimum | None:
    """Equation (4) by brute force; None when no mixture meets the constraints."""
    return _linear_program(problem, problem.error(), price=0.0, most_slack=0.0)


def least_penalised_error(problem: FiniteProblem, B: float) -> Optimum:
    """Problem (P): least err(Q) + B max over k of (gamma_k(Q) - c_k)+."""
    optimum = _linear_program(problem, problem.error(), price=B, most_slack=None)
    assert optimum is not None
    return optimum


def least_slack(problem: FiniteProblem) -> float:
    """By how much all bounds must be loosened together before some mixture meets them."""
    optimum = _linear_program(problem, np.zeros(len(problem.H)), price=1.0, most_slack=None)
    assert optimum is not None
    return optimum.value


def _linear_program(
    problem: FiniteProblem, cost: Array, price: float, most_slack: float | None
) -> Optimum | None:
    excess = problem.gamma() - problem.eps
    P, K = excess.shape
    solution = linprog(
        c=[*cost, price],
        A_ub=np.hstack([excess.T, -np.ones((K, 1))]),
        b_ub=np.zeros(K),
        A_eq=[[1.0] * P + [0.0]],
        b_eq=[1.0],
        bounds=[(0, 1)] * P + [(0, most_slack)],
        method="highs",
    )
    if solution.status == 2:
        return None
    assert solution.status == 0, solution.message
    return Optimum(solution.fun, solution.x[:P], -solution.ineqlin.marginals, solution.x[P])


def random_problem(
    seed: int,
    *,
    notion: str | None = None,
    n_groups: int | None = None,
    weighted: bool | None = None,
    feasible: bool = True,
    n: int | None = None,
) -> FiniteProblem:
    """Draw a problem in which groups differ, so that the constraints cost something.

    A feasible problem has both constant classifiers in its list; an infeasible one asks for no
    difference at all of classifiers that all differ.
    """
    rng = np.random.default_rng(seed)
    notion = notion or ("DP", "EO")[seed % 2]
    n_groups = n_groups or int(rng.integers(2, 6))
    n = n or int(rng.integers(8 * n_groups, 25 * n_groups))
    # Two rows of every (group, label) first: no cell is empty.
    group = np.append(np.repeat(np.arange(n_groups), 4), rng.integers(0, n_groups, n))
    base = rng.uniform(0.2, 0.8, n_groups)
    y = np.append(
        np.tile([0, 0, 1, 1], n_groups), rng.uniform(size=n) < base[group[4 * n_groups :]]
    )
    score = y + base[group] * 2 + rng.normal(0, 0.8, len(y))
    cuts = rng.uniform(0, 3, size=(int(rng.integers(3, 9)), n_groups))
    H = (score > cuts[:, group]).astype(int)
    if feasible:
        H = np.vstack([H, np.zeros_like(y), np.ones_like(y)])
    weighted = bool(rng.integers(2)) if weighted is None else weighted
    return FiniteProblem(
        y=y.astype(int),
        group=np.array([f"group {a}" for a in "badce"])[group],
        H=np.unique(H, axis=0),
        notion=notion,
        eps=float(rng.uniform(0, 0.15)) if feasible else 0.0,
        weight=rng.uniform(0.2, 3.0, len(y)) if weighted else None,
    )


def infeasible_problems(count: int, first_seed: int = 0) -> Iterator[FiniteProblem]:
    """Draw problems that no mixture of their list can meet."""
    seed = first_seed
    while count:
        problem = random_problem(seed, feasible=False)
        # One classifier less a group than it takes to balance them, most of the time.
        problem = replace(problem, H=problem.H[:2])
        if least_slack(problem) > 1e-3:
            count -= 1
            yield problem
        seed += 1


def every_classifier(n: int) -> NDArray[np.int64]:
    """Return all decisions about n people there can be."""
    return np.array(list(product((0, 1), repeat=n)))


def random_lambda(problem: FiniteProblem, seed: int) -> dict[Key, float]:
    """Return one multiplier for every index of the paper."""
    values = np.random.default_rng(seed).exponential(size=len(problem.keys))
    return dict(zip(problem.keys, values.tolist(), strict=True))
