"""Algorithm 1 of the paper: exponentiated gradient against best responses, and its polish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np
from scipy.special import softmax

from equipoise.cells.table import Array
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture, best_mixture
from equipoise.game.rounds import Oracle, Pool, Round


def exponentiated_gradient(
    lagrangian: Lagrangian,
    oracle: Oracle,
    pool: Pool,
    *,
    nu: float,
    eta: float | None = None,
    always_check: bool = False,
) -> Iterator[Round]:
    """Algorithm 1, as printed: yield a Round for each iteration t.

    Parameters
    ----------
    eta : float, optional
        The step. By default ``sqrt(log(K+1) / sum of max|r_t|^2)`` over the rewards r_t seen: the
        best step of Theorem 1 with what happened in place of its worst case rho.
    always_check : bool, default=False
        Ask Best_h at the average multipliers in every round, as printed. Otherwise only in the
        rounds that the classifiers known already do not rule out as the last; nothing else
        changes.
    """
    K, B = lagrangian.n_constraints, lagrangian.B
    theta, lam_sum, s_sum = np.zeros(K), np.zeros(K), 0.0
    rewards = 0.0
    times, lams = list[int](), list[Array]()
    for t in count(1):
        lam = B * softmax(np.append(theta, 0.0))[:K]
        (h,) = pool.ask(oracle, lagrangian.costs(lam))
        times.append(h)
        lams.append(lam)
        s_sum, lam_sum = s_sum + pool.s[h], lam_sum + lam
        average, lam_average = s_sum / t, lam_sum / t
        value, upper = float(lagrangian.value(average, lam_average)), lagrangian.upper(average)

        def nu_t() -> float:
            lower = float(lagrangian.value(pool.s, lam_average).min())  # noqa: B023
            return max(value - lower, upper - value)  # noqa: B023

        is_proven = always_check or nu_t() <= nu
        if is_proven:
            pool.ask(oracle, lagrangian.costs(lam_average))
        # Without the best response to the average, only the lambda_t themselves prove anything.
        queries = [lam_average] if is_proven else list(lams)
        weights = np.bincount(times, minlength=len(pool)) / t
        mixture = Mixture.of_weights(weights, lam_average)
        round_ = Round.of_mixture(lagrangian, pool, mixture, t, queries)
        round_ = replace(round_, gap=nu_t() if is_proven else max(round_.gap, nu_t()))
        yield round_
        if round_.gap <= nu:
            return
        reward = lagrangian.gamma(pool.s[h]) - lagrangian.c
        rewards += float(np.abs(reward).max(initial=0.0)) ** 2
        step = eta if eta is not None else np.sqrt(np.log(K + 1) / max(rewards, 1e-300))
        theta = theta + step * reward


def polished(
    rounds: Iterable[Round], lagrangian: Lagrangian, oracle: Oracle, pool: Pool, *, nu: float
) -> Iterator[Round]:
    """Replace Q in every round by the best mixture of the classifiers found; stop on its gap.

    Whenever the pool has grown, the LP's multipliers are put to the oracle as well, which proves
    the gap or finds one more classifier.
    """
    queries, size = [np.zeros(lagrangian.n_constraints)], 0
    pool.ask(oracle, lagrangian.costs(queries[0]))
    for averaged in rounds:
        if len(pool) > size:
            size = len(pool)
            queries.append(best_mixture(lagrangian, pool.s).multipliers)
            pool.ask(oracle, lagrangian.costs(queries[-1]))
        mixture = best_mixture(lagrangian, pool.s)
        round_ = Round.of_mixture(lagrangian, pool, mixture, averaged.iteration, list(queries))
        yield round_
        if round_.gap <= nu:
            return
