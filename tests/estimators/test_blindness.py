"""The price of blindness, against brute force on people of a few kinds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from equipoise import Costs, DemographicParity, EqualizedOdds
from equipoise.estimators import price_of_blindness

BOUNDS = [0.0, 0.02, 0.1, 0.3]


class Frequencies(ClassifierMixin, BaseEstimator):
    """Learns how often each class occurs with each value of x: the truth, on the data given."""

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        self.table_ = np.array(
            [
                [weight[(X[:, 0] == x) & (y == k)].sum() for k in self.classes_]
                for x in range(int(X[:, 0].max()) + 1)
            ]
        )
        self.table_ /= self.table_.sum(axis=1, keepdims=True)
        return self

    def predict_proba(self, X):
        return self.table_[X[:, 0].astype(int)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def few_kinds(seed, copies=3):
    """People of 3 x 2 x 2 kinds (x, group, label), the same in each of several folds."""
    count = np.random.default_rng(seed).integers(1, 12, size=(3, 2, 2))
    x, a, y = (part.repeat(count.ravel()) for part in np.indices(count.shape).reshape(3, -1))
    fold = np.arange(copies).repeat(len(x))
    x, a, y = (np.tile(part, copies) for part in (x, a, y))
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(copies)]
    return x[:, None].astype(float), y, a, folds


def least_error(y, A, kinds, labels, eps):
    """Least error of decisions by kind of person, drawn at random where need be: an LP."""
    n, k = len(y), int(kinds.max()) + 1
    cost = np.array([np.where(y[kinds == j] == 1, -1, 1).sum() / n for j in range(k)])
    rows = []
    for label, a in product(labels, (0, 1)):
        event = np.ones(n, bool) if label is None else y == label
        group = event & (a == A)
        row = [(kinds[group] == j).mean() - (kinds[event] == j).mean() for j in range(k)]
        rows += [row, [-value for value in row]]
    found = linprog(cost, A_ub=rows, b_ub=np.full(len(rows), eps), bounds=(0, 1))
    return (y == 1).mean() + found.fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("constraint", "labels"), [(DemographicParity(), (None,)), (EqualizedOdds(), (0, 1))]
)
def test_errors_are_the_least_there_are(seed, constraint, labels):
    X, y, A, folds = few_kinds(seed)
    found = price_of_blindness(
        Frequencies(), constraint, X, y, sensitive_features=A, bounds=BOUNDS, cv=folds, nu=1e-6
    )
    x = X[:, 0].astype(int)
    for eps, blind, aware in zip(found.bounds, found.blind, found.aware, strict=True):
        assert blind == pytest.approx(least_error(y, A, x, labels, eps), abs=2e-6)
        assert aware == pytest.approx(least_error(y, A, 2 * x + A, labels, eps), abs=2e-6)
    assert (found.price >= -2e-6).all()
    assert found.price.max() > 0.01
    np.testing.assert_allclose(found.price, found.blind - found.aware)


def test_printed_as_a_table_and_refused_without_probabilities():
    X, y, A, folds = few_kinds(0)
    found = price_of_blindness(
        Frequencies(), DemographicParity(), X, y, sensitive_features=A, bounds=[0.1], cv=folds
    )
    header, row = str(found).splitlines()
    assert header.split() == ["bound", "blind", "aware", "price"]
    assert float(row.split()[1]) == pytest.approx(found.blind[0], abs=1e-4)
    with pytest.raises(TypeError, match="no predict_proba"):
        price_of_blindness(LinearSVC(), DemographicParity(), X, y, sensitive_features=A)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_the_scale_of_the_costs_changes_nothing(scale):
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 300)
    X = np.column_stack([A + rng.normal(size=300), rng.normal(size=300)])
    y = (X.sum(axis=1) + rng.normal(size=300) > 0.5).astype(int)
    one, other = (
        price_of_blindness(
            LogisticRegression(),
            DemographicParity(),
            X,
            y,
            sensitive_features=A,
            bounds=BOUNDS,
            objective=Costs(k, 3 * k),
        )
        for k in (1.0, scale)
    )
    assert other.blind == pytest.approx(scale * one.blind)
    assert other.aware == pytest.approx(scale * one.aware)
