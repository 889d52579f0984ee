"""Distribution parity against linear programs from raw arrays, over short lists of classifiers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

import equipoise as eq
from equipoise.cells import Cells
from equipoise.constraints import DistributionParity
from equipoise.exceptions import ConstantDecisionWarning, InfeasibleWarning
from equipoise.metrics import distribution_parity_violation


class Listed:
    """A classifier that knows its decisions by the number of the row."""

    def __init__(self, decisions: NDArray) -> None:
        self.decisions = decisions

    def predict(self, X: NDArray) -> NDArray:
        return self.decisions[np.asarray(X)[:, 0].astype(int)]


def distance(h: NDArray, age: NDArray, weight: NDArray) -> float:
    """The Kolmogorov distance, threshold by threshold."""
    chosen = h * weight / (h * weight).sum()
    everybody = weight / weight.sum()
    return max(abs(chosen[age >= t].sum() - everybody[age >= t].sum()) for t in np.unique(age))


def least_error(H: NDArray, y: NDArray, age: NDArray, weight: NDArray, eps: float) -> float:
    """The least error of a mixture of rows of H within the bound; infinity where there is none.

    Written for the mixture's share selected above t, S_t, and in all, S:
    |S_t - F_t S| <= eps S for every t.
    """
    w = weight / weight.sum()
    S = H @ w
    rows = []
    for t in np.unique(age):
        above = age >= t
        off = H[:, above] @ w[above] - w[above].sum() * S
        rows += [off - eps * S, -off - eps * S]
    found = linprog(
        np.abs(H - y) @ w,
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.ones((1, len(H))),
        b_eq=[1.0],
        bounds=(0, None),
    )
    return float(found.fun) if found.status == 0 else float("inf")


@pytest.mark.parametrize("seed", range(12))
def test_the_best_mixture_of_a_list_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, eps = 60, float(rng.choice([0.0, 0.05, 0.15]))
    age = rng.integers(18, 26, n)
    y = (rng.random(n) < 0.2 + 0.08 * (age - 18)).astype(int)
    weight = rng.uniform(0.5, 2.0, n) if seed % 2 else np.ones(n)
    H = (rng.random((9, n)) < rng.random((9, 1)) * (0.3 + 0.1 * (age - 18))).astype(int)
    H[0] = y
    H[1] = 1  # selects everybody, so that some mixture keeps every bound
    model = eq.FairClassifier([Listed(h) for h in H], DistributionParity("age", eps), nu=1e-8)
    X = np.arange(n, dtype=float)[:, None]
    model.fit(X, y, sensitive_features={"age": age}, sample_weight=weight)
    expected = least_error(H, y, age, weight, eps)
    assert model.certificate_.error == pytest.approx(expected, abs=1e-7)
    h = model.predict_proba(X)[:, 1]
    assert distance(h, age, weight) <= eps + 1e-6
    measured = distribution_parity_violation(y, h, sensitive_features=age, sample_weight=weight)
    assert measured == pytest.approx(distance(h, age, weight), abs=1e-12)


def test_bounds_that_no_mixture_keeps_are_in_conflict() -> None:
    age = np.repeat([20, 30, 40], 20)
    y = np.tile([0, 1], 30)
    only_old = (age == 40).astype(int)
    X = np.arange(60.0)[:, None]
    model = eq.FairClassifier([Listed(only_old)], DistributionParity("age", 0.1))
    with pytest.warns(InfeasibleWarning, match="age from 40 on"):
        model.fit(X, y, sensitive_features={"age": age})
    # Two thirds more of those selected are 40 than of all; 0.1 is allowed; a third are selected.
    excess = model.report()["training"].excess.estimate
    assert excess == pytest.approx((2 / 3 - 0.1) / 3)


def test_people_of_unknown_age_are_on_neither_side() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 30, 400).astype(float)
    age[rng.random(400) < 0.3] = np.nan
    y = rng.integers(0, 2, 400)
    h = rng.integers(0, 2, 400)
    known = ~np.isnan(age)
    people = eq.rows.people.People(np.zeros((400, 1)), y, {"age": age}, missing="ignore")
    cells, _ = people.read()
    moments = DistributionParity("age", 0.02).moments(cells)
    most = (moments.M @ moments.mu(cells.sum(h))).max()
    share, ones = (h * known).sum() / known.sum(), np.ones(known.sum())
    expected = (distance(h[known], age[known], ones) - 0.02) * share
    assert most == pytest.approx(expected)


def test_strata_are_compared_by_themselves() -> None:
    rng = np.random.default_rng(1)
    age, town, y = rng.integers(20, 25, 300), rng.choice(["a", "b"], 300), rng.integers(0, 2, 300)
    h = (rng.random(300) < 0.3 + 0.1 * (age - 20)).astype(int)
    cells = Cells.from_columns(y, {"age": age}, {"town": town})
    moments = DistributionParity(eps=0.01).moments(cells)
    most = (moments.M @ moments.mu(cells.sum(h))).max()
    each = [
        (distance(h[town == t], age[town == t], np.ones((town == t).sum())) - 0.01)
        * h[town == t].mean()
        for t in "ab"
    ]
    assert most == pytest.approx(max(each))
    measured = distribution_parity_violation(y, h, sensitive_features=age, control_features=town)
    ones = np.ones(300)
    assert measured == pytest.approx(
        max(distance(h[town == t], age[town == t], ones[town == t]) for t in "ab")
    )


def test_ordered_categories_have_thresholds_in_their_order() -> None:
    sizes = pd.Categorical(
        ["low", "high", "mid", "low"], categories=["low", "mid", "high"], ordered=True
    )
    people = eq.rows.people.People(np.zeros((4, 1)), [0, 1, 0, 1], pd.Series(sizes, name="size"))
    rows = DistributionParity("size", 0.1).moments(people.read()[0]).rows
    assert [row.text.split(",")[0] for row in rows[::2]] == [
        "size from mid on",
        "size from high on",
    ]


@pytest.mark.parametrize(
    ("constraint", "column", "match"),
    [
        (DistributionParity("age", 1.0), [1, 2, 3, 4], "from 0 to below 1"),
        (DistributionParity("age", True), [1, 2, 3, 4], "from 0 to below 1"),
        (DistributionParity("height", 0.1), [1, 2, 3, 4], "one of the sensitive features 'age'"),
        (DistributionParity("age", 0.1), ["a", "b", "a", "b"], "expected numbers, dates"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    constraint: DistributionParity, column: list, match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        constraint.moments(Cells.from_columns([0, 1, 0, 1], {"age": column}))


def test_a_number_with_too_many_values_is_refused_with_a_way_out() -> None:
    cells = Cells.from_columns([0, 1] * 400, {"pay": np.arange(800.0)})
    with pytest.raises(ValueError, match=r"800 different values.*bins=\{'pay': 100\}"):
        DistributionParity("pay", 0.1).moments(cells)


def test_a_frontier_does_not_trace_it() -> None:
    frontier = eq.Frontier(LogisticRegression(), DistributionParity("age", 0.1))
    with pytest.raises(TypeError, match="DistributionParity has no eps to trace"):
        frontier.fit([[0.0], [1.0]] * 4, [0, 1] * 4, sensitive_features={"age": [1, 2] * 4})


@pytest.mark.parametrize("floor", [False, True])
def test_a_result_that_selects_next_to_nobody_is_remarked_on(floor: bool) -> None:
    rng = np.random.default_rng(0)
    n = 3000
    age = rng.integers(20, 60, n)
    y = (rng.random(n) < 0.004).astype(int)
    X = np.arange(n, dtype=float)[:, None]
    H = [y, np.ones(n, dtype=int)]
    constraint = DistributionParity("age", 0.5)
    if floor:
        constraint = constraint & eq.SelectionRate(at_least=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eq.FairClassifier([Listed(h) for h in H], constraint).fit(
            X, y, sensitive_features={"age": age}
        )
    told = [str(w.message) for w in caught if w.category is ConstantDecisionWarning]
    assert bool(told) is not floor
    if told:
        assert "Add a floor" in told[0]
