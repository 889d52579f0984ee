"""What fairlearn calls otherwise is an error that says the new word."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import equipoise as eq
from equipoise.baselines import ThresholdOptimizer
from equipoise.constraints.fairlearn_words import NAMES

LEARNER, PARITY = LogisticRegression(), eq.DemographicParity()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: eq.FairClassifier(LEARNER, constraints=PARITY), "write constraint="),
        (
            lambda: eq.ExponentiatedGradient(LEARNER, PARITY, eps=0.01),
            "parameter of the constraint",
        ),
        (lambda: eq.ExponentiatedGradient(LEARNER, PARITY, eta0=2.0), "write eta="),
        (lambda: eq.ExponentiatedGradient(LEARNER, PARITY, run_linprog_step=True), "write polish="),
        (lambda: eq.FairClassifier(LEARNER, PARITY, sample_weight_name="w"), "leave it out"),
        (lambda: eq.GridSearch(LEARNER, PARITY, constraint_weight=0.5), "write tradeoff="),
        (lambda: eq.Frontier(LEARNER, constraints=PARITY), "write constraint="),
        (lambda: eq.DemographicParity(difference_bound=0.1), "write eps="),
        (lambda: eq.EqualizedOdds(ratio_bound=0.8), "write ratio="),
        (lambda: eq.BoundedGroupError(upper_bound=0.1), "write bound="),
        (
            lambda: ThresholdOptimizer(LEARNER, constraints="demographic_parity"),
            "write constraint=",
        ),
    ],
)
def test_a_word_of_fairlearn_says_the_new_one(make, match) -> None:
    with pytest.raises(TypeError, match=f"a word of fairlearn's: .*{match}"):
        make()


def test_other_words_are_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'epsilon'"):
        eq.DemographicParity(epsilon=0.1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'loud'"):
        eq.FairClassifier(LEARNER, PARITY, loud=True)


def test_signatures_and_copies_are_as_before() -> None:
    assert list(inspect.signature(eq.FairClassifier).parameters)[:2] == ["estimator", "constraint"]
    assert next(iter(inspect.signature(eq.EqualizedOdds).parameters)) == "eps"
    model = eq.FairClassifier(LEARNER, eq.DemographicParity(0.1), nu=0.5)
    for again in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (again.nu, again.constraint.eps) == (0.5, 0.1)


@pytest.mark.parametrize(
    ("module", "name", "found"),
    [
        (eq, "TruePositiveRateParity", "constraints.TruePositiveRateParity"),
        (eq.metrics, "MetricFrame", "metrics.group_table"),
        (eq.datasets, "fetch_credit_card", "datasets.load_credit_default"),
    ],
)
def test_a_name_of_fairlearn_says_where_to_look(module, name, found) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; use equipoise.{found}"):
        getattr(module, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'other'$"):
        getattr(module, "other")  # noqa: B009 - it is not there


def test_what_the_errors_name_exists() -> None:
    for told in NAMES.values():
        package, name = told.partition("(")[0].removeprefix("equipoise.").split(".")
        assert callable(getattr(importlib.import_module(f"equipoise.{package}"), name))
