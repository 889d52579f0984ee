"""Rows over strata: their values, recomputed from raw arrays."""

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.constraints import (
    BoundedGroupError,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    FourFifthsRule,
    MinimaxGroupError,
    SelectionRate,
    UtilityParity,
    rate,
)
from equipoise.estimators.guarantees.strata import RowStrata
from equipoise.exceptions import AbsentGroupWarning
from equipoise.metrics.audit import Tally


def draw(seed, n=400, shares=(0.5, 0.3, 0.2)):
    rng = np.random.default_rng(seed)
    A = rng.choice(list("abc"), n, p=shares)
    return A, rng.integers(0, 2, n), rng.random(n), rng.choice(["x", "y"], n)


def compile_(constraint, A, y, h, control=None, **more):
    cells = Cells.from_columns(y, {"group": A}, None if control is None else {"town": control})
    return RowStrata.of_fit(constraint, Tally.of_people(cells, h), **more)


def values(found, A, y, h, control=None):
    """The value of every row on other people."""
    cells = Cells.from_columns(y, {"group": A}, None if control is None else {"town": control})
    successes, people = found.sums(cells, h)
    rates = np.divide(successes, people, out=np.zeros_like(successes), where=people > 0)
    return dict(zip(map(str, found.rows), (found.a * rates).sum(axis=1) + found.shift, strict=True))


FIT, DAY = draw(0), draw(1, n=300, shares=(0.2, 0.5, 0.3))


def mean(h, *masks):
    return h[np.logical_and.reduce(masks)].mean()


def test_pairs_of_groups_and_ratios():
    A, y, h, _ = DAY
    found = compile_(EqualizedOdds(0.05, reference="pairwise"), *FIT[:3])
    expected = mean(h, A == "a", y == 1) - mean(h, A == "b", y == 1)
    assert values(found, A, y, h)["equalized odds given label 1: a above b"] == pytest.approx(
        expected
    )
    assert found.needs_labels
    assert found.c.tolist() == [0.05] * len(found.rows)
    found = compile_(FourFifthsRule(), *FIT[:3])
    expected = 0.8 * mean(h, A == "c") - mean(h, A == "b")
    assert values(found, A, y, h)["four-fifths rule: b below c"] == pytest.approx(expected)
    assert not found.needs_labels


def test_everybody_is_made_of_groups_in_the_shares_of_the_fit():
    A, y, h, _ = DAY
    share = (FIT[0] == "a").mean()
    found = compile_(DemographicParity(0.05), *FIT[:3])
    overall = share * mean(h, A == "a") + (1 - share) * mean(h, A != "a")
    got = values(found, A, y, h)
    assert got["demographic parity: a above overall"] == pytest.approx(mean(h, A == "a") - overall)
    # On the people learned from it is the row itself.
    A, y, h, _ = FIT
    assert values(found, A, y, h)["demographic parity: c below overall"] == pytest.approx(
        h.mean() - mean(h, A == "c")
    )


def test_errors_of_groups_within_strata():
    A, y, h, town = DAY
    found = compile_(BoundedGroupError(0.2), *FIT)
    wrong = np.where(y == 1, 1 - h, h)
    got = values(found, *DAY)
    assert got["bounded group error within x: error of b"] == pytest.approx(
        mean(wrong, A == "b", town == "x")
    )
    found = compile_(MinimaxGroupError(), *FIT[:3], worst_rate=0.31)
    assert (found.c + found.shift).tolist() == pytest.approx([0.31] * 3)


def test_overlapping_rates_of_different_kinds():
    """Errors of everybody against selections of one group, in one row."""
    A, y, h, _ = DAY
    found = compile_(2 * rate("error") - rate("selection", group="a") <= 0.5, *FIT[:3])
    share = (FIT[0] == "a").mean()
    wrong = np.where(y == 1, 1 - h, h)
    error = share * mean(wrong, A == "a") + (1 - share) * mean(wrong, A != "a")
    (got,) = values(found, A, y, h).values()
    assert got == pytest.approx(2 * error - mean(h, A == "a"))
    assert (found.outcome >= 0).all()
    assert (found.outcome <= 1).all()


def test_floors_caps_and_rows_of_ones_own():
    A, y, h, _ = DAY
    found = compile_(SelectionRate(0.2, 0.7, group="each"), *FIT[:3])
    got = values(found, A, y, h)
    assert got["selection rate: b at least 0.2"] == pytest.approx(-mean(h, A == "b"))
    half = Constraint.from_moments(
        events=[{"group": "a"}, None], g=[[0, 1], [0, 1]], M=[[0.5, -1]], c=[0]
    )
    got = values(compile_(half, *FIT[:3]), *FIT[:3])
    assert list(got.values()) == pytest.approx([0.5 * mean(FIT[2], FIT[0] == "a") - FIT[2].mean()])


def test_the_rates_of_the_fit():
    A, y, h, _ = FIT
    found = compile_(EqualizedOdds(0.05, reference="pairwise"), A, y, h)
    value = (found.a * found.rates[found.strata]).sum(axis=1)
    at = list(map(str, found.rows)).index("equalized odds given label 1: a above b")
    assert value[at] == pytest.approx(mean(h, A == "a", y == 1) - mean(h, A == "b", y == 1))


def test_rows_that_nothing_can_exceed_are_left_out():
    A, y, h, _ = FIT
    assert not compile_(DemographicParity(0.05), np.full(len(A), "a"), y, h).rows


def test_a_label_that_a_group_did_not_have_in_the_fit_counts():
    A, y, h, _ = FIT
    y = np.where(A == "c", 0, y)
    found = compile_(DemographicParity(0.05, reference="pairwise"), A, y, h)
    A, y, h, _ = DAY
    got = values(found, A, y, h)
    assert got["demographic parity: a above c"] == pytest.approx(
        mean(h, A == "a") - mean(h, A == "c")
    )


def test_groups_that_the_fit_did_not_have():
    found = compile_(DemographicParity(0.05, reference="pairwise"), *FIT[:3])
    A, y, h, _ = DAY
    other = A.copy()
    other[:7] = "d"
    with pytest.warns(AbsentGroupWarning, match="7 people are of no group of the fit"):
        got = values(found, other, y, h)
    assert got["demographic parity: a above b"] == pytest.approx(
        mean(h, other == "a") - mean(h, other == "b")
    )
    with pytest.raises(ValueError, match="nobody is of a group of the fit"):
        values(found, np.full(len(A), "d"), y, h)


def test_utilities_of_persons_are_refused():
    with pytest.raises(ValueError, match="the constraint is on the utility 'profit'"):
        compile_(UtilityParity(0.05, utility="profit"), *FIT[:3])
