"""Constraints that cannot be met, or that leave nothing; and what bounds cost."""

from __future__ import annotations

import warnings
from itertools import product

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, Inequalities, random_crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equipoise as eq
from equipoise import FairClassifier, rate
from equipoise.constraints.base import Constraint
from equipoise.exceptions import InfeasibleWarning
from equipoise.game import Lagrangian, Pool
from equipoise.game.feasibility import UnrestrictedOracle, least_slack, uniform

SOLVER = 1e-6


def quietly(crowd: Crowd, constraint: Constraint, **parameters) -> FairClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        return fitted(crowd, constraint, **parameters)


def every_rule() -> Crowd:
    """Two groups with base rates 0.8 and 0.2, and every rule that looks at group and label."""
    sex = np.repeat(["a", "b"], 20)
    y = np.concatenate([np.arange(20) < 16, np.arange(20) < 4]).astype(int)
    cell = 2 * (sex == "b") + y
    H = np.array([[rule[c] for c in cell] for rule in product((0.0, 1.0), repeat=4)])
    return Crowd(y, H, {"sex": sex})


# --- known conflicts -----------------------------------------------------------------------------


def test_a_floor_and_a_cap_that_cross() -> None:
    crowd = every_rule()
    constraint = (
        eq.DemographicParity(0.3) & eq.SelectionRate(at_least=0.6) & eq.SelectionRate(at_most=0.4)
    )
    with pytest.warns(InfeasibleWarning, match="at all can meet all of the bounds") as caught:
        clf = fitted(crowd, constraint)
    certificate = clf.certificate_
    assert {str(row) for row in certificate.conflict} == {
        "selection rate: everybody at least 0.6",
        "selection rate: everybody at most 0.4",
    }
    assert "everybody at most 0.4" in str(caught[0].message)
    assert certificate.least_slack == pytest.approx(0.1, abs=1e-6)
    assert certificate.total_slack == pytest.approx(0.2, abs=1e-4)
    assert not certificate.possible
    assert not certificate.feasible
    assert "No decisions whatsoever can meet all of the bounds" in str(certificate)
    # The excess is that of the bounds that were asked for.
    assert certificate.excess == pytest.approx(certificate.least_slack, abs=1e-7)
    assert f"{certificate.least_slack:.4f}  (largest excess over a bound)" in str(certificate)
    assert clf.violations_ == {"train": pytest.approx(0.1, abs=1e-6)}
    # The classifier for that slack: half are selected, each bound is missed by 0.1.
    assert outcome(clf, crowd).H[0].mean() == pytest.approx(0.5, abs=1e-4)


def test_parity_with_a_floor_and_a_cap_that_base_rates_rule_out() -> None:
    # 0.9 of the 80 % positives of a are 72 % of a; 10 % of the negatives of b, with all of its
    # positives, are 28 % of b. Equal selection rates would need 72 % <= 28 %.
    crowd = every_rule()
    floor, cap = rate("tpr", sex="a") >= 0.9, rate("fpr", sex="b") <= 0.1
    clf = quietly(crowd, eq.DemographicParity(0.0) & floor & cap & eq.SelectionRate(at_most=0.9))
    conflict = {str(row) for row in clf.certificate_.conflict}
    assert len(conflict) == 3
    assert {"0.9 <= rate('tpr', sex='a')", "rate('fpr', sex='b') <= 0.1"} < conflict
    (parity,) = conflict - {"0.9 <= rate('tpr', sex='a')", "rate('fpr', sex='b') <= 0.1"}
    # With two groups these say the same thing.
    assert parity in {
        "demographic parity: a above overall",
        "demographic parity: b below overall",
    }
    assert not clf.certificate_.possible
    for two in (eq.DemographicParity(0.0) & floor, eq.DemographicParity(0.0) & cap, floor & cap):
        assert quietly(crowd, two).certificate_.feasible


def test_parity_and_equalized_odds_at_zero_leave_the_constant_classifier() -> None:
    crowd = every_rule()
    clf = fitted(crowd, eq.DemographicParity(0.0) & eq.EqualizedOdds(0.0))
    assert clf.certificate_.feasible
    assert np.ptp(outcome(clf, crowd).H[0]) < 1e-6
    assert clf.certificate_.constant == pytest.approx(outcome(clf, crowd).H[0].mean())
    told = "trivial: it treats all groups and labels alike. It selects about the same share of each"
    assert told in str(clf.certificate_)


def test_groups_that_are_treated_alike_are_not_called_decided_on_by_lot() -> None:
    """A rule that looks at neither group nor label selects half of everybody, and draws nobody."""
    y, sex = np.tile([0, 0, 1, 1], 10), np.repeat(["F", "M"], 20)
    blind, better = np.tile([1.0, 0, 1, 0], 10), np.where(sex == "M", 1.0, y)
    clf = fitted(Crowd(y, np.array([blind, better]), {"sex": sex}), eq.DemographicParity(0.0))
    assert clf.certificate_.by_lot.share == 0.0
    assert clf.certificate_.constant == pytest.approx(0.5)
    assert "trivial" in str(clf.certificate_)
    assert "same probability" not in str(clf.certificate_)
    assert "constant classifier" not in str(clf.certificate_)


def test_prices_of_loosened_bounds_are_said_to_be_those() -> None:
    for seed in range(40):
        crowd = random_crowd(seed, n=20, n_classifiers=5)
        clf = quietly(crowd, eq.BoundedGroupError(0.1))
        text = str(clf.certificate_)
        if clf.certificate_.least_slack > 0 and "saves at most" in text:
            assert "by at most" not in text or "further, by 0.01, saves at most" in text
            assert " by 0.01 saves" not in text
            return
    raise AssertionError("no problem of these has a price")


def test_a_classifier_that_is_not_constant_is_not_called_trivial() -> None:
    clf = fitted(every_rule(), eq.DemographicParity(0.0))
    assert clf.certificate_.constant is None
    assert "trivial" not in str(clf.certificate_)


def test_feasible_in_principle_but_not_with_these_classifiers() -> None:
    crowd = every_rule()
    chosen = [h for h in crowd.H if h[:20].mean() > h[20:].mean() + 0.2]
    crowd = Crowd(crowd.y, np.array(chosen), crowd.columns)
    constraint = eq.DemographicParity(0.02, reference="pairwise")
    expected = by_hand.parity(crowd, PARITIES["DemographicParity"], 0.02, reference="pairwise")
    with pytest.warns(InfeasibleWarning, match="use a more flexible learner"):
        clf = fitted(crowd, constraint)
    assert clf.certificate_.possible
    assert [str(row) for row in clf.certificate_.conflict] == ["demographic parity: a above b"]
    assert clf.certificate_.least_slack == pytest.approx(by_hand.least_slack(expected), abs=1e-5)
    assert "a more flexible learner may" in str(clf.certificate_)


# --- random conflicts ----------------------------------------------------------------------------

crowds = st.builds(
    random_crowd,
    st.integers(0, 10**6),
    n_classifiers=st.integers(4, 9),
    n_groups=st.integers(2, 3),
    weighted=st.booleans(),
    counts=st.sampled_from(["both", "error"]),
    soft=st.booleans(),
)


def crossing(crowd: Crowd, eps: float) -> tuple[Constraint, Inequalities]:
    constraint = (
        eq.EqualizedOdds(eps) & eq.SelectionRate(at_least=0.45) & eq.BoundedGroupError(0.35)
    )
    rows = (
        by_hand.parity(crowd, PARITIES["EqualizedOdds"], eps)
        | by_hand.selection_rate(crowd, 0.45, None)
        | by_hand.group_error(crowd, 0.35, "bounded group error")
    )
    return constraint, rows


@settings(max_examples=60, deadline=None, derandomize=True)
@given(crowd=crowds, eps=st.sampled_from([0.0, 0.05]), relax=st.sampled_from(["uniform", "total"]))
def test_conflicts_are_irreducible_and_slacks_least(crowd: Crowd, eps: float, relax: str) -> None:
    constraint, rows = crossing(crowd, eps)
    clf = quietly(crowd, constraint, relax=relax)
    certificate = clf.certificate_
    uniform = by_hand.least_slack(rows)
    if uniform < 1e-6:
        assert certificate.feasible
        return
    assert certificate.least_slack == pytest.approx(uniform, abs=2e-5)
    total = by_hand.least_slack(rows, np.eye(len(rows)))
    assert certificate.total_slack == pytest.approx(total, abs=2e-5)
    assert certificate.slacks.sum() == pytest.approx(total, abs=2e-5)
    conflict = {str(row): rows[str(row)] for row in certificate.conflict}
    assert by_hand.least_slack(conflict) > 1e-8
    for name in conflict if len(conflict) > 1 else ():
        rest = {k: v for k, v in conflict.items() if k != name}
        assert by_hand.least_slack(rest) < 1e-7
    # The classifier returned keeps to the loosened bounds, which are loosened as asked.
    after = outcome(clf, crowd)
    loosened = dict(zip(map(str, certificate.rows), certificate.bound, strict=True))
    for name, (value, _) in crossing(after, eps)[1].items():
        assert value[0] <= loosened[name] + SOLVER
    extra = sum(loosened[name] - bound for name, (_, bound) in rows.items())
    assert extra == pytest.approx(total if relax == "total" else uniform * len(rows), abs=2e-4)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(crowd=crowds, floor=st.floats(0.3, 0.9), cap=st.floats(0.1, 0.6))
def test_whether_any_decisions_at_all_would_do(crowd: Crowd, floor: float, cap: float) -> None:
    constraint = (
        eq.EqualizedOdds(0.02)
        & eq.SelectionRate(at_least=floor)
        & (rate("fpr") <= cap)
        & (rate("tpr") <= 0.9)
    )

    def rows(crowd: Crowd) -> Inequalities:
        ones = np.ones(crowd.n)
        return (
            by_hand.parity(crowd, PARITIES["EqualizedOdds"], 0.02)
            | by_hand.selection_rate(crowd, floor, None)
            | {"fpr": (crowd.rate(crowd.H, ones * (crowd.y == 0)), cap)}
            | {"tpr": (crowd.rate(crowd.H, ones * (crowd.y == 1)), 0.9)}
        )

    expected = by_hand.any_decisions(crowd, rows)
    cells = cells_of(crowd)
    game = Lagrangian.from_moments(constraint.moments(cells), cells)
    slack = least_slack(game, UnrestrictedOracle(cells), Pool(), uniform(len(game.c)), nu=1e-6)
    assert slack.lower == pytest.approx(expected, abs=1e-5)
    clf = quietly(crowd, constraint)
    if not clf.certificate_.feasible:
        assert clf.certificate_.possible == (expected < 1e-6)


def test_the_warning_says_how_bounds_were_loosened() -> None:
    wish = eq.SelectionRate(at_least=0.6) & eq.SelectionRate(at_most=0.4)
    with pytest.warns(InfeasibleWarning, match=r"every bound was loosened by 0\.1,"):
        fitted(every_rule(), wish)
    with pytest.warns(InfeasibleWarning, match=r"bounds were loosened by 0\.2 in all"):
        fitted(every_rule(), wish, relax="total")


def test_relax_takes_one_of_two_words() -> None:
    with pytest.raises(ValueError, match="relax is 'some'; expected 'uniform' or 'total'"):
        fitted(every_rule(), eq.DemographicParity(), relax="some")


# --- with a learner ------------------------------------------------------------------------------


def simulated(n: int = 600):
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, n)
    X = np.column_stack([A + rng.normal(size=n), rng.normal(size=n)])
    y = (X.sum(axis=1) + 1.5 * A + rng.normal(size=n) > 1).astype(int)
    return X, y, A


def test_a_learner_that_is_too_poor_is_told_from_constraints_that_contradict() -> None:
    X, y, A = simulated()
    wish = eq.BoundedGroupError(0.02)
    with pytest.warns(InfeasibleWarning, match="use a more flexible learner"):
        poor = FairClassifier(LogisticRegression(), wish).fit(X, y, sensitive_features=A)
    assert poor.certificate_.possible
    rich = FairClassifier(DecisionTreeClassifier(), wish).fit(X, y, sensitive_features=A)
    assert rich.certificate_.feasible
    with pytest.warns(InfeasibleWarning, match="no decisions at all"):
        FairClassifier(
            DecisionTreeClassifier(),
            (rate("selection") >= 0.5) & (rate("tpr") <= 0.3) & (rate("fpr") <= 0.3),
        ).fit(X, y, sensitive_features=A)


def test_the_trivial_result_is_reported_for_a_learner_too() -> None:
    X, y, A = simulated()
    clf = FairClassifier(LogisticRegression(), eq.DemographicParity(0) & eq.EqualizedOdds(0))
    clf.fit(X, y, sensitive_features=A)
    assert clf.certificate_.feasible
    assert clf.certificate_.constant is not None
    assert "trivial" in str(clf.certificate_)


# --- shadow prices -------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    crowd=st.builds(
        random_crowd,
        st.integers(0, 10**6),
        n_classifiers=st.just(20),
        n_groups=st.integers(2, 3),
        weighted=st.booleans(),
    )
)
def test_loosening_a_bound_saves_no_more_than_its_price(crowd: Crowd) -> None:
    rows = by_hand.parity(crowd, PARITIES["EqualizedOdds"], 0.05)
    best = by_hand.least_error(crowd.error(), rows)
    if best is None:
        return
    certificate = fitted(crowd, eq.EqualizedOdds(0.05), nu=1e-7).certificate_
    assert certificate.free_error == pytest.approx(crowd.error().min(), abs=1e-12)
    for loosening in (1e-4, 0.01, 0.2):
        prices = {str(row): price for row, price in certificate.shadow_prices(loosening)}
        for name, (value, bound) in rows.items():
            looser = rows | {name: (value, bound + loosening)}
            saved = best.value - by_hand.least_error(crowd.error(), looser).value
            assert saved <= prices.get(name, certificate.gap) + SOLVER
    tight = {str(row) for row in certificate.binding}
    after = dict(zip(map(str, certificate.rows), certificate.gamma, strict=True))
    # At its bound to rounding, and no further from it than nu may move a row.
    assert tight >= {name for name, value in after.items() if value > 0.05 - 1e-9}
    assert tight <= {name for name, value in after.items() if value > 0.05 - 1e-6}
    assert list(prices.values()) == sorted(prices.values(), reverse=True)


def test_prices_are_not_idle() -> None:
    near = 0
    for seed in range(10):
        crowd = random_crowd(seed, n_classifiers=20, n=60)
        rows = by_hand.parity(crowd, PARITIES["DemographicParity"], 0.05, reference="b")
        best = by_hand.least_error(crowd.error(), rows)
        clf = fitted(crowd, eq.DemographicParity(0.05, reference="b"), nu=1e-7)
        for row, price in clf.certificate_.shadow_prices(1e-3):
            looser = rows | {str(row): (rows[str(row)][0], 0.051)}
            saved = best.value - by_hand.least_error(crowd.error(), looser).value
            near += saved == pytest.approx(price, rel=1e-3)
    assert near >= 5


def test_the_group_that_limits_is_named() -> None:
    sex = np.repeat(["a", "b", "c"], 20)
    y = np.tile([0, 1], 30)
    rng = np.random.default_rng(0)
    noisy = np.where((sex == "c") & (rng.uniform(size=60) < 0.4), 1 - y, y).astype(float)
    crowd = Crowd(y, np.array([noisy, np.ones(60), np.zeros(60)]), {"sex": sex})
    certificate = quietly(crowd, eq.AccuracyEquality(0.05)).certificate_
    assert certificate.limiting_group == "c"
    text = str(certificate)
    assert "c limits the result" in text
    assert f"(error {crowd.error().min():.4f} without the constraints)" in text
    assert (
        'loosening "accuracy equality: c above overall by at most 0.05" by 0.01 saves at most'
        in text
    )
    free = fitted(crowd, eq.AccuracyEquality(0.5)).certificate_
    assert free.limiting_group is None
    assert free.binding == ()
    assert "binding" not in str(free)
