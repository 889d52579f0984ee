"""Tries: what a learner that does not answer exactly is asked beyond its gaps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from finite_problems import least_error, random_problem
from games import constraint_of
from sklearn.linear_model import LogisticRegression

from equipoise import Costs, DemographicParity, FairClassifier
from equipoise.cells import Cells
from equipoise.game import Lagrangian, Mixture, Pool, many_bounds, tries
from equipoise.game.rounds import Response
from equipoise.game.tries import Tries


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


def solved(seed, factor=0.5, part=0.1):
    """Return the error found for a problem, the least one, and the calls.

    The gap is this part of the default.
    """
    problem = random_problem(seed)
    cells = Cells.from_columns(problem.y, {"group": problem.group}, weight=problem.weight)
    game = Lagrangian.from_moments(constraint_of(problem).moments(cells), cells)
    nu = part * game.default_nu
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


@pytest.mark.parametrize(("part", "is_tried"), [(0.1, False), (0.099, True)])
def test_a_learner_that_was_not_seen_to_err_is_tried_at_multiples_for_a_precise_gap(
    monkeypatch, part, is_tried
):
    calls = np.array([solved(seed, 1.0, part)[2] for seed in range(10)])
    monkeypatch.setattr(tries, "_FAILED_MULTIPLES", 0)
    without = np.array([solved(seed, 1.0, part)[2] for seed in range(10)])
    assert (calls >= without).all()
    assert (calls > without).any() == is_tried


def test_all_that_led_to_members_is_doubled_the_largest_first_then_the_latest():
    game = Lagrangian(0.5, np.ones(2), np.zeros(2), np.eye(2), np.zeros(2))
    program, members = np.array([0.0, 0.3]), np.array([0, 1])
    bound = SimpleNamespace(
        game=game, mixture=Mixture(members, np.array([0.9, 0.1]), program, np.zeros(1)), upper=0.5
    )
    asked, known = Tries(exact=False, nu=0.01, default_nu=1.0), []
    for lam, h in [((0, 0), 0), ((0.1, 0.2), 1), ((0.3, 0), 0), ((0.7, 0), 1), ((4, 0), 2)]:
        asked.note(np.array(lam, dtype=float), h)  # 2 is no member
    pool = SimpleNamespace(n_calls=1, knows=lambda costs: costs.tolist() in known)
    while found := asked.next([bound], 1, pool, np.zeros(3), np.zeros((3, 2))):
        known.append(found[0].costs.tolist())
        bound.upper -= 0.1  # the try pays
    lams = (np.array(known) - game.error_slope).tolist()
    assert lams == pytest.approx(np.array([[0, 0.6], [1.4, 0], [0.6, 0], [0.2, 0.4], [0, 1.2]]))


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
