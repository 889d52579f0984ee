"""Certificates: what multipliers, prices and the check promise, against brute force."""

from __future__ import annotations

import warnings
from dataclasses import replace

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, random_crowd
from finite_problems import FiniteProblem, infeasible_problems, least_error, random_problem
from games import constraint_of, fit, key_of, listed, paper_order
from listed import Listed, fitted

import equipoise as eq
from equipoise import FairClassifier
from equipoise.constraints import (
    CATALOGUE,
    Constraint,
    FalseNegativeRateParity,
    TreatmentEquality,
    UtilityParity,
)
from equipoise.exceptions import EquipoiseWarning
from equipoise.game.certificate import Certificate
from equipoise.game.evidence import Status
from equipoise.game.least_random import Lottery

SOLVER = 2e-7


def in_paper_order(problem: FiniteProblem, certificate: Certificate) -> np.ndarray:
    keys = [key_of(row) for row in certificate.rows]
    return certificate.multipliers[[keys.index(key) for key in problem.keys]]


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.ConstantDecisionWarning")
@pytest.mark.parametrize("nu", [None, 1e-4])
def test_the_multipliers_prove_the_lower_value(nu: float | None) -> None:
    n_binding = 0
    for seed in range(80):
        problem = random_problem(seed)
        clf = fit(FairClassifier(listed(problem), constraint_of(problem), nu=nu), problem)
        certificate = clf.certificate_
        # The list is all there is: the dual value is the least Lagrangian over it.
        dual = problem.lagrangian(in_paper_order(problem, certificate)).min()
        assert dual == pytest.approx(certificate.lower, abs=1e-9), seed
        gamma = problem.gamma(clf.predict_proba(problem.H.T)[:, 1])
        order = paper_order(problem, certificate.rows)
        assert certificate.gamma[order] == pytest.approx(gamma, abs=1e-9), seed
        best = least_error(problem)
        assert best is not None
        assert dual <= best.value + SOLVER
        assert best.value - dual <= clf.nu_ + SOLVER
        n_binding += bool(certificate.multipliers.any())
    assert n_binding > 20


class LoosenedProblem(FiniteProblem):
    """A problem with one of its bounds loosened."""

    row, by = 0, 0.0

    def gamma(self, H: np.ndarray | None = None) -> np.ndarray:
        found = super().gamma(H)
        found[..., self.row] -= self.by
        return found


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.ConstantDecisionWarning")
@pytest.mark.parametrize("by", [0.01, 0.2])
def test_prices_never_promise_too_little(by: float) -> None:
    for seed in range(60):
        problem = random_problem(seed)
        clf = fit(FairClassifier(listed(problem), constraint_of(problem)), problem)
        certificate = clf.certificate_
        prices = {key_of(row): price for row, price in certificate.shadow_prices(by)}
        for k, key in enumerate(problem.keys):
            loosened = LoosenedProblem(**vars(problem))
            vars(loosened).update(row=k, by=by)
            best = least_error(loosened)
            assert best is not None
            saved = certificate.error - best.value
            # What costs nothing may still save the gap, which is below nu.
            assert saved <= prices.get(key, certificate.gap) + SOLVER, (seed, key)


def test_prices_of_a_tie_are_called_an_upper_limit() -> None:
    # Two rows bind together, and loosening one alone saves nothing.
    y = np.array([1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1])
    group = [f"s{number}" for number in "1102111211022221"]
    missed = y.copy()
    missed[6] = 0
    clf = FairClassifier(
        [Listed(0 * y), Listed(missed)],
        FalseNegativeRateParity(0.1, reference="pairwise"),
    )
    certificate = clf.fit(np.arange(16)[:, None], y, sensitive_features=group).certificate_
    assert certificate.shadow_prices()
    assert "at most" not in next(x for x in str(certificate).splitlines() if x[:5] == "price")
    # A search that is not at its end may still find that the constraints cost less.
    assert "price       at most " in str(replace(certificate, gap=0.1, nu=0.01))
    for line in str(certificate).splitlines():
        assert not line.startswith("loosening") or "saves at most" in line


def test_an_excess_of_rounding_size_is_worth_no_multiplier() -> None:
    y = np.array([1, 0, 1, 1, 0, 1])
    clf = FairClassifier([Listed(np.array([0, 1, 1, 0, 0, 1]))], eq.AccuracyEquality(0))
    certificate = clf.fit(np.arange(6)[:, None], y, sensitive_features=list("aabbaa")).certificate_
    assert certificate.error == certificate.free_error == 0.5
    assert certificate.multipliers.tolist() == [0.0] * 4
    rounded = replace(certificate, multipliers=np.full(4, 1e-10), constant=0.5)
    for told in (certificate, rounded):
        assert told.limiting_group is None
        assert "trivial" not in str(told)
        assert told.shadow_prices() == []


def example_of(kind: type[Constraint]) -> Constraint:
    if kind is eq.SelectionRate:
        return kind(0.2, 0.6)
    if kind is UtilityParity:
        return kind(0.05, utility=[[0.3, 1], [0, 0.9]])
    return kind(tau=1.5) if kind is TreatmentEquality else kind()


@pytest.mark.parametrize("kind", CATALOGUE)
@pytest.mark.parametrize("seed", range(3))
def test_every_certificate_can_be_checked(kind: type[Constraint], seed: int) -> None:
    crowd = random_crowd(seed, n_groups=3, weighted=seed == 1, control=seed == 2)
    if kind is eq.DistributionParity:  # of numbers
        _, age = np.unique(crowd.columns["sex"], return_inverse=True)
        crowd = replace(crowd, columns={"age": age})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        certificate = fitted(crowd, example_of(kind), nu=None).certificate_
    assert certificate.check() == pytest.approx((certificate.lower, certificate.upper), abs=1e-9)
    for name in ("error", "violation", "lower", "upper", "gap", "free_error"):
        with pytest.raises(ValueError, match=f"states {name}="):
            replace(certificate, **{name: getattr(certificate, name) + 1e-6}).check()
    evidence = certificate.evidence
    with pytest.raises(ValueError, match="one of them was changed"):
        replace(certificate, evidence=replace(evidence, shares=0.9 * evidence.shares)).check()


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
def test_certificates_of_loosened_bounds_can_be_checked() -> None:
    for problem in infeasible_problems(10, first_seed=900):
        certificate = fit(FairClassifier(listed(problem), constraint_of(problem)), problem)
        certificate.certificate_.check()


def test_conflicts_and_prices_are_told_apart_by_their_bounds() -> None:
    crowd = random_crowd(4, n_groups=2)
    two = eq.BoundedGroupError(0.3) & eq.BoundedGroupError(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        certificate = fitted(crowd, two).certificate_
    assert by_hand.least_slack(by_hand.group_error(crowd, 0.05, "")) > 0.01
    words = certificate.to_dict()["conflict"]
    assert words
    assert all(word.endswith("at most 0.05") for word in words)
    assert all(word in str(certificate) for word in words)


def test_prices_name_their_bounds() -> None:
    crowd = random_crowd(5, n_groups=2)
    free = by_hand.least_error(
        crowd.error(), by_hand.parity(crowd, PARITIES["DemographicParity"], 1.0)
    )
    certificate = fitted(crowd, eq.DemographicParity(0.01) & eq.DemographicParity(0.9)).certificate_
    assert free is not None
    assert certificate.error > free.value
    lines = [line for line in str(certificate).splitlines() if line.startswith("loosening")]
    assert lines
    assert all('overall by at most 0.01" by 0.01 saves at most' in line for line in lines)


@pytest.mark.parametrize("max_iter", [3, 200])
def test_algorithm_1_as_printed_can_be_checked(max_iter: int) -> None:
    problem = random_problem(3)
    printed = eq.ExponentiatedGradient(
        listed(problem), constraint_of(problem), polish=False, max_iter=max_iter
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = fit(printed, problem).certificate_
    certificate.check()
    assert certificate.B == printed.B_ > 0
    with pytest.raises(ValueError, match="states gap="):
        replace(certificate, gap=certificate.gap / 2).check()


@pytest.fixture(scope="module")
def stated() -> Certificate:
    """A certificate of two groups with four rows, to state other numbers in."""
    crowd = random_crowd(5, n_groups=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        certificate = fitted(crowd, eq.DemographicParity(0.01)).certificate_
    assert len(certificate.rows) == 4
    return certificate


@pytest.mark.parametrize(
    ("violation", "least_slack", "proven_slack", "status"),
    [
        (0.0, 0.0, 0.0, Status.MET),
        (0.5, 0.0, 0.0, Status.NOT_YET),
        (0.5, 0.0, 2.0, Status.IMPOSSIBLE),
        (0.0, 0.1, 0.0, Status.NOT_YET),  # bounds that were loosened are not those asked for
        (0.0, 0.1, 0.5, Status.NOT_YET),  # a proof within rounding is none
        (0.0, 0.1, 1.0, Status.NOT_YET),
        (0.0, 0.1, 1.1, Status.IMPOSSIBLE),
    ],
)
def test_the_status_follows_from_slack_and_violation(
    stated, violation, least_slack, proven_slack, status
) -> None:
    told = replace(
        stated,
        violation=violation * 1e3 * stated.tolerance,
        least_slack=least_slack,
        proven_slack=proven_slack * stated.tolerance,
    )
    assert told.status is status
    assert told.feasible == (status is Status.MET)
    is_relative = told.verdict != told.status.value
    assert is_relative == (status is Status.IMPOSSIBLE)


def test_rows_at_their_bound_are_binding(stated) -> None:
    below = np.array([0.0, 9.0, 11.0, -5.0]) * stated.tolerance
    told = replace(stated, gamma=stated.bound - below)
    assert list(told.binding) == [stated.rows[k] for k in (0, 1, 3)]


def test_the_limiting_group_costs_most_over_all_of_its_rows(stated) -> None:
    groups = [row.group for row in stated.rows]
    first, other = sorted(set(groups), key=groups.index)
    prices = np.array([0.3 if group == first else 0.0 for group in groups])
    prices[groups.index(other)] = 0.5
    assert groups.count(first) == 2
    assert replace(stated, multipliers=prices).limiting_group == first
    prices[groups.index(other)] = 0.7
    assert replace(stated, multipliers=prices).limiting_group == other
    assert replace(stated, multipliers=0.0 * prices).limiting_group is None


def test_the_least_price_follows_the_unit_and_the_rounding(stated) -> None:
    assert replace(stated, unit=10.0).least_price == pytest.approx(10 * stated.least_price)
    coarse = replace(stated, tolerance=2 * stated.tolerance)
    assert coarse.least_price == pytest.approx(stated.least_price / 2)


def test_what_is_optimal_has_a_gap_of_no_more_than_was_asked_for(stated) -> None:
    told = replace(stated, gap=0.01, nu=0.01)
    assert told.is_optimal()
    assert not replace(told, gap=0.0101).is_optimal()
    assert replace(told, gap=0.0101).is_optimal(0.0101)
    assert not told.is_optimal(0.0)


def test_prices_are_sorted_and_save_no_more_than_the_constraints_cost(stated) -> None:
    prices = np.array([2.0, 0.0, 5.0, 1e-10])
    told = replace(stated, error=0.3, free_error=0.1, gap=0.02, multipliers=prices)
    rows = [(stated.rows[2], 0.07), (stated.rows[0], 0.04)]
    assert [tuple(price) for price in told.shadow_prices()] == [
        (row, pytest.approx(saved)) for row, saved in rows
    ]
    assert [price[1] for price in told.shadow_prices(0.05)] == pytest.approx([0.2, 0.12])
    assert [price[1] for price in told.shadow_prices(1.0)] == pytest.approx([0.2, 0.2])
    assert [price[1] for price in replace(told, error=0.05).shadow_prices()] == [0.0, 0.0]


def test_the_check_allows_for_rounding_and_for_nothing_else(stated) -> None:
    for off, is_sound in ((1e-10, True), (-1e-10, True), (3e-9, False), (-3e-9, False)):
        told = replace(stated, lower=stated.lower + off)
        if is_sound:
            assert told.check() == pytest.approx((stated.lower, stated.upper), abs=1e-12)
            continue
        with pytest.raises(ValueError, match="states lower="):
            told.check()
    with pytest.raises(ValueError, match="no evidence to check"):
        replace(stated, evidence=None).check()


def test_plain_data_have_no_infinity_and_say_what_is_known(stated) -> None:
    told = replace(stated, B=np.inf, by_lot=None, switched=None, gap=0.5, nu=0.1).to_dict()
    assert told["B"] is None
    assert told["error"] == stated.error
    assert told["by_lot"] is None
    assert told["by_lot_exact"] is False
    assert told["switched"] is None
    assert told["gap_closed"] is False
    told = replace(stated, B=7.0, by_lot=Lottery(0.25, True), gap=0.1, nu=0.5).to_dict()
    assert (told["B"], told["by_lot"], told["by_lot_exact"]) == (7.0, 0.25, True)
    assert told["gap_closed"] is True
    assert replace(stated, by_lot=Lottery(0.25, False)).to_dict()["by_lot_exact"] is False


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EquipoiseWarning")
@pytest.mark.parametrize(
    ("of_second", "constant"), [(40, 0.4), (41, 0.405), (42, None)], ids=["same", "near", "other"]
)
def test_the_same_rate_for_everybody_is_called_constant(of_second, constant) -> None:
    group, label = np.repeat(["a", "b"], 200), np.tile([0, 1], 200)
    decided = np.zeros(400, dtype=int)
    for at, selected in ((0, 40), (1, 40), (200, of_second), (201, of_second)):
        decided[at : at + 2 * selected : 2] = 1
    clf = FairClassifier([Listed(decided)], eq.DemographicParity(0.5))
    told = clf.fit(np.arange(400)[:, None], label, sensitive_features=group).certificate_.constant
    assert told == (constant if constant is None else pytest.approx(constant))


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EquipoiseWarning")
def test_a_fit_states_weights_slack_and_excess() -> None:
    group, label = np.repeat(["a", "b"], 10), np.tile([0, 1], 10)
    rows = {"X": np.arange(20)[:, None], "y": label, "sensitive_features": group}
    unfair = Listed((group == "a").astype(int))
    clf = FairClassifier([unfair], eq.DemographicParity(0.1))
    told = clf.fit(**rows).certificate_
    assert not told.weighted
    assert told.sampling_slack == 0.0
    assert told.excess == pytest.approx(0.4)  # a selects all of its people, and everybody half
    assert told.least_slack == pytest.approx(0.4)
    assert told.total_slack == pytest.approx(0.8)  # b selects nobody
    assert told.free_error == pytest.approx(0.5)
    assert clf.fit(**rows, sample_weight=np.full(20, 3.0)).certificate_.weighted is False
    assert clf.fit(**rows, sample_weight=np.arange(1.0, 21.0)).certificate_.weighted
    fair = FairClassifier([Listed(0 * label)], eq.DemographicParity(0.1), sampling_slack=0.5)
    told = fair.fit(**rows).certificate_
    assert told.sampling_slack > 0
    assert told.excess == 0.0


def test_rows_whose_bound_is_made_least_exceed_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        certificate = fitted(random_crowd(5, n_groups=2), eq.MinimaxGroupError()).certificate_
    assert certificate.worst_rate is not None
    assert certificate.gamma.max() > 0.01
    assert certificate.excess == 0.0
