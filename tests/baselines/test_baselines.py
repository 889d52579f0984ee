"""Baselines against independent computation: raw arrays, brute force, fairlearn."""

from __future__ import annotations

import pickle
from math import ceil

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from equipoise import DemographicParity, EqualizedOdds, EqualOpportunity, metrics
from equipoise.baselines import Relabeling, Reweighting, ThresholdOptimizer, Unconstrained
from equipoise.constraints import Constraint
from equipoise.exceptions import EmptyCellWarning
from equipoise.rows.hashing import hash_uniform

SEEDS = range(6)


def applicants(seed: int = 0, n: int = 400, groups: int = 2):
    rng = np.random.default_rng(seed)
    A = rng.integers(0, groups, n)
    X = np.column_stack([A + rng.normal(size=n), rng.normal(size=n), A])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.5 * groups).astype(int)
    return X, y, A


class Spy(ClassifierMixin, BaseEstimator):
    """A learner that says yes to all, and notes the labels and weights it is given."""

    labels: list
    weights: list

    def fit(self, X, y, sample_weight=None):
        self.labels.append(y)
        self.weights.append(sample_weight)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones(X.shape[0])


@pytest.fixture
def spy():
    """Return a spy with an empty notebook, shared by all its clones."""
    return type("Spy", (Spy,), {"labels": [], "weights": []})


class Scores(LogisticRegression):
    """Not a learner: the first feature is the score."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def rates(h, where, weight):
    return np.sum(h[where] * weight[where]) / np.sum(weight[where])


# Unconstrained


def test_unconstrained_is_the_learner():
    X, y, A = applicants()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    words = np.array(["no", "yes"])[y]
    ours = Unconstrained(LogisticRegression()).fit(
        X, words, sensitive_features=A, sample_weight=weight
    )
    theirs = LogisticRegression().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.predict(X) == "yes", theirs.predict(X))
    np.testing.assert_array_equal(ours.predict_pmf(X)[:, 1], theirs.predict(X))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.classes_.tolist() == ["no", "yes"]
    assert ours.score(X, words) == theirs.score(X, y)


def test_unconstrained_needs_no_groups_and_no_weights():
    X, y, _ = applicants()
    clf = Unconstrained(KNeighborsClassifier()).fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), KNeighborsClassifier().fit(X, y).predict(X))
    assert not hasattr(Unconstrained(RidgeClassifier()), "predict_proba")


# Reweighting


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
    with pytest.warns(EmptyCellWarning, match="'f' with label 1"):
        Reweighting(LogisticRegression()).fit(
            [[0], [1], [2], [3]], [0, 0, 0, 1], sensitive_features=list("ffmm")
        )


# Relabeling


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


# Post-processing


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
    h = clf.predict_pmf(X, sensitive_features=A)[:, 1]
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
        ours.predict_pmf(X, sensitive_features=A)[:, 1],
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
    h = clf.predict_pmf(X, sensitive_features=A)[:, 1]
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
    pmf = clf.predict_pmf(X, sensitive_features=A)
    np.testing.assert_array_equal(decisions, hash_uniform(X, salt=3) < pmf[:, 1])
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


def test_groups_at_prediction():
    X, y, A = applicants(n=600)
    B = np.random.default_rng(9).choice(["x", "y"], len(y))
    B[A == 1] = "x"  # (1, "y") does not occur
    clf = ThresholdOptimizer(LogisticRegression(), DemographicParity(eps=0))
    frame = pd.DataFrame({"a": A, "b": B})
    clf.fit(X, y, sensitive_features=frame)
    assert list(clf.thresholds_) == [(0, "x"), (0, "y"), (1, "x")]
    h = clf.predict_pmf(X, sensitive_features=frame)
    for same in (frame[["b", "a"]], frame.astype({"b": "category"}), {"b": list(B), "a": list(A)}):
        np.testing.assert_array_equal(clf.predict_pmf(X, sensitive_features=same), h)
    np.testing.assert_array_equal(
        clf.predict_pmf(X[:5], sensitive_features=frame.to_numpy()[:5]), h[:5]
    )
    with pytest.raises(ValueError, match=r"contains \(1, 'y'\), which was not in fit"):
        clf.predict(X[:1], sensitive_features=[[1, "y"]])
    with pytest.raises(ValueError, match=r"contains \(0, 'z'\), \(2, 'x'\), which"):
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
    h = clf.predict_pmf(X, sensitive_features=A)[:, 1]
    expected = np.average(np.where(y == 1, h, 1 - h), weights=weight)
    assert clf.score(X, words, weight, sensitive_features=A) == pytest.approx(expected)
    assert 1 - clf.score(X, words, sensitive_features=A) == pytest.approx(clf.error_)


def test_other_constraints_work_too():
    X, y, A = applicants(n=500, groups=3)
    both = DemographicParity(eps=0.1, reference="pairwise") & EqualOpportunity(eps=0.01)
    clf = ThresholdOptimizer(LogisticRegression(), both).fit(X, y, sensitive_features=A)
    h = clf.predict_pmf(X, sensitive_features=A)[:, 1]
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
    h = clf.predict_pmf(X, sensitive_features=A)[:, 1]
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
    h = clf.predict_pmf(X, sensitive_features=A)[:, 1]
    assert abs(h[A == 0].mean() - h[A == 1].mean()) < 1e-8


# What all of them can do

ALL = [
    Unconstrained(LogisticRegression()),
    Reweighting(LogisticRegression()),
    Relabeling(LogisticRegression()),
    ThresholdOptimizer(LogisticRegression(), DemographicParity(eps=0.05)),
]


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_shape(model):
    X, y, A = applicants()
    before = repr(model.get_params())
    with pytest.raises(NotFittedError):
        model.predict(X)
    for features in (X, scipy.sparse.csr_array(X), pd.DataFrame(X, columns=list("abc"))):
        clf = clone(model).fit(features, y, sensitive_features=A)
        groups = {"sensitive_features": A} if isinstance(clf, ThresholdOptimizer) else {}
        copy = pickle.loads(pickle.dumps(clf))
        np.testing.assert_array_equal(
            copy.predict(features, **groups), clf.predict(features, **groups)
        )
        assert clf.n_features_in_ == 3
    assert clf.feature_names_in_.tolist() == list("abc")
    assert repr(model.get_params()) == before
    pipeline = clone(model).set_params(
        estimator=make_pipeline(StandardScaler(), LogisticRegression())
    )
    pipeline.fit(X, y, sensitive_features=A)
    assert pipeline.predict_pmf(X, **groups).shape == (len(y), 2)


@pytest.mark.parametrize("model", ALL[1:], ids=lambda m: type(m).__name__)
def test_errors_before_any_fit(model, spy):
    X, y, A = applicants()
    model = clone(model).set_params(estimator=spy())
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="X has 400 rows but sensitive_features has 3"):
        model.fit(X, y, sensitive_features=A[:3])
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.ones(len(y)), sensitive_features=A)
    if hasattr(model, "scale"):
        with pytest.raises(ValueError, match=r"scale is 1\.5"):
            model.set_params(scale=1.5).fit(X, y, sensitive_features=A)
    else:
        with pytest.raises(TypeError, match="constraint is 'dp'; expected a Constraint"):
            model.set_params(constraint="dp").fit(X, y, sensitive_features=A)
    assert not spy.labels


def test_reweighting_needs_a_learner_that_takes_weights():
    X, y, A = applicants()
    with pytest.raises(TypeError, match="takes no sample_weight"):
        Reweighting(KNeighborsClassifier()).fit(X, y, sensitive_features=A)


@pytest.mark.usefixtures("routing")
def test_baselines_inside_a_search():
    X, y, A = applicants(n=600)
    scorer = metrics.make_scorer(metrics.demographic_parity_violation)
    model = Reweighting(LogisticRegression()).set_fit_request(sensitive_features=True)
    search = GridSearchCV(model, {"scale": [0.0, 1.0]}, scoring=scorer, cv=3)
    search.fit(X, y, sensitive_features=A)
    assert search.best_params_ == {"scale": 1.0}
    model = ThresholdOptimizer(LogisticRegression(), DemographicParity(eps=0))
    model.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=True)
    scores = cross_validate(
        model,
        X,
        y,
        scoring={"violation": scorer},
        params={"sensitive_features": A},
        error_score="raise",
        cv=3,
    )
    assert (scores["test_violation"] > -0.1).all()
    scores = cross_validate(
        model, X, y, params={"sensitive_features": A}, error_score="raise", cv=3
    )
    assert (scores["test_score"] > 0.6).all()


def test_no_memory_of_the_training_rows():
    X, y, A = applicants(n=5000)
    for model in ALL:
        clf = clone(model).fit(X, y, sensitive_features=A)
        assert len(pickle.dumps(clf)) < len(pickle.dumps(clf.estimator_)) + 10_000


class SensitiveFromX:
    """Supplies the sensitive features, which the common checks do not know of."""

    @staticmethod
    def groups(X):
        try:
            groups = hash_uniform(X) < 0.5
        except TypeError:  # rows of dictionaries and the like, which the learner is to refuse
            return np.arange(len(X)) % 2
        return groups if groups.any() and not groups.all() else np.arange(len(groups)) % 2

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, sensitive_features=self.groups(X), sample_weight=sample_weight)


class CheckedReweighting(SensitiveFromX, Reweighting):
    pass


class CheckedRelabeling(SensitiveFromX, Relabeling):
    pass


WHOLE = "someone of weight two is relabeled as a whole, two people of weight one each by themselves"
CANNOT_PASS = {
    "check_sample_weight_equivalence_on_dense_data": WHOLE,
    "check_sample_weight_equivalence_on_sparse_data": WHOLE,
}


@parametrize_with_checks(
    [
        Unconstrained(LogisticRegression()),
        CheckedReweighting(LogisticRegression()),
        CheckedRelabeling(LogisticRegression()),
    ],
    expected_failed_checks=lambda model: CANNOT_PASS if isinstance(model, Relabeling) else {},
)
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EmptyCellWarning")
def test_common_checks(estimator, check):
    check(estimator)
