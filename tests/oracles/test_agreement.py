"""Agreement of classifiers with each other, pair by pair, and with what was recorded of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from people import make_people
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from equipoise import DemographicParity, ExponentiatedGradient, FairClassifier, Frontier, GridSearch
from equipoise.cells import Cells
from equipoise.exceptions import DeploymentError
from equipoise.game.rounds import Pool, Response
from equipoise.oracles import BestOf, Plugin, Refit, RefitOracle, agreement
from equipoise.oracles.agreement import check_shares


@pytest.fixture(scope="module")
def some():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(501, 3))
    members = [LogisticRegression().fit(X, X @ rng.normal(size=3) > 0) for _ in range(5)]
    return X, members, rng.random(501)


@pytest.mark.parametrize("block", [7, 100, 1 << 14])
def test_weight_of_rows_decided_differently(some, block, monkeypatch):
    X, members, weight = some
    monkeypatch.setattr(agreement, "_BLOCK", block)
    cell = np.arange(501) % 4
    weight = weight / weight.sum()
    cells = Cells.from_columns(cell % 2, {"group": cell // 2}, weight=weight)
    found = agreement.agreement(members, X, cells)
    H = [member.predict(X) for member in members]
    expected = [[weight[a != b].sum() for b in H] for a in H]
    np.testing.assert_allclose(found.disagreement, expected, atol=1e-9)
    selected = [
        [weight[(h == 1) & (cell == 2 * group + label)].sum() for h in H]
        for group, label in zip(cells.sensitive["group"], cells.label, strict=True)
    ]
    np.testing.assert_allclose(found.shares.T, selected, atol=1e-9)
    for some in ([0], [1, 3], [0, 2, 4], [0, 1, 2, 3, 4]):
        mean = np.mean([H[h] for h in some], axis=0)
        divided = agreement.agreement([members[h] for h in some], X, cells).divided
        assert divided == pytest.approx(weight[(mean > 0) & (mean < 1)].sum())


class Fixed:
    """Decides what it is told."""

    def __init__(self, decided):
        self.decided = decided

    def predict(self, X):
        return self.decided


@pytest.mark.parametrize(("V", "P"), [(2, 1), (2, 9), (2, 40), (3, 2), (3, 12)])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_classifiers_and_labels_compared_with_a_reference(V, P, weighted):
    rng = np.random.default_rng(P)
    n, old = 300, rng.integers(0, V, 300)
    H = rng.integers(0, V, (P, n))
    own = rng.random(n) if weighted else None
    group = {"group": rng.integers(0, 3, n)}
    cells = Cells.from_columns(np.arange(n) % V, group, weight=own, decisions=range(V))
    found = agreement.agreement(list(map(Fixed, H)), np.zeros((n, 1)), cells, Fixed(old))
    weight = np.ones(n) / n if own is None else own / own.sum()
    differ = [[weight[a != b].sum() for b in H] for a in H]
    np.testing.assert_allclose(found.disagreement, differ, atol=1e-12)
    assert found.divided == pytest.approx(weight[(H[0] != H).any(axis=0)].sum())
    for h, moved in zip(H, found.switches, strict=True):
        moves = [(old == u) & (h == v) for u in range(V) for v in range(V) if u != v]
        expected = [np.bincount(cells.code[rows], minlength=3 * V) for rows in moves]
        np.testing.assert_array_equal(moved, expected)


X, Y, A = make_people(400, seed=5)
BOUND = DemographicParity(eps=0.05)
REDUCTIONS = [FairClassifier, ExponentiatedGradient, Frontier, GridSearch]
ORACLES = [Refit(), Refit(threshold="learner"), Refit(cv=3), Plugin(cv=3), BestOf()]


class Noisy(ClassifierMixin, BaseEstimator):
    """Logistic regression whose predictions are drawn: those of two calls differ."""

    draws = np.random.default_rng(0)

    def fit(self, X, y, sample_weight=None):
        self.inner_ = LogisticRegression().fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        p = self.inner_.predict_proba(X)[:, 1] + self.draws.normal(size=len(X)) * 0.2
        p = np.clip(p, 0, 1)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_predictions_that_differ_from_call_to_call(reduction):
    fitted = reduction(Noisy(), BOUND)
    with pytest.raises(DeploymentError, match=r"Noisy does not decide as recorded.*random_state"):
        fitted.fit(X, Y, sensitive_features=A)
    with pytest.raises(NotFittedError):
        fitted.at(0.05) if reduction is Frontier else fitted.predict(X)


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_every_oracle_asks_twice(oracle):
    with pytest.raises(DeploymentError, match="Noisy does not"):
        FairClassifier(Noisy(), BOUND, oracle=oracle).fit(X, Y, sensitive_features=A)
    fine = FairClassifier(LogisticRegression(), BOUND, oracle=oracle)
    fine.fit(X, Y, sensitive_features=A)


def test_a_transformer_that_draws():
    draws = np.random.default_rng(0)
    noise = FunctionTransformer(lambda X: X + draws.normal(size=X.shape))
    clf = FairClassifier(make_pipeline(noise, LogisticRegression()), BOUND)
    with pytest.raises(DeploymentError, match="Pipeline with LogisticRegression does not decide"):
        clf.fit(X, Y, sensitive_features=A)


def test_a_list_of_candidates_is_asked_again():
    candidates = [LogisticRegression().fit(X, Y), Noisy().fit(X, 1 - Y), Noisy().fit(X, Y)]
    with pytest.raises(DeploymentError, match="does not decide as recorded"):
        FairClassifier(candidates[1:], BOUND).fit(X, Y, sensitive_features=A)
    FairClassifier(candidates[:1], DemographicParity(eps=1.0)).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_recorded_shares_of_another_classifier(reduction, monkeypatch):
    """As from a damaged checkpoint: half of what is recorded of every answer is made up."""
    honest = RefitOracle.best_response

    def lie(oracle, costs):
        classifier, s = honest(oracle, costs)
        return Response(classifier, 0.5 * s + 0.1 * oracle.cells.mass)

    monkeypatch.setattr(RefitOracle, "best_response", lie)
    with pytest.raises(DeploymentError, match="checkpoint that was damaged"):
        reduction(LogisticRegression(), BOUND).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("kind", [Frontier, GridSearch])
def test_classifiers_that_may_be_chosen_later_are_asked_too(kind, monkeypatch):
    """One answer alone is recorded wrongly: no point mixes it, but `at` and `use` could."""
    honest, last = Pool.add, 4  # of a grid, the third: the constants are the first two of a pool
    reduction = partial(kind, LogisticRegression(), BOUND)
    if kind is Frontier:
        reduction = partial(reduction, bounds=[0.02])
        fitted = reduction().fit(X, Y, sensitive_features=A)
        free, one = fitted.unconstrained_.mixture, fitted.points_[0].mixture
        used = {0, 1, *free.indices.tolist(), *one.indices.tolist()}
        last = max(set(range(len(fitted.pool_))) - used)
    damaged = []

    def add(pool, classifier, s):
        if len(pool) == last:
            s = s + 1e-3 * (s < 0.1)
            damaged.append(s)
        return honest(pool, classifier, s)

    monkeypatch.setattr(Pool, "add", add)
    with pytest.raises(DeploymentError, match="does not decide as recorded"):
        reduction().fit(X, Y, sensitive_features=A)
    assert damaged


def test_one_person_is_enough():
    s = np.full((2, 4), 0.1)
    check_shares(s, s + 1e-13, ["a", "b"])
    other = s.copy()
    other[1, 2] += 1e-6
    with pytest.raises(DeploymentError, match=r"40\.0000%.*40\.0001%"):
        check_shares(s, other, ["a", "b"])
    other[1, 2] = np.nan
    with pytest.raises(DeploymentError):
        check_shares(s, other, ["a", "b"])
