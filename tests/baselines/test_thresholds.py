"""Thresholds for groups against brute force and fairlearn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from applicants import SEEDS, Scores, applicants, rates
from scipy.optimize import linprog
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from equipoise import DemographicParity, EqualizedOdds, EqualOpportunity
from equipoise.baselines import ThresholdOptimizer
from equipoise.constraints import Constraint
from equipoise.rows.hashing import hash_uniform


def brute_force(score, y, A, weight, kind, eps):
    """Least error over all mixtures of all thresholds in each group, from raw arrays."""
    w = weight / weight.sum()
    columns = []
    for a in np.unique(A):
        for t in [-np.inf, *np.unique(score[a == A])]:
            columns.append((a, (a == A) * (score > t)))
    error = [np.sum(w * ((y == 0) * h + (a == A) * (y == 1) * (1 - h))) for a, h in columns]
    rows, bounds = [], []
    for event in [np.ones(len(y), bool)] if kind == "dp" else [y == 0, y == 1]:
        for a in np.unique(A):
            group = event & (a == A)
            row = [
                np.sum(w * h * group) / w[group].sum() - np.sum(w * h * event) / w[event].sum()
                for _, h in columns
            ]
            rows += [row, [-value for value in row]]
            bounds += [eps, eps]
    equal = [[float(a == b) for a, _ in columns] for b in np.unique(A)]
    solution = linprog(error, rows, bounds, equal, np.ones(len(equal)), method="highs")
    assert solution.status == 0
    return solution.fun


CONSTRAINTS = {"dp": DemographicParity, "eo": EqualizedOdds}


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("seed", range(20))
def test_thresholds_are_optimal(seed, kind):
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(20, 60)), int(rng.integers(2, 5))
    A = np.r_[np.repeat(np.arange(groups), 2), rng.integers(0, groups, n - 2 * groups)]
    y = np.r_[np.tile([0, 1], groups), rng.integers(0, 2, n - 2 * groups)]
    # Ties, and in some groups scores that are worse than useless.
    score = np.clip(rng.normal(0.5 + rng.uniform(-0.1, 0.3, groups)[A] * (y - 0.5), 0.2), 0, 1)
    score = score.round(1 + seed % 3)
    weight = rng.integers(1, 4, n).astype(float) if seed % 2 else np.ones(n)
    eps = [0.0, 0.05, 0.3][seed % 3]
    X = np.column_stack([score, A])
    clf = ThresholdOptimizer(Scores(), CONSTRAINTS[kind](eps=eps))
    clf.fit(X, y, sensitive_features=A, sample_weight=weight)
    h = clf.predict_proba(X, sensitive_features=A)[:, 1]
    error = np.average(np.where(y == 1, 1 - h, h), weights=weight)
    assert error == pytest.approx(brute_force(score, y, A, weight, kind, eps), abs=1e-8)
    assert clf.error_ == pytest.approx(error, abs=1e-9)
    for event in [np.ones(n, bool)] if kind == "dp" else [y == 0, y == 1]:
        for a in range(groups):
            assert abs(rates(h, event & (a == A), weight) - rates(h, event, weight)) <= eps + 1e-8


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_thresholds_are_at_least_as_good_as_fairlearns(seed, kind):
    fairlearn = pytest.importorskip("fairlearn.postprocessing")
    X, y, A = applicants(seed, n=600, groups=2 + seed % 2)
    learner = LogisticRegression().fit(X, y)
    theirs = fairlearn.ThresholdOptimizer(
        estimator=learner,
        constraints={"dp": "demographic_parity", "eo": "equalized_odds"}[kind],
        prefit=True,
        predict_method="predict_proba",
    ).fit(X, y, sensitive_features=A)
    ours = ThresholdOptimizer(FrozenEstimator(learner), CONSTRAINTS[kind](eps=0))
    ours.fit(X, y, sensitive_features=A)
    h = [
        theirs._pmf_predict(X, sensitive_features=A)[:, 1],
        ours.predict_proba(X, sensitive_features=A)[:, 1],
    ]
    error = [np.mean(np.where(y == 1, 1 - values, values)) for values in h]
    assert error[1] <= error[0] + 1e-6
    assert error[1] >= error[0] - 0.01  # theirs looks at a grid, but a fine one
    worst = max(
        abs(h[1][event & (a == A)].mean() - h[1][event].mean())
        for event in ([np.ones(len(y), bool)] if kind == "dp" else [y == 0, y == 1])
        for a in np.unique(A)
    )
    assert worst < 1e-8


def test_eps_interpolates_to_the_unconstrained_thresholds():
    X, y, A = applicants(n=800)
    errors = [
        ThresholdOptimizer(LogisticRegression(), EqualizedOdds(eps=eps))
        .fit(X, y, sensitive_features=A)
        .error_
        for eps in (0, 0.02, 0.05, 0.1, 1.0)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1] + 0.01
    score = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    best = 0.0  # each group at its own best threshold
    for a in (0, 1):
        own, truth = score[a == A], y[a == A]
        best += min(np.sum((own > t) != truth) for t in [-1, *own]) / len(y)
    assert errors[-1] == pytest.approx(best)


def test_probability_rises_with_the_score_and_thresholds_say_how():
    X, y, A = applicants(n=600)
    clf = ThresholdOptimizer(LogisticRegression(), EqualizedOdds(eps=0))
    clf.fit(X, y, sensitive_features=A)
    score = clf.estimator_.predict_proba(X)[:, 1]
    h = clf.predict_proba(X, sensitive_features=A)[:, 1]
    for a, (thresholds, probabilities) in clf.thresholds_.items():
        order = np.argsort(score[a == A])
        assert (np.diff(h[a == A][order]) >= 0).all()
        assert probabilities.sum() == pytest.approx(1)
        expected = (score[a == A][:, None] > thresholds) @ probabilities
        np.testing.assert_allclose(h[a == A], expected, atol=1e-12)


def test_draws_are_a_hash_of_the_row():
    X, y, A = applicants(n=2000)
    clf = ThresholdOptimizer(LogisticRegression(), EqualizedOdds(eps=0), random_state=3)
    clf.fit(X, y, sensitive_features=A)
    decisions = clf.predict(X, sensitive_features=A)
    pmf = clf.predict_proba(X, sensitive_features=A)
    np.testing.assert_array_equal(decisions, hash_uniform(X.astype(np.float32), salt=3) < pmf[:, 1])
    assert ((pmf > 0.01) & (pmf < 0.99)).any()
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_array_equal(
        clf.predict(X[order], sensitive_features=A[order]), decisions[order]
    )
    key = np.arange(len(y))
    np.testing.assert_array_equal(
        clf.predict(X, sensitive_features=A, key=key), hash_uniform(key, salt=3) < pmf[:, 1]
    )
    for source in (0, np.random.default_rng(0)):
        fresh = clf.predict(X, sensitive_features=A, random_state=source)
        assert abs(fresh.mean() - pmf[:, 1].mean()) < 0.02
        assert (fresh != decisions).any()
    with pytest.raises(ValueError, match="key has 3 entries but X has 2000"):
        clf.predict(X, sensitive_features=A, key=[1, 2, 3])
    with pytest.raises(ValueError, match="got both key and random_state"):
        clf.predict(X, sensitive_features=A, key=key, random_state=0)


def test_groups_at_prediction():
    X, y, A = applicants(n=600)
    B = np.random.default_rng(9).choice(["x", "y"], len(y))
    B[A == 1] = "x"  # (1, "y") does not occur
    clf = ThresholdOptimizer(LogisticRegression(), DemographicParity(eps=0))
    frame = pd.DataFrame({"a": A, "b": B})
    clf.fit(X, y, sensitive_features=frame)
    assert list(clf.thresholds_) == [(0, "x"), (0, "y"), (1, "x")]
    h = clf.predict_proba(X, sensitive_features=frame)
    for same in (frame[["b", "a"]], frame.astype({"b": "category"}), {"b": list(B), "a": list(A)}):
        np.testing.assert_array_equal(clf.predict_proba(X, sensitive_features=same), h)
    np.testing.assert_array_equal(
        clf.predict_proba(X[:5], sensitive_features=frame.to_numpy()[:5]), h[:5]
    )
    with pytest.raises(ValueError, match=r"contains '1 & y', which was not in fit"):
        clf.predict(X[:1], sensitive_features=[[1, "y"]])
    with pytest.raises(ValueError, match=r"contains '0 & z', '2 & x', which"):
        clf.predict(X[:2], sensitive_features={"a": [0, 2], "b": ["z", "x"]})
    with pytest.raises(ValueError, match="has 1 columns; in fit there were 2: 'a', 'b'"):
        clf.predict(X, sensitive_features=A)
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        clf.predict(X)


def test_score_is_expected_accuracy():
    X, y, A = applicants(n=500)
    words = np.array(["no", "yes"])[y]
    clf = ThresholdOptimizer(LogisticRegression(), EqualizedOdds(eps=0))
    clf.fit(X, words, sensitive_features=A)
    weight = np.arange(1, 501)
    h = clf.predict_proba(X, sensitive_features=A)[:, 1]
    expected = np.average(np.where(y == 1, h, 1 - h), weights=weight)
    assert clf.score(X, words, weight, sensitive_features=A) == pytest.approx(expected)
    assert 1 - clf.score(X, words, sensitive_features=A) == pytest.approx(clf.error_)


def test_other_constraints_work_too():
    X, y, A = applicants(n=500, groups=3)
    both = DemographicParity(eps=0.1, reference="pairwise") & EqualOpportunity(eps=0.01)
    clf = ThresholdOptimizer(LogisticRegression(), both).fit(X, y, sensitive_features=A)
    h = clf.predict_proba(X, sensitive_features=A)[:, 1]
    selected = [h[a == A].mean() for a in range(3)]
    assert max(selected) - min(selected) <= 0.1 + 1e-8
    true_positive = [h[(a == A) & (y == 1)].mean() - h[y == 1].mean() for a in range(3)]
    assert np.abs(true_positive).max() <= 0.01 + 1e-8


def test_constraints_that_only_bad_thresholds_meet():
    """Below the diagonal: those with label 1 selected less often than those with label 0."""
    rng = np.random.default_rng(0)
    y, A = rng.integers(0, 2, (2, 400))
    score = np.clip(rng.normal(0.6 - 0.2 * y, 0.1), 0, 1)
    X = np.column_stack([score, A])
    upside_down = Constraint.from_moments(
        events=[{"label": 1}, {"label": 0}], g=[[0, 1], [0, 1]], M=[[1, -1]], c=[-0.3]
    )
    clf = ThresholdOptimizer(Scores(), upside_down).fit(X, y, sensitive_features=A)
    h = clf.predict_proba(X, sensitive_features=A)[:, 1]
    assert h[y == 1].mean() - h[y == 0].mean() == pytest.approx(-0.3)
    with pytest.raises(ValueError, match=r"no thresholds on these scores meet .* Loosen its eps"):
        ThresholdOptimizer(Scores(), upside_down).fit(
            np.column_stack([1 - score, A]), y, sensitive_features=A
        )


def test_scores_that_almost_touch():
    low = 0.5
    high = np.nextafter(low, 1)
    score = np.array([low] * 5 + [high] * 5)
    y = (score == high).astype(int)
    A = np.tile([0, 1], 5)
    X = np.column_stack([score, A])
    clf = ThresholdOptimizer(Scores(), EqualizedOdds(eps=0)).fit(X, y, sensitive_features=A)
    assert clf.error_ == pytest.approx(0)
    np.testing.assert_array_equal(clf.predict(X, sensitive_features=A), y)


def test_margins_and_frozen_learners():
    X, y, A = applicants(n=500)
    svc = LinearSVC().fit(X, y)
    clf = ThresholdOptimizer(FrozenEstimator(svc), DemographicParity(eps=0))
    clf.fit(X, y, sensitive_features=A)
    np.testing.assert_array_equal(clf.estimator_.decision_function(X), svc.decision_function(X))
    h = clf.predict_proba(X, sensitive_features=A)[:, 1]
    assert abs(h[A == 0].mean() - h[A == 1].mean()) < 1e-8
