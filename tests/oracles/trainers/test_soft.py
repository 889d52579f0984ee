"""Soft labels: what learners of three labels find without copies of rows, against copies."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from training import lightgbm, xgboost

from equipoise import DemographicParity, FairClassifier, ParquetRows
from equipoise.cells.labels import SoftLabels
from equipoise.oracles.trainers import choose_trainer
from equipoise.oracles.trainers.base import Trainer

N, V = 900, 4
rng = np.random.default_rng(0)
X = np.clip(np.round(2 * rng.normal(size=(N, 4))), -4, 4)  # few values: bins are the values
NEW = np.clip(np.round(2 * np.random.default_rng(1).normal(size=(200, 4))), -4, 4)


def examples(seed: int = 0, dearest: int | None = None) -> SoftLabels:
    """Savings that depend on the features, with one label of each row that saves nothing."""
    own = np.random.default_rng(seed)
    saved = own.random((N, V)) * [1.0, 0.6, 0.8, 0.7]
    saved[np.arange(N), np.digitize(X[:, 0] + X[:, 1] ** 2, [-1, 2, 5])] += 1.0
    saved[np.arange(N), own.integers(0, V, N)] = 0.0
    if dearest is not None:
        saved[:, dearest] = 0.0
    return SoftLabels(saved)


def on_copies(estimator, asked):
    """The learner on copies of rows, as scikit-learn's own fit trains it."""
    trainer = choose_trainer(estimator, X)
    return Trainer.fit_soft(trainer, asked).classifier


def logistic(**kwargs):
    return LogisticRegression(tol=1e-7, max_iter=500, **kwargs)


@pytest.mark.parametrize("dearest", [None, 1])
@pytest.mark.parametrize(
    ("make", "within"),
    [
        (logistic, 1e-4),
        (lambda: logistic(C=0.1, fit_intercept=False), 1e-4),
        (xgboost, 1e-5),
        (lambda: xgboost(max_depth=2, min_child_weight=20, subsample=1.0), 1e-5),
    ],
)
def test_probabilities_are_those_of_copies(make, within, dearest):
    if make().__class__.__name__ == "XGBClassifier" and dearest is not None:
        dearest = V - 1  # XGBoost's own fit refuses labels with a gap
    asked = examples(dearest=dearest)
    mine, theirs = choose_trainer(make(), X).fit_soft(asked).classifier, on_copies(make(), asked)
    found, expected = mine.predict_proba(NEW), theirs.predict_proba(NEW)
    known = [mine.classes_.tolist().index(label) for label in theirs.classes_]
    np.testing.assert_allclose(found[:, known], expected, atol=within)
    assert (mine.predict(NEW) == theirs.predict(NEW)).mean() >= 0.99
    assert set(mine.predict(X)) <= set(asked.labels)


@pytest.mark.parametrize("dearest", [None, 1])
def test_lightgbm_grows_the_first_trees_of_copies_and_decides_alike(dearest):
    asked = examples(dearest=dearest)
    make = {"num_leaves": 5, "min_child_samples": 1}
    one = lightgbm(n_estimators=1, **make)
    mine, theirs = choose_trainer(one, X).fit_soft(asked).classifier, on_copies(one, asked)
    np.testing.assert_allclose(mine.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-6)
    many = lightgbm(n_estimators=15, **make)
    mine, theirs = choose_trainer(many, X).fit_soft(asked).classifier, on_copies(many, asked)
    assert mine.classes_.tolist() == theirs.classes_.tolist()
    assert np.abs(mine.predict_proba(NEW) - theirs.predict_proba(NEW)).mean() < 0.01
    assert (mine.predict(NEW) == theirs.predict(NEW)).mean() >= 0.95


@pytest.mark.parametrize(
    "make",
    [
        logistic,
        xgboost,
        lightgbm,
        lambda: lightgbm(min_child_samples=2 * N),  # no tree is split
        GaussianNB,
        lambda: make_pipeline(StandardScaler(), logistic()),
        lambda: make_pipeline(StandardScaler(), lightgbm()),
    ],
)
def test_decisions_told_are_those_of_the_classifier(make):
    trainer = choose_trainer(make(), X)
    trained = [trainer.fit_soft(examples(seed)) for seed in range(2)]
    for one in trained:  # after all fits are done
        told = one.local.predict(one.rows) if one.selected is None else one.selected
        np.testing.assert_array_equal(told, one.classifier.predict(X))
    assert (trained[0].classifier.predict(X) != trained[1].classifier.predict(X)).any() or (
        "min_child_samples=1800" in repr(make())
    )


def test_logistic_regression_starts_where_it_is_told():
    trainer = choose_trainer(logistic(), X)
    cold = trainer.fit_soft(examples()).classifier
    trainer.start_from(cold)
    warm = trainer.fit_soft(examples()).classifier
    assert warm.n_iter_[0] < cold.n_iter_[0] / 2
    np.testing.assert_allclose(warm.predict_proba(NEW), cold.predict_proba(NEW), atol=1e-4)
    fewer = trainer.fit_soft(examples(dearest=0)).classifier  # other labels: from zero
    assert fewer.classes_.tolist() == [1, 2, 3]


def test_two_labels_in_use_are_learned_from_copies():
    saved = examples().saved.copy()
    saved[:, [0, 2]] = 0.0
    for make in (logistic, lightgbm):
        mine = choose_trainer(make(), X).fit_soft(SoftLabels(saved)).classifier
        theirs = on_copies(make(), SoftLabels(saved))
        np.testing.assert_array_equal(mine.predict(NEW), theirs.predict(NEW))
        assert mine.classes_.tolist() == [1, 3]


def test_rows_on_disk_grow_the_same_trees(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"x{j}" for j in range(X.shape[1])]
    pd.DataFrame(X, columns=names).to_parquet(tmp_path / "rows.parquet")
    rows = ParquetRows(tmp_path, features=names, batch_size=200)
    here, there = (choose_trainer(xgboost(), where).fit_soft(examples()) for where in (X, rows))
    assert here.selected.tolist() == there.selected.tolist()
    dumps = [t.classifier.get_booster().get_dump(dump_format="json") for t in (here, there)]
    assert dumps[0] == dumps[1]


def test_a_fit_of_rows_on_disk_is_that_of_rows_in_memory(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"x{j}" for j in range(X.shape[1])]
    pd.DataFrame(X, columns=names).to_parquet(tmp_path / "rows.parquet")
    group = (X[:, 0] + np.random.default_rng(2).normal(size=N) > 0).astype(int)
    y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + X[:, 1], [-1, 2])]
    rows = ParquetRows(tmp_path, features=names, batch_size=200)
    bound = DemographicParity(0.1, reference="pairwise")
    model = FairClassifier(xgboost(n_estimators=3, max_depth=2), bound)
    found = [
        model.fit(where, y, sensitive_features=group).predict_proba(where) for where in (X, rows)
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    rates = [found[1][group == g].mean(axis=0) for g in (0, 1)]
    assert np.abs(rates[0] - rates[1]).max() <= 0.1 + 1e-7
