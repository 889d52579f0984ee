"""Logistic regression on compact rows: the products are those of X, the solution scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from training import ASKED, X_NEW, A, N, X, Y, plainly, trainer_of

from equipoise import DemographicParity, FairClassifier
from equipoise.oracles.trainers.logistic import CompactRows

rng = np.random.default_rng(3)
#: Columns of a one-hot encoding, scaled, beside numbers: hardly any zeros, few uncommon values.
ENCODED = np.column_stack(
    [X[:, 0], *[np.eye(30)[rng.choice(30, N, p=rng.dirichlet(np.ones(30)))] for _ in range(3)]]
)
ENCODED = StandardScaler().fit_transform(ENCODED[:, ENCODED.any(axis=0)])
FEW = np.round(np.clip(X[:, :3], -1, 1))  # 27 distinct rows
ROWS = {
    "numbers": X,
    "encoded": ENCODED,
    "few": FEW,
    "encoded and few": ENCODED[rng.integers(0, 400, N)],
    "sparse": sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0)),
    "integers": FEW.astype(int),
    "none common": rng.normal(size=(N, 60)),
}
IS_SMALLER = {"few", "encoded and few", "integers"}
IS_SPARSE = {"encoded", "encoded and few", "sparse"}


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("name", ROWS)
def test_products_are_those_of_the_rows(name, columns):
    table = ROWS[name]
    given = table if sp.issparse(table) else np.asarray(table, dtype=float)
    rows, dense = CompactRows(given), sp.csr_matrix(given).toarray()
    assert (rows.n < N) == (name in IS_SMALLER)
    assert sp.issparse(rows._rows) == (name in IS_SPARSE)
    coef, weight = rng.normal(size=(dense.shape[1], *columns)), rng.normal(size=(N, *columns))
    merged = rows.merge(weight)
    assert merged.shape == (rows.n, *columns)
    assert_allclose(rows.slopes(merged), dense.T @ weight, atol=1e-9)
    # The sum over rows of a weight and a score is another way to ask for each of both.
    assert_allclose((merged * rows.scores(coef)).sum(), (weight * (dense @ coef)).sum(), atol=1e-8)


def test_rows_that_are_projected_alike_are_not_merged():
    # Beside the first feature the second is rounded away in the projection.
    table = np.column_stack([np.full(40, 1e20), np.arange(40.0)])
    assert len(np.unique(table @ np.random.default_rng(0).standard_normal(2))) == 1
    assert CompactRows(table).n == 40


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        LogisticRegression(C=0.01, fit_intercept=False),
        LogisticRegression(C=np.inf, tol=1e-6),
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(max_iter=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_solutions_are_those_of_scikit_learn(name, estimator):
    table = ROWS[name]
    trainer = trainer_of(estimator, table)
    for label, weight in ASKED:
        mine = trainer.fit(label, weight).classifier
        theirs = plainly(estimator, label, weight, table)
        assert_allclose(mine.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
        assert_allclose(mine.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
        assert_array_equal(mine.n_iter_, theirs.n_iter_)
        assert_array_equal(mine.classes_, theirs.classes_)
        assert mine.coef_.shape == theirs.coef_.shape
        assert mine.n_features_in_ == theirs.n_features_in_
        assert_array_equal(mine.predict(table), theirs.predict(table))


def test_too_few_steps_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        trainer_of(LogisticRegression(max_iter=2)).fit(*ASKED[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer_of(LogisticRegression()).fit(*ASKED[0])


def test_frames_keep_their_names_and_missing_values_are_refused():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = trainer_of(LogisticRegression(), frame).fit(*ASKED[1]).classifier
    assert model.feature_names_in_.tolist() == list("abcde")
    assert_array_equal(model.predict(frame.head(9)), model.predict(frame)[:9])
    with pytest.raises(ValueError, match="NaN"):
        trainer_of(LogisticRegression(), frame.where(frame > -3)).fit(*ASKED[0])


@pytest.mark.parametrize("wrong", [{"C": -1.0}, {"tol": -1.0}, {"max_iter": "many"}])
def test_what_scikit_learn_refuses_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        trainer_of(LogisticRegression(**wrong)).fit(*ASKED[0])


def test_single_precision_stays_what_it_is():
    rows = X.astype(np.float32)
    model = trainer_of(LogisticRegression(), rows).fit(*ASKED[1]).classifier
    theirs = plainly(LogisticRegression(), *ASKED[1], rows)
    assert model.coef_.dtype == theirs.coef_.dtype
    assert_array_equal(model.coef_, theirs.coef_)


def test_one_person_many_times_over_is_fitted_as_often():
    table = np.tile(X_NEW[:40], (50, 1))
    trainer = trainer_of(LogisticRegression(), table)
    for label, weight in ASKED:
        theirs = plainly(LogisticRegression(), label, weight, table)
        assert_allclose(trainer.fit(label, weight).classifier.coef_, theirs.coef_, rtol=1e-6)


def test_a_fit_of_few_distinct_rows_meets_its_bound():
    fair = FairClassifier(LogisticRegression(), DemographicParity(0.02))
    selected = fair.fit(FEW, Y, sensitive_features=A).predict_proba(FEW)[:, 1]
    assert all(abs(selected[a == A].mean() - selected.mean()) <= 0.02 + 1e-9 for a in (0, 1))
