"""The list of constraints: names, words, copies and parameters."""

from __future__ import annotations

import pickle

import pytest
from by_hand import PARITIES, random_crowd
from listed import cells_of
from numpy.testing import assert_allclose
from sklearn.base import clone

import equipoise as eq
import equipoise.constraints
from equipoise.cli.names import CONSTRAINTS
from equipoise.constraints import (
    CATALOGUE,
    All,
    BoundedGroupLoss,
    Constraint,
    ErrorRateParity,
    GroupConstraint,
    Inequality,
    Linear,
    Parity,
    TreatmentEquality,
    TruePositiveRateParity,
    UtilityParity,
)
from equipoise.files.state import KINDS


def test_names_of_fairlearn() -> None:
    assert TruePositiveRateParity is eq.EqualOpportunity
    assert ErrorRateParity is eq.AccuracyEquality
    assert issubclass(BoundedGroupLoss, eq.BoundedGroupError)


ENTRIES = [
    *(getattr(equipoise.constraints, name)(0.03, min_size=2) for name in PARITIES),
    UtilityParity(0.03, utility=[[0, 1], [1, 0]]),
    TreatmentEquality(0.03, tau=1.5),
    eq.BoundedGroupError({"a": 0.3, "b": 0.4}),
    eq.MinimaxGroupError(on="sex"),
    eq.SelectionRate(0.1, 0.5, group="a"),
    eq.DemographicParity(0.02) & eq.EqualOpportunity(0.05, on="sex"),
    Constraint.from_moments([None], [[0, 1], [0, 1]], [[1.0]], [0.5]),
    eq.rate("tpr", sex="a") - eq.rate("tpr", sex="b") <= 0.02,
]


@pytest.mark.parametrize("constraint", ENTRIES, ids=lambda c: type(c).__name__)
def test_entries_can_be_cloned_pickled_and_shown(constraint: Constraint) -> None:
    cells = cells_of(random_crowd(0, n=60))
    moments = constraint.moments(cells)
    for copy in (clone(constraint), pickle.loads(pickle.dumps(constraint))):
        again = copy.moments(cells)
        assert again.rows == moments.rows
        assert_allclose((again.M @ again.U).toarray(), (moments.M @ moments.U).toarray())
        assert again.c.tolist() == moments.c.tolist()
        assert repr(copy) == repr(constraint)


def test_parameters_are_reached_through_the_estimator() -> None:
    constraint = eq.DemographicParity(0.02) & eq.EqualOpportunity(0.05)
    clf = eq.FairClassifier(None, constraint).set_params(constraint__1__eps=0.1)
    assert clf.get_params()["constraint__1__eps"] == 0.1
    assert clf.constraint.moments(cells_of(random_crowd(0))).c.tolist() == [0.02] * 4 + [0.1] * 4
    with pytest.raises(ValueError, match="FourFifthsRule has no parameter 'epsilon'"):
        eq.FourFifthsRule().set_params(epsilon=0.1)


def test_a_constraint_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="Write a & b"):
        eq.DemographicParity() and eq.EqualizedOdds()


def every_class() -> set[type[Constraint]]:
    found, waiting = set(), [Constraint]
    while waiting:
        kind = waiting.pop()
        found.add(kind)
        waiting += kind.__subclasses__()
    ours = {kind for kind in found if kind.__module__.startswith("equipoise.")}
    # What constraints of the list become for a regressor; nobody asks for these by name.
    return {kind for kind in ours if kind.__module__ != "equipoise.constraints.regression"}


def test_the_list_has_every_constraint_that_is_asked_for_by_name() -> None:
    parents = {Constraint, GroupConstraint, Parity, All, Linear, Inequality}
    assert every_class() == {*CATALOGUE, *parents}
    assert len(CATALOGUE) == 14


def test_model_files_and_the_command_line_know_the_list() -> None:
    assert set(CATALOGUE) <= set(KINDS.values())
    unnamed = {kind for kind in CATALOGUE if kind.__name__ not in CONSTRAINTS.values()}
    assert unnamed == {UtilityParity, eq.SelectionRate}
    assert len(set(CONSTRAINTS.values())) == len(CONSTRAINTS) == len(CATALOGUE) - len(unnamed)


@pytest.mark.parametrize("kind", [*CATALOGUE, Linear, Inequality], ids=lambda kind: kind.__name__)
def test_every_constraint_has_words_for_the_page(kind: type[Constraint]) -> None:
    for name in ("asks", "misleads"):
        assert getattr(kind, name).endswith(".")
        assert kind.__dict__[name] is not getattr(Constraint, name)  # its own, not inherited
    assert kind.__dict__["formula"]
    assert kind.__dict__["name"]


def test_words_of_several_constraints_are_those_of_each() -> None:
    both = eq.DemographicParity() & (eq.rate("selection") <= 0.3)
    assert both.name == "demographic parity and inequality"
    assert both.asks == f"{eq.DemographicParity.asks} {Inequality.asks}"
    assert both.formula.endswith("  and  rate('selection') <= 0.3")
    assert both.misleads.startswith(eq.DemographicParity.misleads)


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.__name__)
def test_every_docstring_has_formula_names_and_an_example(kind: type[Constraint]) -> None:
    for part in ("``", "Other names", "Parameters", ">>>"):
        assert part in kind.__doc__, part
