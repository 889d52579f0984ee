"""What trainers are asked in tests, and what plain fits answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from equipoise.oracles.trainers import choose_trainer, weight_parameter

N = 2000
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 5))
A = rng.integers(0, 2, N)
Y = (X[:, 0] + X[:, 1] ** 2 + A + rng.normal(size=N) > 1.2).astype(np.int64)
#: Labels and weights as a reduction asks for them: some flipped, some without weight.
ASKED = [
    (np.where(rng.random(N) < flipped, 1 - Y, Y), np.where(rng.random(N) < 0.1, 0.0, weight))
    for flipped, weight in [(0.0, np.ones(N)), (0.1, rng.random(N)), (0.3, 2 * rng.random(N))]
] + [(1 - Y, np.ones(N))]
X_NEW = np.random.default_rng(1).normal(size=(300, 5))


def lightgbm(**kwargs):
    module = pytest.importorskip("lightgbm")
    return module.LGBMClassifier(**{"n_estimators": 20, "verbose": -1, "n_jobs": 1, **kwargs})


def xgboost(**kwargs):
    module = pytest.importorskip("xgboost")
    return module.XGBClassifier(**{"n_estimators": 20, "n_jobs": 1, **kwargs})


def trainer_of(estimator, rows=X):
    return choose_trainer(estimator, rows)


def kind(estimator, rows=X):
    return type(trainer_of(estimator, rows)).__name__


def plainly(estimator, label, weight, rows=X):
    """Fit a clone with scikit-learn's own means alone."""
    return clone(estimator).fit(rows, label, **{weight_parameter(estimator): weight})


def local_scores(trained):
    if hasattr(trained.local, "decision_function"):
        return trained.local.decision_function(trained.rows)
    return trained.local.predict_proba(trained.rows)[:, 1]


def scores(classifier, rows):
    if hasattr(classifier, "decision_function"):
        return classifier.decision_function(rows)
    return classifier.predict_proba(rows)[:, 1]


def check_same_as_plain(estimator, rows=X, new=X_NEW):
    trainer = trainer_of(estimator, rows)
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    # Logistic regression adds its rows up in another order.
    within = {"rtol": 1e-9, "atol": 1e-11} if type(last) is LogisticRegression else {"rtol": 0}
    members = [trainer.fit(label, weight) for label, weight in ASKED]
    for (label, weight), trained in zip(ASKED, members, strict=True):  # after all fits are done
        plain = plainly(estimator, label, weight, rows)
        assert type(trained.classifier) is type(plain)
        assert_array_equal(trained.classifier.predict(new), plain.predict(new))
        assert_allclose(scores(trained.classifier, new), scores(plain, new), **within)
        assert_array_equal(trained.local.predict(trained.rows), plain.predict(rows))
        assert_allclose(local_scores(trained), scores(plain, rows), **within)
