"""Exactly k: everybody has their own chance, groups are in balance, the same u selects the same."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from people import make_people
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier, Frontier, GridSearch, Probabilities
from equipoise.estimators.decisions.selection import (
    proportional,
    select_by,
    select_by_rank,
    systematic,
)
from equipoise.exceptions import TiedRowsWarning

X, Y, A = make_people(600, seed=3)


@pytest.fixture(scope="module")
def model():
    fair = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
    return fair.fit(X, Y, sensitive_features=A)


def chances(rng, n) -> np.ndarray:
    """Chances of a batch, many of them zero, one, or the same."""
    kind = rng.integers(0, 5, n)
    some = rng.random(3)
    return np.select(
        [kind == 0, kind == 1, kind == 2, kind == 3],
        [0.0, 1.0, rng.choice(some, n), rng.random(n) ** 8],
        rng.random(n),
    )


def inclusion(p: np.ndarray, k: int) -> np.ndarray:
    """Everybody's chance over u, added up over the stretches of u that select the same people."""
    ends = [Fraction(0)]
    for value in p:
        ends.append(ends[-1] + Fraction(float(value)))
    points = sorted({(-end) % 1 for end in ends} | {Fraction(0), Fraction(1)})
    total = np.zeros(len(p))
    for low, high in pairwise(points):
        if high - low > Fraction(1, 10**9):  # narrower ones are rounding
            total += float(high - low) * systematic(p, k, float((low + high) / 2))
    return total


# The probabilities


def test_probabilities_are_proportional_up_to_one():
    rng = np.random.default_rng(0)
    for _ in range(300):
        p = chances(rng, int(rng.integers(1, 40)))
        k = int(rng.integers(0, (p > 0).sum() + 1))
        scaled, factor = proportional(p, k)
        assert scaled.sum() == pytest.approx(k, abs=1e-9)
        assert scaled.min() >= 0
        assert scaled.max() <= 1
        np.testing.assert_allclose(scaled, np.minimum(factor * p, 1.0), atol=1e-12)
        assert (scaled[p == 0] == 0).all()
        assert not k or (scaled[p > 0] > 0).all()


def test_who_is_certain():
    scaled, factor = proportional(np.array([0.9, 0.5, 0.1, 0.1]), 3)
    np.testing.assert_allclose(scaled, [1.0, 1.0, 0.5, 0.5])
    assert factor == pytest.approx(5.0)
    everybody, _ = proportional(np.array([1e-9, 0.3, 1.0]), 3)
    assert everybody.tolist() == [1.0, 1.0, 1.0]


# The draw


def test_k_is_exact_in_every_batch():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        n = int(rng.integers(1, 200))
        p = chances(rng, n)
        k = int(rng.integers(0, (p > 0).sum() + 1))
        found = select_by(p, k, [rng.integers(0, 3, n)], [rng.random(n)], rng.random())
        assert found.selected.sum() == k
        assert not found.selected[p == 0].any()
        assert found.selected[found.probabilities == 1].all()


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2**-53])
def test_k_is_exact_at_the_ends(u):
    p = np.full(10, 0.1)
    for k in range(11):
        assert select_by(p, k, [], [np.arange(10.0)], u).selected.sum() == k
    many = np.random.default_rng(0).random(200_000)
    assert select_by(many, 77_777, [], [many], u).selected.sum() == 77_777


def test_everybodys_chance_is_their_own():
    """Over all u, not a sample of them."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        p = chances(rng, int(rng.integers(1, 15)))
        k = int(rng.integers(0, (p > 0).sum() + 1))
        scaled, _ = proportional(p, k)
        np.testing.assert_allclose(inclusion(scaled, k), scaled, atol=1e-7)


@pytest.mark.simulation
def test_inclusion_over_drawn_numbers(model):
    """Within four standard errors, through the front door."""
    batch, draws = slice(0, 60), 2000
    rng = np.random.default_rng(3)
    counted = np.zeros(60)
    for _ in range(draws):
        found = model.select(X[batch], 20, sensitive_features=A[batch], u=rng.random())
        counted += found.selected
    p = found.probabilities
    error = 4 * np.sqrt(p * (1 - p) / draws)
    assert (np.abs(counted / draws - p) <= error + 1e-12).all()


def test_groups_get_their_expected_number(model):
    rng = np.random.default_rng(4)
    for _ in range(50):
        rows = rng.choice(len(Y), 150, replace=False)
        found = model.select(X[rows], 40, sensitive_features=A[rows], u=rng.random())
        for group in (0, 1):
            members = A[rows] == group
            count = found.groups[group]
            assert count.people == members.sum()
            assert count.selected == found.selected[members].sum()
            assert count.expected == pytest.approx(found.probabilities[members].sum())
            assert abs(count.selected - count.expected) < 1


def test_groups_of_two_columns(model):
    """Combinations are in balance, and so are the groups of the first column."""
    rng = np.random.default_rng(5)
    B = rng.choice(["x", "y", "z"], len(Y))
    features = pd.DataFrame({"a": A, "b": B})
    for _ in range(20):
        found = model.select(X, 200, sensitive_features=features, random_state=rng)
        p = found.probabilities
        for a in (0, 1):
            alone = a == A
            assert abs(found.selected[alone].sum() - p[alone].sum()) < 1 + 1e-9
            for b in "xyz":
                both = alone & (b == B)
                assert found.groups[a, b].selected == found.selected[both].sum()
                assert abs(found.selected[both].sum() - p[both].sum()) < 1 + 1e-9


# What decides who


def test_the_same_people_are_selected_again(model):
    key = np.arange(len(Y))
    first = model.select(X, 100, sensitive_features=A, key=key)
    turned = np.random.default_rng(0).permutation(len(Y))
    again = model.select(X[turned], 100, sensitive_features=A[turned], key=key[turned])
    assert again.u == first.u
    np.testing.assert_array_equal(again.selected, first.selected[turned])
    logged = model.select(X, 100, sensitive_features=A, key=key, u=first.u)
    np.testing.assert_array_equal(logged.selected, first.selected)
    fresh = model.select(X, 100, sensitive_features=A, key=key, random_state=1)
    assert fresh.u != first.u
    assert fresh.u == model.select(X, 9, random_state=1).u
    # Whoever is alone in a batch is selected, whatever the model thinks of others.
    assert model.select(X[first.selected][:1], 1).selected.all()


def test_frames(model):
    names = ["a", "b", "c"]
    expected = model.select(X, 50, sensitive_features=A)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        fair = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
        fair.fit(frame, Y, sensitive_features=A)
        group = type(frame)({"sex": A})
        found = fair.select(frame, 50, sensitive_features=group)
        assert found.u == expected.u
        np.testing.assert_array_equal(found.selected, expected.selected)


def test_models_of_one_member():
    grid = GridSearch(LogisticRegression(), DemographicParity(eps=0.2), grid_size=5)
    grid.fit(X, Y, sensitive_features=A)
    able = int(grid.predict(X).sum())
    found = grid.select(X, able, sensitive_features=A)
    np.testing.assert_array_equal(found.selected, grid.predict(X) == 1)
    assert grid.select(X, able - 7, sensitive_features=A).selected.sum() == able - 7
    with pytest.raises(ValueError, match=f"never selects {len(Y) - able:,} of the 600"):
        grid.select(X, able + 1, sensitive_features=A)


def test_a_classifier_of_a_frontier_selects():
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.02, 0.1])
    fair = frontier.fit(X, Y, sensitive_features=A).at(0.05)
    assert fair.select(X, 33, sensitive_features=A).selected.sum() == 33


def test_the_order_of_the_chance(model):
    """Sums of the chance over the selected hardly move, and everybody's probability is the same."""
    rng = np.random.default_rng(6)
    chance, batch = model.label_proba(X)[:, 1], slice(0, 200)
    sums = {"hash": [], "chance": []}
    for _ in range(200):
        u = rng.random()
        for order, found in sums.items():
            # Half of those whom the model selects, so that all of them are drawn.
            chosen = model.select(X[batch], 40, sensitive_features=A[batch], order=order, u=u)
            assert chosen.selected.sum() == 40
            found.append(chance[batch][chosen.selected].sum())
    assert np.std(sums["chance"]) < 0.5 * np.std(sums["hash"])
    np.testing.assert_allclose(
        np.mean(sums["chance"]), chance[batch] @ chosen.probabilities, rtol=0.01
    )


# By rank


@pytest.mark.parametrize("k", [0, 1, 17, 150, 599, 600])
def test_by_rank_nobody_is_drawn(model, k):
    """Of each group the first ones: most often selected, then the higher chance of the label."""
    usual, chance = model.predict_proba(X)[:, 1], model.label_proba(X)[:, 1]
    found = model.select(X, k, sensitive_features=A, by="rank")
    assert (found.selected.sum(), found.u) == (k, None)
    np.testing.assert_array_equal(found.probabilities, found.selected)
    for group, count in found.groups.items():
        among = np.flatnonzero(group == A)
        assert count.selected == found.selected[among].sum()
        first = sorted(among, key=lambda i: (-usual[i], -chance[i]))[: count.selected]
        assert set(first) == set(among[found.selected[among]])
        share = k * usual[among].sum() / usual.sum()
        if share <= len(among):
            assert abs(count.selected - share) < 1 or count.selected > share  # others are full
    assert "by rank, nobody by lot" in str(found)


def test_by_rank_without_groups_the_first_of_all():
    grid = GridSearch(LogisticRegression(), DemographicParity(eps=0.2), grid_size=5)
    grid.fit(X, Y, sensitive_features=A)
    able, score = int(grid.predict(X).sum()), grid.decision_function(X)
    for k in (able - 7, able, able + 50):  # a rule without a lottery, and more than it selects
        found = grid.select(X, k, by="rank")
        assert set(np.flatnonzero(found.selected)) == set(np.argsort(-score)[:k])
    assert found.factor == pytest.approx((able + 50) / able)


def test_by_rank_of_a_model_that_selects_nobody():
    found = select_by_rank(np.zeros(6), 3, [np.repeat([0, 1], [4, 2])], [np.arange(6.0)])
    assert found.selected.tolist() == [False, False, True, True, False, True]
    assert found.factor == np.inf


def test_rows_on_other_machines(model):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    rows, groups = da.from_array(X, chunks=(200, X.shape[1])), pd.Series(A)
    for how in ({}, {"by": "rank"}, {"order": "chance"}):
        expected = model.select(X, 50, sensitive_features=A, **how)
        for given in (A, dd.from_pandas(groups, npartitions=2)):
            found = model.select(rows, 50, sensitive_features=given, **how)
            assert found.u == expected.u
            np.testing.assert_array_equal(found.selected, expected.selected)
    keys = dd.from_pandas(pd.Series(np.arange(600)), npartitions=2)
    expected = model.select(X, 50, key=np.arange(600))
    np.testing.assert_array_equal(model.select(rows, 50, key=keys).selected, expected.selected)


# Words


def test_what_is_printed(model):
    expected = model.predict_proba(X)[:, 1].sum()
    few = model.select(X, 30, sensitive_features=A)
    assert few.factor == pytest.approx(30 / expected)
    lines = str(few).splitlines()
    assert lines[0] == (
        f"30 of 600 people are selected, with {few.factor:.4g} times the model's probabilities; "
        f"u={few.u!r}."
    )
    assert lines[1].startswith(f"0: {few.groups[0].selected} of {(A == 0).sum()}, ")
    assert "left to chance" in str(model.select(X, 30))
    more = model.select(X, round(expected) + 20)
    assert more.factor > 1
    assert "times the model's probabilities, at most 1; u=" in str(more)
    assert "left" not in str(few)


@pytest.mark.parametrize(
    ("k", "how", "message"),
    [
        (601, {}, "k is 601 but there are 600 people"),
        (-1, {}, "k is -1; expected a whole number >= 0"),
        (2.0, {}, r"k is 2\.0; expected a whole number"),
        (True, {}, "k is True"),
        (2, {"u": 1.0}, r"u is 1\.0; expected a number from 0 to below 1"),
        (2, {"u": "0.5"}, "u is '0.5'"),
        (2, {"u": 0.5, "random_state": 0}, "both u and random_state"),
        (2, {"sensitive_features": A[:5]}, "sensitive_features has 5"),
        (2, {"order": "score"}, "order is 'score'; expected 'hash' or 'chance'"),
        (2, {"key": [1, 2]}, "key has 2 entries"),
        (2, {"by": "score"}, "by is 'score'; expected 'lot' or 'rank'"),
        (2, {"by": "rank", "u": 0.5}, "by='rank' draws nothing"),
        (601, {"by": "rank"}, "k is 601 but there are 600 people"),
        (
            2,
            {"sensitive_features": Probabilities(np.full((600, 2), 0.5), ["F", "M"])},
            "expected the groups themselves",
        ),
    ],
)
def test_what_cannot_work_is_refused(model, k, how, message):
    with pytest.raises(ValueError, match=message):
        model.select(X, k, **how)


def test_nobody(model):
    nobody = model.select(X, 0, sensitive_features=A)
    assert not nobody.selected.any()
    assert not nobody.probabilities.any()


# Equal rows


def test_who_of_equal_rows_is_selected_depends_on_the_order_and_is_warned_of(model):
    twins = np.repeat(X[:40], 5, axis=0)
    keys, order = np.arange(len(twins)), np.random.default_rng(3).permutation(len(twins))
    for by in ("rank", "lot"):
        with pytest.warns(TiedRowsWarning, match=r"depends on the order.* Pass key="):
            model.select(twins, 23, by=by, u=0.3 if by == "lot" else None)
        chosen = model.select(twins, 23, by=by, key=keys, u=0.3 if by == "lot" else None)
        again = model.select(twins[order], 23, by=by, key=keys[order], u=chosen.u)
        assert set(keys[chosen.selected]) == set(keys[order][again.selected])
    with pytest.warns(TiedRowsWarning, match="Their key is the same"):
        model.select(twins, 23, by="rank", key=keys // 5)


def test_equal_rows_that_are_not_parted_are_nothing_to_warn_of(model):
    twins = np.repeat(X[:40], 5, axis=0)
    assert model.select(twins, 0).selected.sum() == 0
    assert model.select(twins, len(twins), by="rank").selected.all()
    assert model.select(X[:60], 23, by="rank").selected.sum() == 23
