"""The guarantees of the paper as functions: Theorem 1, Assumption 1, Theorems 2 to 4.

They answer two questions: how long may Algorithm 1 take, and what does a bound that holds on the
training data promise about people not seen. Throughout, the Rademacher complexity of the class of
classifiers is taken to be at most ``complexity * n**-alpha`` (Assumption 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.moments import Moments
from equipoise.constraints.slopes import row_blocks
from equipoise.game.lagrangian import Lagrangian

# --- how long Algorithm 1 may take: Theorem 1 ---


def rho(lagrangian: Lagrangian, cells: CellTable) -> float:
    """Bound on rho = max over h of ||M mu(h) - c||_inf, over every h at all.

    ``gamma_k`` is affine in the shares s_c(h), each of which has its limits, so that its extremes
    are sums over the positive and over the negative slopes.
    """
    least, most = cells.limits()
    centre, largest = lagrangian.gamma_offset - lagrangian.c, 0.0
    for rows, slopes in row_blocks(lagrangian.gamma_slope):
        rising, falling = np.maximum(slopes, 0), np.minimum(slopes, 0)
        highest = centre[rows] + rising @ most + falling @ least
        lowest = centre[rows] + rising @ least + falling @ most
        largest = float(np.abs([highest, lowest]).max(initial=largest))
    return largest


def eta(nu: float, rho: float, B: float) -> float:
    """Return the step of Theorem 1, nu / (2 rho^2 B), for a nu-approximate saddle point.

    >>> eta(nu=0.1, rho=2.0, B=10.0)
    0.00125
    """
    return nu / (2 * rho**2 * B)


def gap_bound(t: int, eta: float, rho: float, B: float, n_constraints: int) -> float:
    """Theorem 1: nu_t <= B log(K+1) / (eta t) + eta rho^2 B.

    >>> round(gap_bound(t=257_511, eta=0.00125, rho=2.0, B=10.0, n_constraints=4), 6)
    0.1
    """
    return float(B * np.log(n_constraints + 1) / (eta * t) + eta * rho**2 * B)


def iteration_bound(nu: float, rho: float, B: float, n_constraints: int) -> int:
    """Theorem 1: with the step `eta`, at most 4 rho^2 B^2 log(K+1) / nu^2 iterations.

    >>> iteration_bound(nu=0.1, rho=2.0, B=10.0, n_constraints=4)
    257511
    """
    return int(np.ceil(4 * rho**2 * B**2 * np.log(n_constraints + 1) / nu**2))


# --- what sampling may do: Lemmas 4 to 6 and Assumption 1 ---


def list_complexity(size: int) -> float:
    """Return C for a list of this many classifiers: R_n(H) <= C n^(-1/2).

    Massart's lemma for the worst case over samples, sqrt(2 ln(2 |H|) / n): the 2 inside is for
    the absolute value.

    >>> round(list_complexity(10), 3)
    2.448
    """
    return float(np.sqrt(2 * np.log(2 * size)))


def deviation(n: ArrayLike, delta: float, complexity: float = 0.0, alpha: float = 0.5) -> Array:
    """Lemmas 4 and 5, and 6 with n_j for n: how far an average over n examples may be off.

    2 R_n(H) + 2 / sqrt(n) + sqrt(ln(2/delta) / 2n), for all classifiers at once and with
    probability at least 1 - delta.

    >>> deviation([100, 10_000], delta=0.05).round(3)
    array([0.336, 0.034])
    """
    n = np.asarray(n, dtype=float)
    return 2 * complexity * n**-alpha + 2 / np.sqrt(n) + np.sqrt(np.log(2 / delta) / (2 * n))


def population_deviation(
    n: int, probability: ArrayLike, delta: float, complexity: float = 0.0, alpha: float = 0.5
) -> Array:
    """Lemma 6, second part: the same before n_j is known, from the probability p of the event.

    2 R_{np/2}(H) + 2 sqrt(2 / np) + sqrt(ln(4/delta) / np), provided that np >= 8 ln(2/delta).

    >>> population_deviation(10_000, [0.25, 0.75], delta=0.05).round(3)
    array([0.098, 0.057])
    """
    expected = n * np.asarray(probability, dtype=float)
    if (expected < 8 * np.log(2 / delta)).any():
        raise ValueError(
            f"an event of probability {np.min(probability)} is expected {expected.min():.3g} times "
            f"in n={n} examples; the lemma needs at least 8 ln(2/delta) = "
            f"{8 * np.log(2 / delta):.3g}. Use more examples, or merge small groups."
        )
    return deviation(expected / 2, delta / 2, complexity, alpha)


def slack_constant(delta: float = 0.05, complexity: float = 0.0) -> float:
    """Return C' >= 2C + 2 + sqrt(ln(4/delta) / 2), what Theorem 2 asks of Assumption 1.

    The guarantees then hold with probability at least 1 - (J + 1) delta, for J moments.

    >>> round(slack_constant(delta=0.05), 3)
    3.48
    """
    return 2 * complexity + 2 + float(np.sqrt(np.log(4 / delta) / 2))


def slack(moments: Moments, constant: float, alpha: float = 0.5) -> Array:
    """Return eps_k = C' sum over j of |M_kj| n_j^-alpha (Assumption 1), for every constraint.

    What sampling alone can do to a constraint: wide where a group is small.
    """
    return constant * np.abs(moments.M) @ moments.event_count.astype(float) ** -alpha


def moment_slack(
    moments: Moments, delta: float, complexity: float = 0.0, alpha: float = 0.5
) -> Array:
    """Return the least eps_k for which Theorem 4 holds: sum over j of |M_kj| deviation(n_j)."""
    return np.abs(moments.M) @ deviation(moments.event_count, delta, complexity, alpha)


# --- what is promised about people not seen: Theorems 2 to 4 ---


def error_bound(
    best_error: float, nu: float, n: int, delta: float, complexity: float = 0.0, alpha: float = 0.5
) -> float:
    """Theorem 4: bound on the true error of Q, where ``best_error`` is that of the best Q*.

    err(Q) <= err(Q*) + 2 nu + 4 R_n(H) + 4 / sqrt(n) + sqrt(2 ln(2/delta) / n). Theorem 2 is this
    with delta / 2.

    >>> round(error_bound(best_error=0.1, nu=0.001, n=10_000, delta=0.05), 3)
    0.169
    """
    return best_error + 2 * nu + 2 * float(deviation(n, delta, complexity, alpha))


def violation_bound(c: ArrayLike, eps: ArrayLike, nu: float, B: float) -> Array:
    """Theorem 4: bound on the true gamma(Q), c + (1 + 2 nu) / B + 2 eps, constraint by constraint.

    On the training data itself Lemma 3 promises c + eps + (1 + 2 nu) / B. The 1 is the largest
    error there is: with `Costs` above one, put the larger of the two in its place.

    >>> violation_bound(c=[0.0], eps=[0.02], nu=0.01, B=100.0).round(4)
    array([0.0502])
    """
    return np.asarray(c) + (1 + 2 * nu) / B + 2 * np.asarray(eps)


def theorem_3_parameters(n: int, rho: float, alpha: float = 0.5) -> dict[str, float]:
    """Theorem 3: nu = n^-alpha, B = n^alpha, and the step that Theorem 1 then asks for.

    >>> {k: round(v, 7) for k, v in theorem_3_parameters(10_000, rho=2.0).items()}
    {'nu': 0.01, 'B': 100.0, 'eta': 1.25e-05}
    """
    nu, B = n**-alpha, n**alpha
    return {"nu": nu, "B": B, "eta": eta(nu, rho, B)}
