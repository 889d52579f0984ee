"""The search for tau against brute force: linear programs over raw rows for 399 values of tau."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from by_hand import Array
from listed import Listed
from scipy.optimize import linprog
from scipy.sparse import block_diag
from sklearn.linear_model import LogisticRegression

from equipoise import ExponentiatedGradient, FairClassifier, Frontier, GridSearch
from equipoise.constraints import TreatmentEquality
from equipoise.exceptions import EquipoiseWarning
from equipoise.game import parameters

TAUS = np.tan(np.linspace(0.0, np.pi / 2, 401)[1:-1])


def random_problem(seed: int) -> tuple[Array, Array, Array, float]:
    """Return labels, groups, predictions of a few classifiers, and eps."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 25))
    y, group = rng.integers(0, 2, n), rng.integers(0, rng.integers(2, 4), n)
    y[:2] = 0, 1
    wrong = rng.uniform(0.1, 0.5, (int(rng.integers(2, 8)), 1))
    H = np.where(rng.random((len(wrong), n)) < wrong, 1 - y, y)
    return y, group, H, float(rng.choice([0.0, 0.01, 0.02, 0.05, 0.1]))


def least_error(y: Array, group: Array, H: Array, eps: float) -> float:
    """Return the least error of a mixture over all of TAUS; infinite where no bounds are met."""
    groups = [group == a for a in np.unique(group)]
    fn = np.array([((1 - H) * y)[:, a].mean(axis=1) for a in groups])
    fp = np.array([(H * (1 - y))[:, a].mean(axis=1) for a in groups])
    error, K, n = np.append((y != H).mean(axis=1), 0.0), 2 * len(groups), len(TAUS)
    gaps = [fn - tau * fp for tau in TAUS]
    # The programs of all tau at once; the last variable of each is what it exceeds its bounds by.
    programs = block_diag(
        [np.column_stack([np.vstack([gap, -gap]), -np.ones(K)]) for gap in gaps], format="csr"
    )
    weights = np.append(np.ones(len(H)), 0.0)[None, :]
    solution = linprog(
        np.tile(error + 1e3 * (weights[0] == 0), n),
        programs,
        np.full(n * K, eps),
        block_diag([weights] * n, format="csr"),
        np.ones(n),
    )
    x = solution.x.reshape(n, -1)
    met = x[:, -1] < 1e-7
    return float((x[met] @ error).min()) if met.any() else np.inf


def fitted(estimator, y: Array, group: Array, H: Array, eps: float, **more):
    clf = estimator([Listed(h) for h in H], TreatmentEquality(eps), **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        return clf.fit(np.arange(len(y))[:, None], y, sensitive_features=group)


def test_tau_is_that_of_least_error_on_random_problems() -> None:
    worse, n_feasible = [], 0
    for seed in range(30):
        problem = random_problem(seed)
        best = least_error(*problem)
        clf = fitted(FairClassifier, *problem, nu=1e-5)
        if not np.isfinite(best):
            continue
        n_feasible += 1
        assert clf.certificate_.feasible, (seed, clf.constraint_)
        y, group, _, eps = problem
        selected = clf.predict_proba(np.arange(len(y))[:, None])[:, 1]
        for a in np.unique(group):
            fn, fp = ((1 - selected) * y)[group == a], (selected * (1 - y))[group == a]
            assert abs(fn.mean() - clf.constraint_.tau * fp.mean()) <= eps + 1e-6
        if np.abs(selected - y).mean() > best + 1e-3:
            worse.append(seed)
    assert 15 < n_feasible < 30
    assert len(worse) <= 0.01 * n_feasible, worse


def test_a_problem_that_was_once_called_infeasible() -> None:
    y, group = np.array([1, 0, 0, 1]), np.array(list("MFMM"))
    H = np.array([[0, 1, 0, 1], [0, 0, 1, 0]])
    clf = fitted(FairClassifier, y, group, H, 0.02, nu=1e-9)
    assert clf.certificate_.feasible
    assert clf.constraint_.tau == pytest.approx(2.0, abs=0.1)
    # With tau = 2 the error is 0.7475.
    assert clf.certificate_.error <= 0.7475 + 1e-9


def test_bounds_that_are_met_for_one_tau_alone() -> None:
    # One person in four of either group is turned down wrongly, and two are selected wrongly.
    y = np.array([1, 0, 0, 0, 1, 0, 0, 0])
    group = np.repeat(["a", "b"], 4)
    H = np.array([[0, 1, 1, 0, 0, 1, 1, 0]])
    clf = fitted(FairClassifier, y, group, H, 0.0)
    assert clf.certificate_.feasible
    assert clf.constraint_.tau == pytest.approx(0.5, abs=1e-8)


def test_no_error_saved_makes_up_for_a_violation_however_small() -> None:
    # False negatives and false positives among twelve of each group: those of the first classifier
    # are within 1/12 of each other at tau = 2/3, those of the second, which errs more, at tau = 3.
    y = np.tile(np.repeat([1, 0], 6), 2)
    wrong = [[3, 3, 3, 6], [6, 2, 6, 2]]
    H = [np.where(np.arange(24) % 6 < np.repeat(each, 6), 1 - y, y) for each in wrong]
    problem = y, np.repeat(["a", "b"], 12), np.array(H)
    clf = fitted(FairClassifier, *problem, 1 / 12 + 1e-3, nu=1e-5)
    assert clf.certificate_.error == pytest.approx(15 / 24)
    clf = fitted(FairClassifier, *problem, 1 / 12 - 1e-6, nu=1e-5)
    assert clf.certificate_.feasible
    assert 15 / 24 < clf.certificate_.error <= 16 / 24


def test_several_values_are_found_together() -> None:
    rng = np.random.default_rng(0)
    y, sex, race = rng.integers(0, 2, 60), rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    H = np.where(rng.random((8, 60)) < 0.3, 1 - y, y)
    both = TreatmentEquality(0.05, on="sex") & TreatmentEquality(0.05, on="race")
    clf = FairClassifier([Listed(h) for h in H], both)
    clf.fit(np.arange(60)[:, None], y, sensitive_features={"sex": sex, "race": race})
    assert clf.certificate_.feasible
    selected = clf.predict_proba(np.arange(60)[:, None])[:, 1]
    for part, values in zip(clf.constraint_.parts, (sex, race), strict=True):
        for a in (0, 1):
            fn, fp = ((1 - selected) * y)[values == a], (selected * (1 - y))[values == a]
            assert abs(fn.mean() - part.tau * fp.mean()) <= 0.05 + 1e-7


class CountingLearner(LogisticRegression):
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingLearner.n_fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize("estimator", [FairClassifier, ExponentiatedGradient, GridSearch])
def test_a_learner_is_fitted_a_bounded_number_of_times(estimator, monkeypatch) -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 300)
    X = np.column_stack([group + rng.normal(size=300), rng.normal(size=300)])
    y = (X.sum(axis=1) + rng.normal(size=300) > 0.5).astype(int)
    fits = []
    for tau in (None, 1.0):
        CountingLearner.n_fits = 0
        constraint = TreatmentEquality(0.02, tau=tau)
        estimator(CountingLearner(), constraint).fit(X, y, sensitive_features=group)
        fits.append(CountingLearner.n_fits)
    # Besides the search, another tau may take a few fits more or less.
    assert fits[0] <= fits[1] + 60
    monkeypatch.setattr(parameters, "_LEARNER", parameters._LEARNER._replace(fits=1))
    CountingLearner.n_fits = 0
    estimator(CountingLearner(), TreatmentEquality(0.02)).fit(X, y, sensitive_features=group)
    assert CountingLearner.n_fits < fits[0]


def test_a_frontier_asks_for_tau() -> None:
    with pytest.raises(ValueError, match="tau of TreatmentEquality is open"):
        Frontier([Listed(np.array([0, 1]))], TreatmentEquality()).fit(
            [[0], [1]], [0, 1], sensitive_features=[0, 1]
        )
