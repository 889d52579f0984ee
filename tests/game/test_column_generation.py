"""Column generation against brute force: every optimum is also found by an LP over raw rows."""

from __future__ import annotations

import importlib
import warnings
from copy import deepcopy
from dataclasses import replace
from typing import ClassVar

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd
from finite_problems import (
    FiniteProblem,
    infeasible_problems,
    least_error,
    least_penalised_error,
    least_slack,
    random_problem,
)
from games import constraint_of, fit, key_of, listed
from listed import Listed
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    AccuracyEquality,
    BoundedGroupError,
    DemographicParity,
    FairClassifier,
    Frontier,
    MinimaxGroupError,
)
from equipoise.exceptions import InfeasibleWarning, ManyGroupsWarning
from equipoise.game.evidence import Status
from equipoise.oracles import Refit

#: What the linear programs of both sides may differ by.
SOLVER = 2e-7


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.ConstantDecisionWarning")
@pytest.mark.parametrize("seed", range(200))
def test_column_generation_finds_the_optimum_of_the_brute_force_program(seed: int) -> None:
    problem, nu = random_problem(seed), 1e-3
    best = least_error(problem)
    assert best is not None
    clf = fit(FairClassifier(listed(problem), constraint_of(problem), nu=nu), problem)
    certificate = clf.certificate_

    selected = clf.predict_proba(problem.H.T)[:, 1]
    error, excess = problem.error(selected), problem.gamma(selected).max() - problem.eps
    assert best.value - SOLVER <= error <= best.value + nu + SOLVER
    assert excess <= SOLVER
    assert certificate.lower <= best.value + SOLVER
    assert certificate.error == pytest.approx(error, abs=1e-12)
    assert certificate.upper - certificate.lower <= nu
    assert len(clf.classifier_.members) <= len(problem.keys) + 1


@pytest.mark.parametrize("B", [0.2, 3.0])
@pytest.mark.parametrize("seed", range(30))
def test_finite_B_solves_the_penalised_problem(seed: int, B: float) -> None:
    problem, nu = random_problem(seed), 1e-3
    best = least_penalised_error(problem, B)
    clf = fit(FairClassifier(listed(problem), constraint_of(problem), nu=nu, B=B), problem)

    selected = clf.predict_proba(problem.H.T)[:, 1]
    violation = max(problem.gamma(selected).max() - problem.eps, 0.0)
    value = problem.error(selected) + B * violation
    assert best.value - SOLVER <= value <= best.value + nu + SOLVER
    assert violation <= (1 + 2 * nu) / B
    assert clf.certificate_.lower <= best.value + SOLVER
    assert clf.certificate_.multipliers.sum() <= B + SOLVER
    assert clf.certificate_.error == pytest.approx(problem.error(selected), abs=1e-9)
    clf.certificate_.check()


def test_finite_B_does_trade_violation_for_error() -> None:
    # Otherwise the test above would only repeat the one before it.
    violations = [least_penalised_error(random_problem(seed), 0.2).slack for seed in range(30)]
    assert np.mean(np.array(violations) > 1e-3) > 0.5


@pytest.mark.parametrize("number", range(30))
def test_infeasible_bounds_are_loosened_by_the_least_that_suffices(number: int) -> None:
    (problem,) = infeasible_problems(1, first_seed=100 * number)
    nu = 1e-3
    clf = FairClassifier(listed(problem), constraint_of(problem), nu=nu)
    with pytest.warns(InfeasibleWarning, match="every bound was loosened"):
        fit(clf, problem)
    certificate = clf.certificate_
    slack = least_slack(problem)
    assert slack - SOLVER <= certificate.least_slack <= slack + nu / 10 + SOLVER
    assert not certificate.feasible

    selected = clf.predict_proba(problem.H.T)[:, 1]
    assert problem.gamma(selected).max() <= problem.eps + certificate.least_slack + SOLVER
    loosened = least_error(replace(problem, eps=problem.eps + certificate.least_slack + SOLVER))
    assert loosened is not None
    assert problem.error(selected) == pytest.approx(loosened.value, abs=nu + 1e-4)
    # The constraints named are contradictory by themselves, and no part of them is.
    named = [problem.keys.index(key_of(row)) for row in certificate.conflict]
    assert least_slack_of(problem, named) > 1e-7
    for row in named if len(named) > 1 else ():
        assert least_slack_of(problem, [k for k in named if k != row]) <= 1e-7


def least_slack_of(problem: FiniteProblem, rows: list[int]) -> float:
    class Part(FiniteProblem):
        def gamma(self, H: np.ndarray | None = None) -> np.ndarray:
            return super().gamma(H)[..., rows]

    return least_slack(Part(**vars(problem)))


@pytest.mark.parametrize("seed", range(20))
def test_one_call_when_the_unconstrained_classifier_is_within_the_constraints(seed: int) -> None:
    problem = random_problem(seed)
    best = int(problem.error().argmin())
    just_enough = replace(problem, eps=float(problem.gamma()[best].max()) + 1e-6)
    clf = fit(FairClassifier(listed(problem), constraint_of(just_enough)), just_enough)
    assert clf.n_calls_ == 1
    assert clf.certificate_.error == pytest.approx(problem.error().min(), abs=1e-12)
    assert clf.certificate_.gap == 0


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.ConstantDecisionWarning")
def test_a_list_of_one() -> None:
    problem = replace(random_problem(3), H=np.zeros((1, len(random_problem(3).y)), dtype=int))
    clf = fit(FairClassifier(listed(problem), constraint_of(problem)), problem)
    assert clf.certificate_.error == pytest.approx(problem.error()[0], abs=1e-12)
    assert clf.certificate_.gap == 0


@pytest.mark.parametrize("B", [0.05, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_lower_never_exceeds_upper_with_a_learner_that_is_not_exact(seed: int, B: float) -> None:
    # Multipliers beyond B bound another problem than (P); they were once asked and counted.
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, 400)
    X = np.column_stack([2 * group + rng.normal(size=400), rng.normal(size=(400, 2))])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 0.7).astype(int)
    clf = FairClassifier(LogisticRegression(), DemographicParity(eps=0.01), B=B)
    certificate = clf.fit(X, y, sensitive_features=group).certificate_
    assert certificate.lower <= certificate.upper + SOLVER
    selected = clf.predict_proba(X)[:, 1]
    gaps = [abs(selected[group == a].mean() - selected.mean()) for a in (0, 1)]
    value = np.abs(selected - y).mean() + B * max(max(gaps) - 0.01, 0.0)
    assert certificate.upper == pytest.approx(value, abs=1e-9)


def test_the_feasibility_stage_does_not_end_half_way() -> None:
    # Its gap was once between nu / 10, at which it ends, and nu, at which it stopped to ask.
    y = np.array([1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0])
    sex = [
        "1",
        "3",
        "3",
        "3",
        "3",
        "3",
        "2",
        "1",
        "2",
        "1",
        "3",
        "3",
        "1",
        "1",
        "1",
        "1",
        "1",
        "1",
        "1",
        "1",
    ]
    race = [
        "0",
        "0",
        "3",
        "2",
        "2",
        "2",
        "0",
        "2",
        "0",
        "3",
        "2",
        "3",
        "3",
        "0",
        "0",
        "2",
        "0",
        "0",
        "0",
        "1",
    ]
    H = [
        "00000000000000000000",
        "11001100000110001010",
        "00010010111001111000",
        "01100011111011001010",
        "01101111001000111001",
    ]
    classifiers = [Listed(np.array(list(h), dtype=int)) for h in H]
    constraint = AccuracyEquality(0.01, groups="both", min_size=5, small="merge")
    for nu in (None, 1e-4):
        clf = FairClassifier(classifiers, constraint, nu=nu)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf.fit(np.arange(20)[:, None], y, sensitive_features={"sex": sex, "race": race})
        kinds = {warning.category for warning in caught}
        assert InfeasibleWarning in kinds
        assert ConvergenceWarning not in kinds
        certificate = clf.certificate_
        assert certificate.status is Status.IMPOSSIBLE
        assert certificate.least_slack == pytest.approx(0.00241, abs=certificate.nu / 10)
        assert np.isfinite(certificate.gap)
        assert len(certificate.conflict) >= 2


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
def test_least_slack_at_the_default_gap_on_200_infeasible_problems() -> None:
    for problem in infeasible_problems(200, first_seed=5000):
        clf = fit(FairClassifier(listed(problem), constraint_of(problem)), problem)
        certificate, slack = clf.certificate_, least_slack(problem)
        assert slack - SOLVER <= certificate.least_slack <= slack + clf.nu_ / 10 + SOLVER
        assert certificate.proven_slack <= slack + SOLVER
        assert np.isfinite(certificate.gap)
        assert certificate.is_optimal()
        assert certificate.conflict


def thirty_groups() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 30, 1500)
    X = np.column_stack([rng.normal(size=1500) + group / 30, rng.normal(size=1500)])
    return X, (X.sum(axis=1) + rng.normal(size=1500) > 0.8).astype(int), group


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_a_fit_that_was_stopped_is_not_called_impossible(max_iter: int) -> None:
    X, y, group = thirty_groups()
    # Constant classifiers meet every parity, but no bound on the error of all thirty groups.
    clf = FairClassifier(LogisticRegression(), BoundedGroupError(0.22), max_iter=max_iter)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ManyGroupsWarning)
        certificate = clf.fit(X, y, sensitive_features=group).certificate_
    assert [warning.category for warning in caught] == [ConvergenceWarning]
    assert "stopped by max_iter" in str(caught[0].message)
    assert certificate.status is Status.NOT_YET
    assert "impossible" not in str(certificate)
    assert "cannot" not in str(certificate)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_frontier_that_was_stopped_proves_nothing_impossible() -> None:
    X, y, group = thirty_groups()
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.005, 0.1], max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InfeasibleWarning)
        warnings.simplefilter("ignore", ManyGroupsWarning)
        frontier.fit(X, y, sensitive_features=group)
    for point in frontier.points_:
        assert point.certificate.status in (Status.MET, Status.NOT_YET)
        assert "impossible" not in str(point.certificate)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize("problem", list(infeasible_problems(5, first_seed=5000)))
def test_only_a_search_that_ended_says_impossible(problem: FiniteProblem) -> None:
    how = {"estimator": listed(problem), "constraint": constraint_of(problem)}
    ended = fit(FairClassifier(**how), problem)
    assert ended.certificate_.status is Status.IMPOSSIBLE
    for max_iter in range(1, ended.n_iter_ + 1):
        certificate = fit(FairClassifier(**how, max_iter=max_iter), problem).certificate_
        assert certificate.status is Status.NOT_YET
        assert "impossible" not in str(certificate)
        assert certificate.to_dict()["status"] == "not met yet"
        assert certificate.to_dict()["conflict"] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", InfeasibleWarning)
        stopped = fit(FairClassifier(**how, callback=lambda found: True), problem)
    assert stopped.certificate_.status is Status.NOT_YET


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.SmallGroupWarning")
def test_a_stopped_frontier_says_impossible_only_where_refine_came_to_its_end() -> None:
    y = [1, 1, 0, 0, 1, 0, 0, 1]
    classifiers = [Listed(np.array(list(h), dtype=int)) for h in ("11001111", "11000110")]
    frontier = Frontier(classifiers, AccuracyEquality(), bounds=[0.01, 0.02], max_iter=1)
    data = {"X": np.arange(8)[:, None], "y": y, "sensitive_features": list("FFFFMMMM")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", InfeasibleWarning)
        frontier.fit(**data)
    assert {point.certificate.status for point in frontier.points_} == {Status.NOT_YET}
    stopped = deepcopy(frontier)
    frontier.max_iter = 100
    assert frontier.refine(0.01, **data).certificate_.status is Status.IMPOSSIBLE
    stopped.max_iter = frontier.n_iter_ - stopped.n_iter_  # as many rounds as it takes, and no end
    assert stopped.refine(0.01, **data).certificate_.status is Status.NOT_YET
    assert frontier.at(0.01).certificate_.status is Status.IMPOSSIBLE
    assert frontier.at(0.02).certificate_.status is Status.NOT_YET
    assert frontier.at(0.015).certificate_.status is Status.NOT_YET


class Remembered(DecisionTreeClassifier):
    """A small tree, not exact; the decisions of all that were trained are kept."""

    found: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.found.append(self.predict(X))
        return self


def solved_by_trees(seed, constraint):
    """Return the fit, and the people with the decisions of every classifier that was found."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, rng.integers(2, 5), 150)
    X = np.column_stack([A + rng.normal(size=150), rng.normal(size=(150, 2))])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=150) > rng.normal()).astype(int)
    Remembered.found.clear()
    tree = Remembered(max_depth=2, random_state=0)
    clf = FairClassifier(tree, constraint, oracle=Refit(threshold="learner"))
    clf.fit(X, y, sensitive_features=A)
    H = np.array([*Remembered.found, np.zeros(150), np.ones(150)], dtype=float)
    return clf, Crowd(y, H, {"group": A.astype(str)})


@pytest.mark.parametrize("seed", [1, 9, 12])
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
def test_no_classifier_found_needs_less_slack_than_is_proven(seed):
    clf, crowd = solved_by_trees(seed, BoundedGroupError(0.15))
    certificate = clf.certificate_
    rows = by_hand.group_error(crowd, 0.15, "bounded group error")
    assert certificate.proven_slack <= by_hand.least_slack(rows) + 1e-7
    loosest = by_hand.least_error(crowd.error(), rows, certificate.least_slack + 1e-9)
    assert certificate.lower <= loosest.value + 1e-6
    certificate.check()


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_no_classifier_found_has_a_smaller_worst_group_than_is_proven(seed):
    clf, crowd = solved_by_trees(seed, MinimaxGroupError() & DemographicParity(0.02))
    rows = by_hand.group_error(crowd, 0.0, "worst group error")
    fair = by_hand.parity(crowd, PARITIES["DemographicParity"], 0.02)
    directions = np.array([0.0] * len(fair) + [1.0] * len(rows))[:, None]
    low, high = clf.certificate_.worst_rate
    assert low <= by_hand.least_slack(fair | rows, directions) + 1e-7
    assert high <= low + clf.nu_
    clf.certificate_.check()


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.ManyGroupsWarning")
def test_programs_whose_gap_cannot_be_the_largest_are_not_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solver, solved = importlib.import_module("equipoise.game.column_generation"), list[int]()
    solve, solve_programs = solver.solve, solver._solve_programs
    X, y, group = thirty_groups()

    def all_bounds() -> tuple[Frontier, int]:
        solved.clear()
        frontier = Frontier(
            LogisticRegression(), DemographicParity(), bounds=np.geomspace(0.02, 0.2, 10)
        )
        return frontier.fit(X, y, sensitive_features=group), len(solved)

    monkeypatch.setattr(solver, "solve", lambda programs: solved.append(1) or solve(programs))
    some, few = all_bounds()
    monkeypatch.setattr(
        solver, "_solve_programs", lambda *args: solve_programs(*args[:3], batch=np.inf)
    )
    every, many = all_bounds()
    assert few < 0.8 * many
    assert some.n_calls_ == every.n_calls_  # the same queries
    assert [point.error for point in some.points_] == pytest.approx(
        [point.error for point in every.points_], abs=1e-9
    )


def test_rounds_that_a_callback_keeps_say_later_what_they_said_then() -> None:
    """Queries of later rounds would prove more than the pool of then, and be above the error."""
    problem, seen = random_problem(5), []

    def keep(found):
        seen.append((found, len(found.queries), len(found.slack_queries)))

    clf = FairClassifier(listed(problem), constraint_of(problem), nu=1e-4, callback=keep)
    fit(clf, problem)
    assert len(seen) > 3
    assert seen[-1][1] > seen[0][1]
    for found, n_queries, n_slack_queries in seen:
        assert (len(found.queries), len(found.slack_queries)) == (n_queries, n_slack_queries)
