"""The paper's formulas and pseudo-code, transcribed over raw arrays. Nothing uses the library."""

from __future__ import annotations

import numpy as np
from finite_problems import Array, FiniteProblem, Key

#: One multiplier for every index of the paper.
Multipliers = dict[Key, float]


def printed_M(problem: FiniteProblem, *, indicator: bool = True) -> tuple[Array, list]:
    """M of Examples 1 and 2 and the events J; without the indicator, Example 2 as it is printed."""
    groups = sorted(set(problem.group.tolist()))
    labels = (None,) if problem.notion == "DP" else (0, 1)
    J = [(a, y) for a in [*groups, "star"] for y in labels]
    M = np.zeros((len(problem.keys), len(J)))
    for k, (a, y, sign) in enumerate(problem.keys):
        for j, (a_, y_) in enumerate(J):
            if a_ == "star":
                M[k, j] = -sign * (y_ == y or not indicator)
            else:
                M[k, j] = sign * (a_ == a and y_ == y)
    return M, J


def general_costs(
    problem: FiniteProblem, lam: Multipliers, *, indicator: bool = True
) -> tuple[Array, Array]:
    """C^0 and C^1 of section 3.2: 1{Y != h} + sum over k, j of M_kj lambda_k / p_j g_j 1{event}."""
    M, J = printed_M(problem, indicator=indicator)
    costs = []
    for prediction in (0, 1):
        C = (problem.y != prediction).astype(float)
        for j, event in enumerate(J):
            inside = problem.event(*event)
            p_j = problem.w[inside].sum() / problem.w.sum()
            for k, multiplier in enumerate(lam.values()):
                C = C + M[k, j] * multiplier / p_j * prediction * inside
        costs.append(C)
    return costs[0], costs[1]


def example_3_costs(problem: FiniteProblem, lam: Multipliers) -> tuple[Array, Array]:
    """C^0 and C^1 for demographic parity."""
    signed = {k.group: lam[k] - lam[k._replace(sign=-1)] for k in lam if k.sign > 0}
    p = {a: problem.w[problem.group == a].sum() / problem.w.sum() for a in signed}
    C0, C1 = 1.0 * (problem.y != 0), 1.0 * (problem.y != 1)
    for i, a in enumerate(problem.group):
        C1[i] += signed[a] / p[a] - sum(signed.values())
    return C0, C1


def example_4_costs(problem: FiniteProblem, lam: Multipliers) -> tuple[Array, Array]:
    """C^0 and C^1 for equalized odds."""
    signed = {(k.group, k.label): lam[k] - lam[k._replace(sign=-1)] for k in lam if k.sign > 0}
    groups = {a for a, _ in signed}
    C0, C1 = 1.0 * (problem.y != 0), 1.0 * (problem.y != 1)
    for i, (a, y) in enumerate(zip(problem.group, problem.y, strict=True)):
        p_ay = problem.w[problem.event(a, y)].sum() / problem.w.sum()
        p_y = problem.w[problem.event("star", y)].sum() / problem.w.sum()
        C1[i] += signed[a, y] / p_ay - sum(signed[b, y] / p_y for b in groups)
    return C0, C1


def algorithm_1(problem: FiniteProblem, B: float, nu: float, eta: float, rounds: int) -> list[dict]:
    """The printed pseudo-code, line by line, with an exhaustive Best_h."""
    error, gamma = problem.error(), problem.gamma()
    c = np.full(gamma.shape[1], problem.eps)

    def L(q: Array, lam: Array) -> float:
        return q @ error + lam @ (q @ gamma - c)

    def best_h(lam: Array) -> Array:
        q = np.zeros(len(error))
        q[np.argmin(error + (gamma - c) @ lam)] = 1.0
        return q

    def best_lambda(q: Array) -> Array:
        lam = np.zeros(len(c))
        if (q @ gamma - c).max() > 0:
            lam[np.argmax(q @ gamma - c)] = B
        return lam

    theta, hs, lams, history = np.zeros(len(c)), [], [], []
    for _ in range(rounds):
        lams.append(B * np.exp(theta) / (1 + np.exp(theta).sum()))
        hs.append(best_h(lams[-1]))
        Q, lam = np.mean(hs, axis=0), np.mean(lams, axis=0)
        upper, lower = L(Q, best_lambda(Q)), L(best_h(lam), lam)
        nu_t = max(L(Q, lam) - lower, upper - L(Q, lam))
        history.append({"lam": lam, "Q": Q, "nu": nu_t, "upper": upper, "lower": lower})
        if nu_t <= nu:
            break
        theta = theta + eta * (hs[-1] @ gamma - c)
    return history
