"""Rows over cells: people behind each rate, variances by simulation, and which test is used."""

import numpy as np
import pytest
from scipy.stats import norm

from equipoise.cells import Cells
from equipoise.constraints import (
    BoundedGroupError,
    DemographicParity,
    EqualizedOdds,
    FourFifthsRule,
    MinimaxGroupError,
    TreatmentEquality,
)
from equipoise.guarantees.exact_test import score_p
from equipoise.guarantees.tested_rows import TestedRows

RULES = [
    DemographicParity(0.1, reference="pairwise"),
    DemographicParity(0.1),
    DemographicParity(0.1, reference="M"),
    EqualizedOdds(0.1),
    FourFifthsRule(),
    BoundedGroupError(0.4),
    TreatmentEquality(0.2, tau=1.0),
]


def draw(n, rng):
    """People whose groups, labels and decisions have known chances."""
    A = rng.choice(["F", "M", "X"], n, p=[0.5, 0.3, 0.2])
    y = (rng.random(n) < 0.4).astype(int)
    h = (rng.random(n) < np.where(y == 1, 0.6, 0.3) + 0.05 * (A == "M")).astype(float)
    return A, y, h


def rows_of(rule, A, y, h, weight=None):
    cells = Cells.from_columns(y, {"sex": A}, None, weight)
    return TestedRows.of(rule, cells.table()), cells.sum(h)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_standard_errors_are_those_of_repeated_draws(rule):
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(200):
        rows, s = rows_of(rule, *draw(1000, rng))
        values.append(rows.gamma(s))
        errors.append(rows.standard_errors(s))
    ratio = np.std(values, axis=0) / np.mean(errors, axis=0)
    assert ((ratio > 0.8) & (ratio < 1.2)).all()


@pytest.mark.parametrize("rule", RULES[:2], ids=repr)
def test_p_values_are_uniform_at_the_bound(rule):
    """Where a row is at its bound in the population, 5 % of its p-values are below 5 %."""
    rng = np.random.default_rng(1)
    big, s = rows_of(rule, *draw(400_000, rng))
    truth = big.gamma(s)
    below = np.zeros(len(truth))
    for _ in range(300):
        rows, s = rows_of(rule, *draw(1000, rng))
        object.__setattr__(rows.moments, "c", truth)
        below += rows.p_values(s[None])[0] <= 0.05
    assert ((below / 300 > 0.015) & (below / 300 < 0.095)).all()


def test_people_behind_each_rate_are_counted():
    A, y, h = draw(1000, np.random.default_rng(2))
    rows, _ = rows_of(EqualizedOdds(0.1, reference="pairwise"), A, y, h)
    for row, people in zip(rows.moments.rows, rows.smallest, strict=True):
        label = row.event.label
        counts = [int(((group == A) & (y == label)).sum()) for group in (row.group, row.against)]
        assert people == pytest.approx(min(counts))


def test_the_p_value_of_two_groups_from_raw_arrays():
    """Against the textbook: the closed form at a bound of zero, where rates are pooled."""
    A, y, h = draw(4000, np.random.default_rng(3))
    h = np.where(A == "M", 0.0, h) * (A != "X") + 0.1 * (A == "X")
    rows, s = rows_of(DemographicParity(0.0, reference="pairwise"), A, y, h)
    named = {(r.group, r.against, r.side): k for k, r in enumerate(rows.moments.rows)}
    k = named["F", "X", 1] if ("F", "X", 1) in named else named["X", "F", -1]
    f, x = h[A == "F"], h[A == "X"]
    pooled = np.concatenate([f, x]).mean()
    error = np.sqrt(pooled * (1 - pooled) * (1 / len(f) + 1 / len(x)))
    assert rows.p_values(s[None])[0, k] == pytest.approx(norm.sf((x.mean() - f.mean()) / error))


@pytest.mark.parametrize(
    ("rule", "n", "method"),
    [
        (DemographicParity(0.1, reference="pairwise"), 3000, "score"),
        (DemographicParity(0.1, reference="pairwise"), 300, "exact"),
        (DemographicParity(0.1), 3000, "asymptotic"),
        (TreatmentEquality(0.2, tau=1.0), 3000, "asymptotic"),
        (BoundedGroupError(0.4), 3000, "score"),
    ],
)
def test_which_test_is_used(rule, n, method):
    rows, _ = rows_of(rule, *draw(n, np.random.default_rng(4)))
    assert rows.method == method


def test_weights_count_as_effective_people():
    rng = np.random.default_rng(5)
    A, y, h = draw(1000, rng)
    weight = rng.uniform(0.2, 3.0, 1000)
    rule = BoundedGroupError(0.4)
    rows, _ = rows_of(rule, A, y, h, weight)
    kish = [weight[g == A].sum() ** 2 / np.square(weight[g == A]).sum() for g in "FMX"]
    assert rows.people == pytest.approx(kish)
    assert rows.method == "asymptotic"
    same, _ = rows_of(rule, A, y, h, np.full(1000, 7.0))
    assert not same.is_weighted


def test_one_row_alone_is_as_likely_to_break_as_its_own_p_value():
    rows, s = rows_of(BoundedGroupError(0.5), *draw(3000, np.random.default_rng(6)))
    alone, joint = rows.p_values(s[None])[0], rows.joint_p_values(s[None])[0]
    assert joint.max() >= alone.max()
    assert joint.max() <= alone.sum() + 0.02


def test_what_cannot_be_proven_is_refused():
    A, y, _ = draw(100, np.random.default_rng(7))
    cells = Cells.from_columns(y, {"sex": A}).table()
    with pytest.raises(ValueError, match="no bound"):
        TestedRows.of(MinimaxGroupError(), cells)


@pytest.mark.parametrize("reference", ["overall", "pairwise"])
def test_one_group_proves_nothing(reference):
    cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "F", "F"]})
    with pytest.raises(ValueError, match="no decisions about these people could change"):
        TestedRows.of(DemographicParity(0.1, reference=reference), cells)


def test_what_is_decided_by_lot_leaves_a_wider_bound_to_the_others():
    """A share of 0.2 is selected and 0.3 is not, whoever they are: differences count half."""
    rng = np.random.default_rng(0)
    cells = Cells.from_columns(rng.integers(0, 2, 900), {"sex": rng.choice(["F", "M"], 900)})
    rows = TestedRows.of(DemographicParity(0.05, reference="pairwise"), cells.table())
    assert rows.sure.tolist() == [True, True]
    others = rng.uniform(0.3, 0.6, cells.n_cells) * cells.mass
    F = cells.sensitive["sex"] == "F"
    n = np.array([cells.count[F].sum(), cells.count[~F].sum()])
    rate = [others[F].sum() / cells.mass[F].sum(), others[~F].sum() / cells.mass[~F].sum()]
    x = np.array(rate) * n
    expected = sorted(float(score_p(x, n, a, 0.1)) for a in ([1, -1], [-1, 1]))
    p = rows.among(0.2, 0.7).p_values(others[None])[0]
    assert sorted(p) == pytest.approx(expected, rel=1e-6)


def test_only_decisions_are_known_without_people():
    rng = np.random.default_rng(0)
    cells = Cells.from_columns(rng.integers(0, 2, 900), {"sex": rng.choice(["F", "M"], 900)})
    for rule, sure in ((EqualizedOdds(0.1), True), (BoundedGroupError(0.3), False)):
        assert TestedRows.of(rule, cells.table()).sure.tolist() == [sure, sure]
