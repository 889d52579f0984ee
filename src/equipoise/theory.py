"""The guarantees of the paper as functions: Theorem 1, Assumption 1, Theorems 2 to 4.

They answer two questions: how long may Algorithm 1 take, and what does a bound that holds on the
training data promise about people not seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells import Array, Cells
from equipoise.constraints import Moments
from equipoise.lagrangian import Lagrangian


def rho(lagrangian: Lagrangian, cells: Cells) -> float:
    """Bound on rho = max over h of ||M mu(h) - c||_inf, over every h at all.

    ``gamma_k`` is affine in the shares ``0 <= s_c <= mass_c``, so its extremes are sums of the
    positive and of the negative slopes.
    """
    rise = np.maximum(lagrangian.gamma_slope, 0.0) @ cells.mass
    fall = np.maximum(-lagrangian.gamma_slope, 0.0) @ cells.mass
    centre = lagrangian.gamma_offset - lagrangian.c
    return float(np.maximum(np.abs(centre + rise), np.abs(centre - fall)).max(initial=0.0))


def eta(nu: float, rho: float, B: float) -> float:
    """Return the step of Theorem 1, nu / (2 rho^2 B), for a nu-approximate saddle point.

    >>> eta(nu=0.1, rho=2.0, B=10.0)
    0.00125
    """
    return nu / (2 * rho**2 * B)


def gap_bound(t: int, eta: float, rho: float, B: float, n_constraints: int) -> float:
    """Theorem 1: nu_t <= B log(K+1) / (eta t) + eta rho^2 B."""
    return B * np.log(n_constraints + 1) / (eta * t) + eta * rho**2 * B


def iteration_bound(nu: float, rho: float, B: float, n_constraints: int) -> int:
    """Theorem 1: with the step `eta`, at most 4 rho^2 B^2 log(K+1) / nu^2 iterations.

    >>> iteration_bound(nu=0.1, rho=2.0, B=10.0, n_constraints=4)
    257511
    """
    return int(np.ceil(4 * rho**2 * B**2 * np.log(n_constraints + 1) / nu**2))


def slack_constant(delta: float = 0.05, complexity: float = 0.0) -> float:
    """Return C' >= 2C + 2 + sqrt(ln(4/delta) / 2), what Theorem 2 asks of Assumption 1.

    Parameters
    ----------
    delta : float
        The guarantees then hold with probability at least 1 - (J + 1) delta.
    complexity : float
        C, where the Rademacher complexity of the class is at most C n^-alpha.

    Examples
    --------
    >>> round(slack_constant(delta=0.05), 3)
    3.48
    """
    return 2 * complexity + 2 + float(np.sqrt(np.log(4 / delta) / 2))


def slack(moments: Moments, constant: float, alpha: float = 0.5) -> Array:
    """Return eps_k = C' sum over j of |M_kj| n_j^-alpha (Assumption 1), for every constraint.

    What sampling alone can do to a constraint: wide where a group is small.
    """
    return constant * np.abs(moments.M) @ moments.event_count.astype(float) ** -alpha


def deviation(n: ArrayLike, delta: float, complexity: float = 0.0, alpha: float = 0.5) -> Array:
    """Lemma 4: 2 R_n(H) + 2 / sqrt(n) + sqrt(ln(2/delta) / 2n), with R_n(H) = C n^-alpha."""
    n = np.asarray(n, dtype=float)
    return 2 * complexity * n**-alpha + 2 / np.sqrt(n) + np.sqrt(np.log(2 / delta) / (2 * n))


def error_bound(
    best_error: float, nu: float, n: int, delta: float, complexity: float = 0.0, alpha: float = 0.5
) -> float:
    """Theorem 4 (appendix C; Theorem 2 with its constants): bound on the true error of Q.

    err(Q) <= err(Q*) + 2 nu + 4 R_n(H) + 4 / sqrt(n) + sqrt(2 ln(2/delta) / n).
    """
    return best_error + 2 * nu + 2 * float(deviation(n, delta, complexity, alpha))


def violation_bound(c: ArrayLike, eps: ArrayLike, nu: float, B: float) -> Array:
    """Theorem 4: bound on the true gamma(Q), c + (1 + 2 nu) / B + 2 eps, constraint by constraint.

    On the training data itself Lemma 3 promises c + eps + (1 + 2 nu) / B.
    """
    return np.asarray(c) + (1 + 2 * nu) / B + 2 * np.asarray(eps)


def moment_slack(
    moments: Moments, delta: float, complexity: float = 0.0, alpha: float = 0.5
) -> Array:
    """Return the least eps_k for which Theorem 4 holds: sum over j of |M_kj| deviation(n_j)."""
    return np.abs(moments.M) @ deviation(moments.event_count, delta, complexity, alpha)


def theorem_3_parameters(n: int, rho: float, alpha: float = 0.5) -> dict[str, float]:
    """Theorem 3's orders of nu, B and eta, with constants one.

    >>> {k: round(v, 6) for k, v in theorem_3_parameters(10_000, rho=2.0).items()}
    {'nu': 0.01, 'B': 100.0, 'eta': 2.5e-05}
    """
    return {"nu": n**-alpha, "B": n**alpha, "eta": rho**-2 * n ** (-2 * alpha)}
