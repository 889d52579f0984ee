"""Learners are those that the authors name."""

import pytest

from equipoise.experiments.learners import LEARNERS


def test_learners_are_those_that_the_authors_name():
    gbm = LEARNERS["gbm"].make()
    assert (gbm.learning_rate, gbm.n_estimators, gbm.random_state) == (0.25, 150, 101)
    assert LEARNERS["logistic"].make().C == 0.01
    bounds = LEARNERS["logistic"].bounds()
    assert (bounds[0], bounds[-1]) == pytest.approx((0.001, 0.1))
