"""Tries: what a learner that does not answer exactly is asked beyond its gaps."""

from __future__ import annotations

import numpy as np
import pytest
from finite_problems import least_error, random_problem
from games import constraint_of
from sklearn.linear_model import LogisticRegression

from equipoise import Costs, DemographicParity, FairClassifier
from equipoise.cells import Cells
from equipoise.game import Lagrangian, Pool, many_bounds, tries
from equipoise.game.rounds import Response


class Halving:
    """Takes constraints half as seriously as it is told, so that gaps close too early."""

    exact = out_of_fold = False

    def __init__(self, s, error_slope, factor=0.5):
        self.s, self.error_slope, self.factor = s, error_slope, factor

    def best_response(self, costs):
        heard = self.error_slope + self.factor * (costs - self.error_slope)
        best = int((self.s @ heard).argmin())
        return Response(best, self.s[best])

    def start_from(self, classifier):
        pass


def solved(seed, factor=0.5):
    """Return the error found for a problem, the least one, and the calls."""
    problem, nu = random_problem(seed), 1e-3
    cells = Cells.from_columns(problem.y, {"group": problem.group}, weight=problem.weight)
    game = Lagrangian.from_moments(constraint_of(problem).moments(cells), cells)
    oracle = Halving(np.array([cells.sum(h) for h in problem.H]), game.error_slope, factor)
    pool = Pool()
    for s in (cells.constant(0), cells.constant(1)):
        pool.add(None, s)
    *_, (last,) = many_bounds([game], oracle, pool, nu=nu)
    best = least_error(problem)
    return last.error, best.value, pool.n_calls


def test_multiples_find_what_a_learner_that_errs_does_not_tell(monkeypatch):
    found = np.array([solved(seed) for seed in range(20)])
    monkeypatch.setattr(tries, "_FAILED_MULTIPLES", 0)
    without = np.array([solved(seed) for seed in range(20)])
    gain = without[:, 0] - found[:, 0]
    assert gain.min() > -1e-3
    assert (gain > 1e-3).sum() >= 3
    assert (found[:, 2] >= without[:, 2]).all()


def test_a_learner_that_was_not_seen_to_err_is_not_tried_at_multiples(monkeypatch):
    found = [solved(seed, factor=1.0) for seed in range(10)]
    monkeypatch.setattr(tries, "_FAILED_MULTIPLES", 0)
    assert found == [solved(seed, factor=1.0) for seed in range(10)]


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_the_scale_of_the_costs_changes_nothing(scale):
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 400)
    X = np.column_stack([A + rng.normal(size=400), rng.normal(size=400)])
    y = (X.sum(axis=1) + rng.normal(size=400) > 0.5).astype(int)
    one, other = (
        FairClassifier(LogisticRegression(), DemographicParity(0.02), objective=Costs(k, 3 * k))
        .fit(X, y, sensitive_features=A)
        .certificate_
        for k in (1.0, scale)
    )
    assert one.n_calls == other.n_calls
    assert other.error == pytest.approx(scale * one.error)
    assert other.gap == pytest.approx(scale * one.gap, abs=1e-6 * max(scale, 1.0))
