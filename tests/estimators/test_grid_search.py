"""Grid search: which multipliers it walks, what it selects, and what it hands back."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people, selection_gap
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equipoise import Costs, DemographicParity, EqualizedOdds, FairClassifier, GridSearch
from equipoise.exceptions import InfeasibleWarning
from equipoise.oracles.specs import Refit

X, Y, A = make_people(500, seed=4)


def search(eps=0.1, constraint=None, data=(X, Y, A), **parameters) -> GridSearch:
    constraint = DemographicParity(eps=eps) if constraint is None else constraint
    X, y, A = data
    grid = GridSearch(LogisticRegression(), constraint, **parameters)
    return grid.fit(X, y, sensitive_features=A)


def adjustments(grid: GridSearch, A=A, given=None) -> np.ndarray:
    """Return delta_a of every candidate and group, for demographic parity, from the multipliers.

    The multipliers come in pairs, above and below the overall rate, one pair for each group; with
    n_a people of n in group a, delta_a = net_a n / n_a - sum of all nets.
    """
    groups = np.unique(A)
    lam = np.array([candidate.lam for candidate in grid.candidates_])
    if given is not None:  # the multipliers of this label only
        lam = lam[:, given * 2 * len(groups) : (given + 1) * 2 * len(groups)]
    net = lam[:, 0::2] - lam[:, 1::2]
    share = np.array([np.mean(a == A) for a in groups])
    return net / share - net.sum(axis=1, keepdims=True)


def rows_of(table: np.ndarray) -> set[tuple]:
    return {tuple(row + 0.0) for row in np.round(table, 7)}


# The grid


@pytest.mark.parametrize("size", [3, 5, 21])
def test_two_groups_have_one_dimension(size):
    grid = search(eps=0.5, grid_size=size, grid_limit=1.5)
    delta = adjustments(grid)
    assert len(delta) == size
    np.testing.assert_allclose(delta @ [np.mean(A == 0), np.mean(A == 1)], 0, atol=1e-9)
    assert rows_of(delta) == rows_of(-delta)  # symmetric
    assert (0.0, 0.0) in rows_of(delta)  # contains the unconstrained problem
    assert np.abs(delta).max() == pytest.approx(1.5)
    steps = np.diff(np.sort(delta[:, 0]))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)  # evenly spaced


def test_three_groups_have_two_dimensions():
    people = make_people(500, groups=3, seed=4)
    delta = adjustments(search(eps=0.5, data=people, grid_size=25), people.A)
    shares = [np.mean(a == people.A) for a in range(3)]
    np.testing.assert_allclose(delta @ shares, 0, atol=1e-9)
    assert len(rows_of(delta)) == 25
    assert np.linalg.matrix_rank(delta, tol=1e-6) == 2
    assert rows_of(delta) == rows_of(-delta)
    assert (0.0, 0.0, 0.0) in rows_of(delta)


def test_equalized_odds_has_one_dimension_a_label():
    grid = search(constraint=EqualizedOdds(eps=0.5), grid_size=25)
    assert len(grid.candidates_) == 25
    both = []
    for label in (0, 1):
        delta = adjustments(grid, A[label == Y], given=label)
        shares = [np.mean(A[label == Y] == a) for a in (0, 1)]
        np.testing.assert_allclose(delta @ shares, 0, atol=1e-9)
        assert len(rows_of(delta)) == 5
        both.append(delta)
    both = np.hstack(both)
    assert len(rows_of(both)) == 25
    assert rows_of(both) == rows_of(-both)
    assert (0.0,) * 4 in rows_of(both)


def test_unconstrained_model_is_a_candidate():
    plain = LogisticRegression().fit(X, Y).predict(X)
    grid = search(eps=0.5)
    at_zero = [c for c in grid.candidates_ if not c.lam.any()]
    assert len(at_zero) == 1
    np.testing.assert_array_equal(at_zero[0].classifier.predict(X), plain)
    assert np.mean(grid.predict(X) != Y) <= np.mean(plain != Y)


def test_grid_of_the_user():
    lams = np.array([[0.0, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.2], [0.0, 0.3, 0.0, 0.0]])
    grid = search(eps=0.5, grid=lams)
    np.testing.assert_array_equal([c.lam for c in grid.candidates_], lams)
    # lambda = (0, 0.3, 0, 0): group 0 is to be selected more, which costs 0.3 (1 - n / n_0) less.
    cost = 1 - 2.0 * Y + np.where(A == 0, 0.3 - 0.3 / np.mean(A == 0), 0.3)
    weight = np.abs(cost) / np.abs(cost).mean()
    expected = LogisticRegression().fit(X, cost < 0, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(grid.candidates_[2].classifier.predict(X), expected)
    one = search(eps=0.5, grid=lams[1])  # a single point needs no second dimension
    assert len(one.candidates_) == 1


# The selection, recomputed from predictions


def measured(grid: GridSearch) -> tuple[np.ndarray, np.ndarray]:
    predictions = [c.classifier.predict(X) for c in grid.candidates_]
    error = np.array([np.mean(h != Y) for h in predictions])
    return error, np.array([selection_gap(h, A) for h in predictions])


@pytest.mark.parametrize("eps", [0.04, 0.1, 0.2])
def test_least_error_within_the_bound(eps):
    grid = search(eps)
    error, gap = measured(grid)
    np.testing.assert_allclose([c.error for c in grid.candidates_], error, atol=1e-12)
    excess = np.maximum(gap - eps, 0)
    np.testing.assert_allclose([c.violation for c in grid.candidates_], excess, atol=1e-9)
    within = gap <= eps + 1e-8
    assert within[grid.best_index_]
    assert error[grid.best_index_] == error[within].min()
    assert 0 < within.sum() < len(within)
    np.testing.assert_array_equal(grid.predict(X), grid.best_estimator_.predict(X))
    assert grid.score(X, Y) == pytest.approx(1 - error[grid.best_index_])


@pytest.mark.parametrize("tradeoff", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_tradeoff(tradeoff):
    grid = search(0.01, tradeoff=tradeoff)
    error, gap = measured(grid)
    loss = (1 - tradeoff) * error + tradeoff * np.maximum(gap - 0.01, 0)
    assert loss[grid.best_index_] == pytest.approx(loss.min(), abs=1e-9)


def test_tradeoff_moves_from_error_to_violation():
    chosen = [search(0.01, tradeoff=t) for t in (0.0, 1.0)]
    errors = [np.mean(grid.predict(X) != Y) for grid in chosen]
    gaps = [selection_gap(grid.predict(X), A) for grid in chosen]
    assert errors[0] < errors[1]
    assert gaps[0] > gaps[1]


def test_costs_are_the_objective():
    grid = search(0.5, objective=Costs(false_positive=1, false_negative=4))
    for candidate in grid.candidates_:
        h = candidate.classifier.predict(X)
        expected = np.mean((h == 1) & (Y == 0)) + 4 * np.mean((h == 0) & (Y == 1))
        assert candidate.error == pytest.approx(expected)
    assert grid.predict(X).mean() > search(0.5).predict(X).mean()


def test_no_candidate_within_the_bound():
    with pytest.warns(
        InfeasibleWarning, match=r"none of the 3 candidates.*FairClassifier"
    ) as caught:
        grid = search(1e-4, grid_size=3, grid_limit=0.1)
    _, gap = measured(grid)
    assert gap[grid.best_index_] == gap.min()
    assert f"{gap.min() - 1e-4:.4g}" in str(caught[0].message)
    constant = min(np.mean(Y == 0), np.mean(Y == 1))
    assert f"for everybody would meet them, with an error of {constant:.4g}" in str(
        caught[0].message
    )


# All candidates


def test_use_another_candidate():
    grid = search()
    for index, candidate in enumerate(grid.candidates_):
        assert grid.use(index) is grid
        assert grid.best_index_ == index
        assert grid.best_estimator_ is candidate.classifier
        np.testing.assert_array_equal(grid.predict(X), candidate.classifier.predict(X))
    assert grid.use(-1).best_index_ == len(grid.candidates_) - 1
    with pytest.raises(IndexError, match="out of range"):
        grid.use(1000)
    with pytest.raises(NotFittedError):
        GridSearch(LogisticRegression(), DemographicParity()).use(0)


def test_decisions_are_deterministic():
    grid = search()
    np.testing.assert_array_equal(grid.predict(X), grid.predict(X))
    assert not hasattr(grid, "random_state")
    decided = grid.classes_[grid.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(decided, grid.predict(X))
    assert set(np.unique(grid.predict_proba(X))) == {0.0, 1.0}


def test_scores_are_those_of_the_label():
    grid = search()
    expected = LogisticRegression().fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(grid.label_proba(X), expected, atol=1e-3)
    silent = GridSearch(LinearSVC(), DemographicParity(eps=0.5), grid_size=3)
    with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
        silent.fit(X, Y, sensitive_features=A).label_proba(X)


@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.2), EqualizedOdds(eps=0.3)])
@pytest.mark.parametrize(
    "learner",
    # A convex problem may be started from another solution, so it is solved to the end here.
    [DecisionTreeClassifier(max_depth=4, random_state=0), LogisticRegression(tol=1e-10)],
)
def test_two_jobs_find_what_one_does(learner, constraint):
    one, two = (
        GridSearch(learner, constraint, grid_size=9, tradeoff=0.5, n_jobs=n_jobs).fit(
            X, Y, sensitive_features=A
        )
        for n_jobs in (1, 2)
    )
    assert one.best_index_ == two.best_index_
    for a, b in zip(one.candidates_, two.candidates_, strict=True):
        np.testing.assert_array_equal(a.lam, b.lam)
        np.testing.assert_allclose(
            a.classifier.predict_proba(X), b.classifier.predict_proba(X), atol=1e-5
        )
        assert (a.error, a.violation) == (b.error, b.violation)


# From a saddle point


@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.02), EqualizedOdds(eps=0.02)])
def test_members_of_the_saddle_point(constraint):
    # One member alone need not be within the bound, so select by the trade-off.
    # And with a small nu, which leaves no room for a mixture that is less random.
    grid = search(constraint=constraint, grid="saddle_point", tradeoff=0.5, nu=1e-6)
    oracle = Refit(threshold="learner")
    fair = FairClassifier(LogisticRegression(), constraint, oracle=oracle, nu=1e-6)
    fair.fit(X, Y, sensitive_features=A)
    members = fair.classifier_.members
    assert len(grid.candidates_) == len(members) > 1
    for candidate, member in zip(grid.candidates_, members, strict=True):
        np.testing.assert_array_equal(candidate.classifier.predict(X), member.predict(X))
        mixed = fair.certificate_.evidence.mixture
        np.testing.assert_allclose(candidate.lam, mixed.multipliers, atol=1e-9)


def test_saddle_point_serves_many_groups():
    """Where a lattice would need thousands of fits."""
    people = make_people(600, groups=8, seed=1)
    with pytest.raises(ValueError, match="saddle_point"):
        search(0.2, data=people)
    grid = search(0.2, data=people, grid="saddle_point", tradeoff=0.5)
    assert 1 <= len(grid.candidates_) <= 2 * 8 + 1
    assert set(grid.predict(people.X)) <= {0, 1}


def test_saddle_point_when_nothing_needs_to_change():
    grid = search(0.9, grid="saddle_point")
    assert len(grid.candidates_) == 1
    np.testing.assert_array_equal(grid.predict(X), LogisticRegression().fit(X, Y).predict(X))
