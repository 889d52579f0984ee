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
    with pytest.raises(ValueError, match="states gap="):
        replace(certificate, gap=certificate.gap / 2).check()
