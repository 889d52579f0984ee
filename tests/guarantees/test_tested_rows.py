"""Rows over cells: people behind each rate, variances by simulation, and which test is used."""

import numpy as np
import pytest

from equipoise.cells import Cells
from equipoise.cells.values import UNKNOWN
from equipoise.constraints import (
    BoundedGroupError,
    DemographicParity,
    EqualizedOdds,
    FourFifthsRule,
    MinimaxGroupError,
    TreatmentEquality,
)
from equipoise.guarantees.exact_test import exact_p
from equipoise.guarantees.tested_rows import Decided, TestedRows, Units

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


def decided(cells, h):
    """Decisions about people in cells."""
    selected = np.asarray(h).astype(int)
    counts = np.bincount(2 * cells.code + selected, minlength=2 * cells.n_cells)
    return Decided(counts.reshape(-1, 2), cells.code, selected)


def p_of(rule, A, y, h, level=0.05, units=None, worst=False, weight=None, bounds=None):
    cells = Cells.from_columns(y, {"sex": A}, None, weight)
    rows = TestedRows.of(rule, cells.table())
    if bounds is not None:
        object.__setattr__(rows.moments, "c", bounds)
    return rows.p_values(decided(cells, h), level, units, worst)


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


@pytest.mark.parametrize("rule", [*RULES[:2], RULES[6]], ids=repr)
def test_rows_at_their_bounds_are_proven_as_often_as_said(rule):
    """Exact, overall and bets on several strata: rows are at their bounds in the population."""
    rng = np.random.default_rng(1)
    big, s = rows_of(rule, *draw(400_000, rng))
    truth = big.gamma(s)
    below = np.zeros(len(truth))
    for _ in range(150):
        below += p_of(rule, *draw(1000, rng), bounds=truth) <= 0.05
    assert (below / 150 <= 0.12).all()


def test_people_behind_each_rate_are_counted():
    A, y, h = draw(1000, np.random.default_rng(2))
    rows, _ = rows_of(EqualizedOdds(0.1, reference="pairwise"), A, y, h)
    for row, people in zip(rows.moments.rows, rows.smallest, strict=True):
        label = row.event.label
        counts = [int(((group == A) & (y == label)).sum()) for group in (row.group, row.against)]
        assert people == pytest.approx(min(counts))


def test_the_p_value_of_two_groups_from_raw_arrays():
    A, y, h = draw(4000, np.random.default_rng(3))
    rule = DemographicParity(0.05, reference="pairwise")
    rows, _ = rows_of(rule, A, y, h)
    p = p_of(rule, A, y, h)
    for row, value in zip(rows.moments.rows, p, strict=True):
        n = [(row.group == A).sum(), (row.against == A).sum()]
        x = [h[row.group == A].sum(), h[row.against == A].sum()]
        a = np.array([1.0, -1.0]) * row.side
        if value <= 0.05:
            assert value == pytest.approx(exact_p(x, n, a, 0.05))


@pytest.mark.parametrize(
    ("rule", "exact"),
    [
        (RULES[0], True),
        (RULES[1], True),  # a group against all: that group and the others
        (EqualizedOdds(0.1), True),
        (FourFifthsRule(), True),
        (TreatmentEquality(0.2, tau=1.0), False),
        (BoundedGroupError(0.4), True),
    ],
)
def test_which_rows_are_tested_exactly(rule, exact):
    for n in (300, 3000):  # a kind of row, whatever the data
        rows, _ = rows_of(rule, *draw(n, np.random.default_rng(4)))
        assert set(rows.is_exact.tolist()) == {exact}


def test_a_group_against_all_is_as_sure_as_the_group_against_the_others():
    """p_F - p_all = (1 - share of F) (p_F - p_others), with limits for the share."""
    A, y, h = draw(3000, np.random.default_rng(8))
    p = p_of(DemographicParity(0.1), A, y, h)
    rows, _ = rows_of(DemographicParity(0.1), A, y, h)
    k = next(k for k, r in enumerate(rows.moments.rows) if (r.group, r.side) == ("F", 1))
    F = A == "F"
    x, n = [h[F].sum(), h[~F].sum()], [F.sum(), (~F).sum()]
    away = 1 - F.mean()
    exact = exact_p(x, n, [away, -away], 0.1)
    assert exact <= p[k] <= 2 * exact + 1e-3


def test_households_count_once():
    """Everybody ten times: p-values are not those of ten times as many people."""
    rng = np.random.default_rng(5)
    A, y, h = draw(400, rng)
    many = [np.repeat(values, 10) for values in (A, y, h)]
    units = Units.of(None, np.repeat(np.arange(400), 10), 4000)
    rule = DemographicParity(0.3, reference="pairwise")
    alone, copied, once = p_of(rule, A, y, h), p_of(rule, *many), p_of(rule, *many, units=units)
    assert copied.max() < 1e-3
    assert alone.max() > 1e-3
    assert once.max() > alone.max() / 2
    assert units.population == "clusters of at most 10 people"


def test_weights_are_of_people_who_weigh_no_more_than_the_first():
    rng = np.random.default_rng(6)
    A, y, h = draw(3000, rng)
    weight = rng.uniform(0.5, 2.0, 3000)
    units = Units.of(weight, None, 3000)
    assert units.population == f"people who weigh at most {units.cap:.6g}"
    assert (weight[units.unit >= 0] <= units.cap).all()
    p = p_of(DemographicParity(0.3, reference="pairwise"), A, y, h, units=units, weight=weight)
    assert (p <= 0.05).all()
    weight[-30:] = 500.0  # nothing can be said of a population with such weights
    heavy = Units.of(weight, None, 3000)
    if heavy.cap < 500:
        assert (p_of(RULES[0], A, y, h, units=heavy, weight=weight) == 1).all()


def test_people_who_do_not_tell_are_counted_where_they_hurt():
    rng = np.random.default_rng(7)
    n = 4000
    A = np.where(np.arange(n) % 2 == 0, "F", "M").astype(object)
    y, h = rng.integers(0, 2, n), np.zeros(n)
    h[::3] = 1
    told = A.copy()
    hidden = (np.arange(n) % 10 == 0) & (A == "F")
    told[hidden] = UNKNOWN
    rule = DemographicParity(0.3, reference="pairwise")
    cells = Cells.from_columns(y, {"sex": told})
    rows = TestedRows.of(rule, cells.table())
    rows.check_unknown()
    p = rows.p_values(decided(cells, h), 0.05, worst=True)
    for k, row in enumerate(rows.moments.rows):
        above = row.group if row.side > 0 else row.against
        group = np.where(hidden, np.where(h == 1, above, "M" if above == "F" else "F"), told)
        x = [h[group == above].sum(), h[group != above].sum()]
        m = [(group == above).sum(), (group != above).sum()]
        assert p[k] == pytest.approx(exact_p(x, m, [1.0, -1.0], 0.3))
    with pytest.raises(ValueError, match="missing='worst' is for rows"):
        TestedRows.of(TreatmentEquality(0.2, tau=1.0), cells.table()).check_unknown()


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
    wider = TestedRows.of(DemographicParity(0.1, reference="pairwise"), cells.table())
    assert rows.sure.tolist() == [True, True]
    h = rng.random(900) < 0.4
    others = decided(cells, h)
    expected = wider.p_values(others, 0.05)
    assert rows.among(0.2, 0.7).p_values(others, 0.05) == pytest.approx(expected)
    for low in rng.uniform(0.0, 0.4, 20):  # rounding does not make another kind of row of it
        assert rows.among(low, 1 - 1.1 * low).is_exact.all()


def test_only_decisions_are_known_without_people():
    rng = np.random.default_rng(0)
    cells = Cells.from_columns(rng.integers(0, 2, 900), {"sex": rng.choice(["F", "M"], 900)})
    for rule, sure in ((EqualizedOdds(0.1), True), (BoundedGroupError(0.3), False)):
        assert TestedRows.of(rule, cells.table()).sure.tolist() == [sure, sure]
