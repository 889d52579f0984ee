"""Reweighting and relabeling against raw arrays."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from applicants import SEEDS, Scores, applicants
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from equipoise.baselines import Relabeling, Reweighting, Unconstrained
from equipoise.exceptions import EmptyCellWarning


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_reweighting_makes_group_and_label_independent(spy, seed, weighted):
    X, y, A = applicants(seed, groups=2 + seed % 3)
    own = np.random.default_rng(seed).integers(1, 5, len(y)).astype(float)
    own = own if weighted else np.ones(len(y))
    Reweighting(spy()).fit(X, y, sensitive_features=A, sample_weight=own if weighted else None)
    (weight,) = spy.weights
    joint = np.array([[weight[(a == A) & (y == v)].sum() for v in (0, 1)] for a in np.unique(A)])
    joint /= joint.sum()
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    np.testing.assert_allclose(joint, expected, rtol=1e-12)
    for a in np.unique(A):  # and neither margin has moved
        share = own[a == A].sum() / own.sum()
        assert weight[a == A].sum() / weight.sum() == pytest.approx(share, rel=1e-12)
    np.testing.assert_array_equal(spy.labels[0], y)


@pytest.mark.parametrize("scale", [0.0, 0.25, 1.0])
def test_reweighting_interpolates(spy, scale):
    X, y, A = applicants(1)
    clf = Reweighting(spy(), scale=scale).fit(X, y, sensitive_features=A)
    n = len(y)
    expected = np.array(
        [
            np.sum(a == A) * np.sum(y == v) / (n * np.sum((a == A) & (y == v)))
            for a, v in zip(A, y, strict=True)
        ]
    )
    np.testing.assert_allclose(spy.weights[0], 1 + scale * (expected - 1), rtol=1e-12)
    assert clf.weights_[0, 1] == pytest.approx(spy.weights[0][(A == 0) & (y == 1)][0])


def test_reweighting_says_when_independence_is_impossible():
    with pytest.warns(EmptyCellWarning, match="belongs to f with label 1"):
        Reweighting(LogisticRegression()).fit(
            [[0], [1], [2], [3]], [0, 0, 0, 1], sensitive_features=list("ffmm")
        )


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_relabeling_moves_the_prescribed_number(spy, seed, scale):
    X, y, A = applicants(seed)
    A = np.array(["w", "b"])[A] if seed % 2 else np.array(["b", "w"])[A]
    n_b, n_w = np.sum(A == "b"), np.sum(A == "w")
    gap = y[A == "w"].mean() - y[A == "b"].mean()
    M = ceil(round(scale * abs(gap) * n_b * n_w / len(y), 9))
    ranker = LogisticRegression().fit(X, y)
    clf = Relabeling(spy(), scale, ranker=LogisticRegression()).fit(X, y, sensitive_features=A)
    (label,) = spy.labels
    low, high = ("b", "w") if gap > 0 else ("w", "b")
    promoted, demoted = (label == 1) & (y == 0), (label == 0) & (y == 1)
    assert promoted.sum() == demoted.sum() == clf.n_relabeled_ == M
    assert set(A[promoted]) <= {low}
    assert set(A[demoted]) <= {high}
    score = ranker.predict_proba(X)[:, 1]
    if M:
        assert score[promoted].min() >= score[(low == A) & (y == 0) & ~promoted].max()
        assert score[demoted].max() <= score[(high == A) & (y == 1) & ~demoted].min()
    if scale == 1:  # no gap is left, but for what rounding up a whole person overshoots
        left = label[high == A].mean() - label[low == A].mean()
        assert -len(y) / (n_b * n_w) < left <= 1e-12


def test_relabeling_ranks_by_the_learner_itself():
    X, y, A = applicants(2)
    own = Relabeling(LogisticRegression()).fit(X, y, sensitive_features=A)
    same = Relabeling(LogisticRegression(), ranker=LogisticRegression())
    np.testing.assert_array_equal(
        own.estimator_.coef_, same.fit(X, y, sensitive_features=A).estimator_.coef_
    )
    base = Unconstrained(LogisticRegression()).fit(X, y)
    zero = Relabeling(LogisticRegression(), scale=0).fit(X, y, sensitive_features=A)
    np.testing.assert_array_equal(zero.estimator_.coef_, base.estimator_.coef_)
    margins = Relabeling(LinearSVC()).fit(X, y, sensitive_features=A)
    assert margins.n_relabeled_ == own.n_relabeled_


def test_relabeling_with_weights_equals_repetition(spy):
    X, y, A = applicants(3, n=200)
    times = np.random.default_rng(0).integers(1, 3, len(y))
    twice = [np.repeat(values, times, axis=0) for values in (X, y, A)]
    Relabeling(spy(), ranker=Scores()).fit(X, y, sensitive_features=A, sample_weight=times)
    Relabeling(spy(), ranker=Scores()).fit(twice[0], twice[1], sensitive_features=twice[2])
    moved = [times[spy.labels[0] != y].sum(), (spy.labels[1] != twice[1]).sum()]
    assert 0 <= moved[0] - moved[1] <= 2  # the last example of either direction weighs at most two


def test_relabeling_needs_two_groups_and_scores(spy):
    X, y, A = applicants(groups=3)
    with pytest.raises(ValueError, match="two groups; sensitive_features has 3"):
        Relabeling(LogisticRegression()).fit(X, y, sensitive_features=A)
    with pytest.raises(TypeError, match="neither predict_proba nor decision_function"):
        Relabeling(spy()).fit(X, y, sensitive_features=A % 2)


def test_reweighting_needs_a_learner_that_takes_weights():
    X, y, A = applicants()
    with pytest.raises(TypeError, match="takes no sample_weight"):
        Reweighting(KNeighborsClassifier()).fit(X, y, sensitive_features=A)
