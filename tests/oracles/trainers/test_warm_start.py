"""Logistic regressions that start from the solution of a similar problem."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
)
from training import (
    ASKED,
    plainly,
    trainer_of,
)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky"])
def test_warm_starts_end_where_cold_ones_do(solver):
    estimator = LogisticRegression(solver=solver, tol=1e-8, max_iter=5000)
    trainer = trainer_of(estimator)
    trainer.start_from(trainer.fit(*ASKED[0]).classifier)
    members = [trainer.fit(*asked).classifier for asked in ASKED]
    assert not hasattr(estimator, "coef_")
    for (label, weight), member in zip(ASKED, members, strict=True):
        cold = plainly(estimator, label, weight)
        assert_allclose(member.coef_, cold.coef_, atol=1e-5)
        assert_allclose(member.intercept_, cold.intercept_, atol=1e-5)
        assert member.get_params() == estimator.get_params()


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["alone", "in a pipeline"],
)
def test_a_warm_start_is_one_and_the_same_whatever_was_asked_before(estimator):
    trainer, other = trainer_of(estimator), trainer_of(estimator)
    first = trainer.fit(*ASKED[0]).classifier
    trainer.start_from(first)
    trainer.fit(*ASKED[2])
    other.start_from(first)
    after, at_once = (t.fit(*ASKED[1]).classifier for t in (trainer, other))
    steps = [m[-1] if hasattr(m, "steps") else m for m in (after, at_once, first)]
    assert_array_equal(steps[0].coef_, steps[1].coef_)
    trainer.start_from(after)
    again = trainer.fit(*ASKED[1]).classifier
    again = again[-1] if hasattr(again, "steps") else again
    assert again.n_iter_[0] < steps[0].n_iter_[0]
