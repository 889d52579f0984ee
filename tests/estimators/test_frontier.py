"""The frontier: many bounds from one pool."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import doomed
import numpy as np
import pytest
from finite_problems import FiniteProblem, least_error
from listed import Listed
from people import make_people, selection_gap
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    BoundedGroupError,
    Costs,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    FairClassifier,
    Frontier,
    GridSearch,
)
from equipoise.game.evidence import Scope, Status
from equipoise.oracles import Refit

BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1)


@pytest.fixture(scope="module")
def people():
    return make_people(3000)


@pytest.fixture(scope="module")
def traced(people):
    return Frontier(LogisticRegression(), DemographicParity(), bounds=BOUNDS).fit(
        people.X, people.y, sensitive_features=people.A
    )


def raw_error(selected, y):
    return np.where(y == 1, 1 - selected, selected).mean()


def test_every_bound_is_met_with_the_error_claimed(people, traced):
    for point in traced.points_:
        selected = traced.at(point.eps).predict_proba(people.X)[:, 1]
        assert selection_gap(selected, people.A) <= point.eps + 1e-6
        assert selection_gap(selected, people.A) == pytest.approx(point.disparity, abs=1e-6)
        assert raw_error(selected, people.y) == pytest.approx(point.error, abs=1e-9)
        assert point.lower <= point.error + 1e-9
        assert point.gap <= traced.nu_


def test_error_falls_as_the_bound_is_loosened_and_prices_bound_what_loosening_saves(people):
    traced = Frontier(LogisticRegression(), DemographicParity(), bounds=BOUNDS, nu=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # logistic regression does not close such a gap
        traced.fit(people.X, people.y, sensitive_features=people.A)
    errors = [point.error for point in traced.points_]
    assert all(a >= b - 1e-12 for a, b in pairwise(errors))
    point = traced.points_[2]
    for looser in (1e-4, 0.01, 0.05):
        saved = point.error - traced.at(point.eps + looser).certificate_.error
        assert saved <= point.price * looser + point.gap + 1e-9
    assert point.price == pytest.approx(
        (point.error - traced.at(point.eps + 1e-5).certificate_.error) / 1e-5, rel=0.2
    )


def test_fewer_fits_than_one_classifier_for_each_bound(people, traced):
    alone = [
        FairClassifier(LogisticRegression(), DemographicParity(eps=eps)).fit(
            people.X, people.y, sensitive_features=people.A
        )
        for eps in BOUNDS
    ]
    assert traced.n_calls_ < sum(fair.n_calls_ for fair in alone)
    for point, fair in zip(traced.points_, alone, strict=True):
        assert point.error <= fair.certificate_.error + traced.nu_


@pytest.mark.parametrize("constraint", [DemographicParity(), EqualizedOdds()])
@pytest.mark.parametrize("seed", range(10))
def test_exact_over_a_short_list_of_classifiers(constraint, seed):
    rng = np.random.default_rng(seed)
    y, A = rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    H = np.vstack([rng.integers(0, 2, (12, 60)), np.zeros(60, int), np.ones(60, int)])

    class Listed:
        def __init__(self, h):
            self.h = h

        def predict(self, X):
            return self.h[np.asarray(X)[:, 0].astype(int)]

    X = np.arange(60.0)[:, None]
    frontier = Frontier([Listed(h) for h in H], constraint, bounds=BOUNDS, nu=1e-6)
    frontier.fit(X, y, sensitive_features=A)
    notion = "DP" if isinstance(constraint, DemographicParity) else "EO"
    for point in frontier.points_:
        best = least_error(FiniteProblem(y, A, H, notion, point.eps))
        assert point.error == pytest.approx(best.value, abs=2e-6)
        assert point.lower <= point.error + 1e-9


def test_at_any_bound_between_and_selection(people, traced):
    fair = traced.at(0.03)
    assert selection_gap(fair.predict_proba(people.X)[:, 1], people.A) <= 0.03 + 1e-6
    assert fair.certificate_.error <= traced.points_[2].error
    assert fair.get_params()["constraint"].eps == 0.03
    assert set(fair.predict(people.X)) <= set(traced.classes_)
    same = traced.select(violation=0.03)
    assert same.certificate_.error == fair.certificate_.error
    target = (traced.points_[1].error + traced.points_[2].error) / 2
    chosen = traced.select(error=target)
    assert chosen.certificate_.error == pytest.approx(target, abs=1e-6)
    assert traced.points_[1].eps < chosen.constraint.eps < traced.points_[2].eps
    with pytest.raises(ValueError, match="not both"):
        traced.select()
    with pytest.raises(ValueError, match="errs as little"):
        traced.select(error=0.0)


@pytest.mark.parametrize("eps", [-0.01, np.nan, np.inf])
def test_bounds_that_are_none_are_refused(people, traced, eps):
    with pytest.raises(ValueError, match="expected one or more finite numbers >= 0"):
        traced.at(eps)
    with pytest.raises(ValueError, match="expected one or more finite numbers >= 0"):
        traced.refine(eps, people.X, people.y, sensitive_features=people.A)


def test_other_constraints_and_costs_without_training(people, traced):
    other = traced.with_constraint(EqualOpportunity())
    assert other.n_calls_ == traced.n_calls_
    assert {point.certificate.scope for point in other.points_} == {Scope.POOL}
    selected = other.at(0.05).predict_proba(people.X)[:, 1]
    positive = people.y == 1
    assert selection_gap(selected[positive], people.A[positive]) <= 0.05 + 1e-6
    dear = traced.with_objective(Costs(false_negative=5.0)).at(0.05)
    selected = dear.predict_proba(people.X)[:, 1]
    cost = np.where(positive, 5 * (1 - selected), selected).mean()
    assert dear.certificate_.error == pytest.approx(cost, abs=1e-9)
    assert [p.error for p in traced.points_] == [
        p.error for p in clone(traced).fit(people.X, people.y, sensitive_features=people.A).points_
    ]


def test_new_data(people, traced):
    new = make_people(2000, seed=5)
    again = traced.recertify(new.X, new.y, sensitive_features=new.A)
    for point in again.points_:
        selected = again.at(point.eps).predict_proba(new.X)[:, 1]
        assert selection_gap(selected, new.A) <= point.eps + 1e-6
        assert raw_error(selected, new.y) == pytest.approx(point.error, abs=1e-9)
    seen = traced.evaluate(new.X, new.y, sensitive_features=new.A)
    selected = traced.at(0.02).predict_proba(new.X)[:, 1]
    assert seen[2].error == pytest.approx(raw_error(selected, new.y), abs=1e-9)
    assert seen[2].disparity == pytest.approx(selection_gap(selected, new.A), abs=1e-9)


def test_refine_closes_a_gap(people):
    coarse = Frontier(LogisticRegression(), EqualizedOdds(), bounds=[0.05], nu=0.02)
    coarse.fit(people.X, people.y, sensitive_features=people.A)
    coarse.nu = 1e-4
    before = coarse.at(0.005).certificate_
    after = coarse.refine(0.005, people.X, people.y, sensitive_features=people.A).certificate_
    assert after.gap <= 1e-4 < before.gap
    assert after.error <= before.error + 1e-12


def test_what_refine_finds_serves_all_bounds(people):
    frontier = Frontier(LogisticRegression(), EqualizedOdds(), bounds=[0.01, 0.05], nu=0.02)
    frontier.fit(people.X, people.y, sensitive_features=people.A)
    before = frontier.points_
    frontier.nu = 1e-4
    frontier.refine(0.01, people.X, people.y, sensitive_features=people.A)
    for old, new in zip(before, frontier.points_, strict=True):
        assert new.error <= old.error + 1e-12
        assert new.lower >= old.lower - 1e-12
        assert frontier.at(new.eps).certificate_ is new.certificate
    assert frontier.points_[0].gap <= 1e-4 < before[0].gap


def test_no_person_inside(traced):
    assert len(pickle.dumps(traced)) < 60_000
    assert not hasattr(traced.cells_, "code")
    assert not hasattr(traced.cells_, "weight")


@pytest.mark.parametrize("n_jobs", ["a", 1.5, 0])
def test_a_number_of_jobs_that_is_none_is_refused_before_any_fit(people, n_jobs):
    class Never(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("fitted")

    for kind in (Frontier, GridSearch):
        with pytest.raises(ValueError, match=r"n_jobs is .* expected a whole number"):
            kind(Never(), DemographicParity(), n_jobs=n_jobs).fit(
                people.X, people.y, sensitive_features=people.A
            )


@pytest.mark.processes
def test_parallel_fits_give_a_frontier_as_good(people, traced):
    two = clone(traced).set_params(n_jobs=2).fit(people.X, people.y, sensitive_features=people.A)
    for ours, theirs in zip(two.points_, traced.points_, strict=True):
        assert ours.error <= theirs.error + traced.nu_


def test_callback_progress_and_rounds(people, traced, capsys):
    rounds = []
    stopped = clone(traced).set_params(
        callback=lambda found: rounds.append(len(found)) or len(rounds) == 2, verbose=True
    )
    stopped.fit(people.X, people.y, sensitive_features=people.A)
    assert rounds == [len(BOUNDS)] * 2
    assert "largest gap" in capsys.readouterr().out
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 1 rounds"):
        clone(traced).set_params(max_iter=1).fit(people.X, people.y, sensitive_features=people.A)


def test_an_interrupt_keeps_what_was_found(people, traced):
    calls = []

    def interrupt(found):
        calls.append(found)
        if len(calls) == 3:
            raise KeyboardInterrupt

    kept = clone(traced).set_params(callback=interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted .* fit again, or with a checkpoint"):
        kept.fit(people.X, people.y, sensitive_features=people.A)
    assert 1 < kept.n_calls_ < traced.n_calls_ + 1
    assert len(kept.points_) == len(BOUNDS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": [-0.1]}, "bounds"),
        ({"bounds": []}, "bounds"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(people, traced, change, message):
    with pytest.raises(ValueError, match=message):
        clone(traced).set_params(**change).fit(people.X, people.y, sensitive_features=people.A)


def test_a_constraint_without_eps_is_refused(people):
    with pytest.raises(TypeError, match="no eps"):
        Frontier(LogisticRegression(), BoundedGroupError(0.3)).fit(
            people.X, people.y, sensitive_features=people.A
        )


def test_checkpoints_resume_and_refuse_other_data(people, traced, tmp_path):
    stopped = clone(traced).set_params(
        checkpoint=tmp_path, callback=lambda found: found[0].iteration == 3
    )
    stopped.fit(people.X, people.y, sensitive_features=people.A)
    kept = len(list(tmp_path.glob("answer-*")))
    assert 0 < kept < traced.n_calls_
    (tmp_path / "answer-99999.partial").write_bytes(b"cut off")
    resumed = clone(traced).set_params(checkpoint=tmp_path)
    resumed.fit(people.X, people.y, sensitive_features=people.A)
    assert len(list(tmp_path.glob("answer-*.joblib"))) == traced.n_calls_
    for ours, theirs in zip(resumed.points_, traced.points_, strict=True):
        assert ours.error == pytest.approx(theirs.error, abs=1e-9)
    with pytest.raises(ValueError, match="other data"):
        clone(resumed).fit(people.X + 1, people.y, sensitive_features=people.A)


@pytest.mark.processes
def test_a_killed_fit_loses_only_the_fit_that_was_running(tmp_path):
    tests = Path(doomed.__file__).parent
    undisturbed, answers = doomed.errors(tmp_path / "whole"), 0
    all_answers = len(list((tmp_path / "whole").glob("answer-*.joblib")))
    folder = tmp_path / "killed"
    for fits in (2, 1):
        code = f"import doomed; doomed.errors({str(folder)!r}, {fits})"
        killed = subprocess.run([sys.executable, "-c", code], cwd=tests)
        assert killed.returncode == -signal.SIGKILL
        found = len(list(folder.glob("answer-*.joblib")))
        assert found == answers + fits - 1 < all_answers
        answers = found
    assert doomed.errors(folder) == undisturbed
    assert len(list(folder.glob("answer-*.joblib"))) == all_answers


def test_deep_trees_are_mixed_too(people):
    frontier = Frontier(DecisionTreeClassifier(max_depth=5, random_state=0), EqualizedOdds())
    frontier.fit(people.X, people.y, sensitive_features=people.A)
    for point in frontier.points_:
        selected = frontier.at(point.eps).predict_proba(people.X)[:, 1]
        for label in (0, 1):
            rows = people.y == label
            assert selection_gap(selected[rows], people.A[rows]) <= point.eps + 1e-6


def test_plug_in_frontier_trains_nothing_for_further_bounds(people):
    fits = []

    class Counted(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(y))
            return super().fit(X, y, sample_weight)

    sizes = {}
    for bounds in ([0.02], BOUNDS):
        fits.clear()
        frontier = Frontier(Counted(), DemographicParity(), bounds=bounds, oracle="plugin")
        frontier.fit(people.X, people.y, sensitive_features=people.A)
        sizes[len(bounds)] = len(fits)
        for point in frontier.points_:
            assert point.disparity <= point.eps + 1e-6
    assert sizes[1] == sizes[len(BOUNDS)]
    new = make_people(6000, seed=9)
    for point in frontier.points_:
        selected = frontier.at(point.eps).predict_proba(new.X)[:, 1]
        assert selection_gap(selected, new.A) <= point.eps + 0.03


def test_a_search_that_was_stopped_proves_nothing_impossible():
    """The multipliers queried would; but the words are for searches that came to an end."""
    rng, rows = np.random.default_rng(4), np.arange(24)[:, None]
    y, A = rng.integers(0, 2, 24), rng.choice(list("abc"), 24)
    rule, H = (
        EqualizedOdds(reference="pairwise"),
        [Listed(rng.integers(0, 2, 24)) for _ in range(8)],
    )
    rule = EqualizedOdds(reference="pairwise")
    frontier = Frontier(H, rule, bounds=[0.0, 0.2], max_iter=12, nu=1e-6)
    with pytest.warns(ConvergenceWarning, match="not met yet"):
        frontier.fit(rows, y, sensitive_features=A)
    assert [p.certificate.status for p in frontier.points_] == [Status.NOT_YET, Status.MET]
    assert "impossible" not in str(frontier.at(0.0).certificate_)
    assert frontier.at(0.001).certificate_.status is Status.NOT_YET
    frontier.max_iter = 100
    settled = frontier.refine(0.0, rows, y, sensitive_features=A)
    assert settled.certificate_.status is Status.IMPOSSIBLE
    assert frontier.at(0.001).certificate_.status is Status.NOT_YET  # refined was the other one


@pytest.mark.parametrize("seed", [4, 7])
def test_a_bound_that_the_unconstrained_model_meets_gives_that_model(seed):
    """Tighter bounds have found a classifier that errs less, by less than nu."""
    rng = np.random.default_rng(seed)
    A = rng.choice(["a", "b"], 300)
    X = np.column_stack([(A == "a") + rng.normal(size=300), rng.normal(size=300)])
    y = (X.sum(axis=1) + rng.normal(size=300) > 0.8).astype(int)
    oracle = Refit(threshold="learner")
    rule, bounds = DemographicParity(), [0.01, 0.05, 0.3]
    traced = Frontier(LogisticRegression(), rule, bounds=bounds, nu=0.02, oracle=oracle)
    traced.fit(X, y, sensitive_features=A)
    plain = LogisticRegression().fit(X, y).predict(X)
    errors = [np.mean(member.predict(X) != y) for member in traced.pool_.classifiers]
    assert min(errors) < np.mean(plain != y) < min(errors) + traced.nu_
    assert (traced.at(0.3).predict_proba(X)[:, 1] == plain).all()


def test_both_constant_classifiers_are_known_without_a_call():
    """A tree of one level treats the groups apart, whatever it is asked."""
    A = np.repeat([0, 1], 50)
    y = np.r_[np.tile([0, 0, 0, 1, 1], 10), np.tile([0, 0, 1, 1, 1], 10)]
    stump = DecisionTreeClassifier(max_depth=1)
    with pytest.warns(ConvergenceWarning, match="1 calls: the largest gap of bounds that are met"):
        traced = Frontier(stump, DemographicParity(), bounds=[0.0], max_iter=1).fit(
            A[:, None], y, sensitive_features=A
        )
    assert traced.n_calls_ == 1
    (point,) = traced.points_
    assert point.certificate.feasible
    assert selection_gap(traced.at(0.0).predict_proba(A[:, None])[:, 1], A) < 1e-12
