"""Disparities against the paper's definitions and fairlearn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from raw_rates import SEEDS, people, violation

from equipoise import metrics
from equipoise.exceptions import EmptyCellWarning


@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_violations_are_the_papers(seed, randomized):
    y, h, A, w = people(seed, randomized=randomized)
    keywords = {"sensitive_features": A, "sample_weight": w}
    found = metrics.demographic_parity_violation(y, h, **keywords)
    assert found == pytest.approx(violation(y, h, A, w, [None]), abs=1e-12)
    found = metrics.equalized_odds_violation(y, h, **keywords)
    assert found == pytest.approx(violation(y, h, A, w, [0, 1]), abs=1e-12)


def test_violation_of_an_intersection_can_exceed_that_of_its_margins():
    A, B = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], 10, axis=1)
    h = (A == B).astype(int)
    y = np.tile([0, 1], 20)
    for margin in (A, B):
        assert metrics.demographic_parity_violation(y, h, sensitive_features=margin) == 0
    both = np.column_stack([A, B])
    assert metrics.demographic_parity_violation(y, h, sensitive_features=both) == 0.5


def test_control_features_compare_like_with_like():
    stratum = np.repeat([0, 1], 40)
    A = np.concatenate([np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [10, 30])])
    h = stratum.copy()  # within a stratum all are treated alike
    y = np.tile([0, 1], 40)
    assert metrics.demographic_parity_violation(y, h, sensitive_features=A) == 0.25
    keywords = {"sensitive_features": A, "control_features": stratum}
    assert metrics.demographic_parity_violation(y, h, **keywords) == 0
    h[0] = 1
    assert metrics.demographic_parity_violation(y, h, **keywords) == pytest.approx(1 / 40)


def test_groups_without_people_in_an_event_are_named_and_left_out():
    y, h, A = [0, 1, 0, 1, 0, 0], [0, 1, 1, 1, 0, 0], list("aabbcc")
    with pytest.warns(EmptyCellWarning, match="belongs to c with label 1"):
        found = metrics.equal_opportunity_difference(y, h, sensitive_features=A)
    assert found == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_order_names_and_repetition_do_not_matter(seed):
    y, h, A, w = people(seed, randomized=True)
    order = np.random.default_rng(seed).permutation(len(y))
    names = np.array(["z", "y", "x"])
    times = w.astype(int)
    for metric in (metrics.equalized_odds_violation, metrics.demographic_parity_ratio):
        value = metric(y, h, sensitive_features=A, sample_weight=w)
        shuffled = metric(
            y[order], h[order], sensitive_features=names[A[order]], sample_weight=w[order]
        )
        repeated = metric(
            *(np.repeat(v, times) for v in (y, h)), sensitive_features=np.repeat(A, times)
        )
        assert value == pytest.approx(shuffled, abs=1e-12)
        assert value == pytest.approx(repeated, abs=1e-12)


def test_missing_groups_are_an_error():
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        metrics.demographic_parity_violation([0, 1], [0, 1], sensitive_features=None)
    with pytest.raises(ValueError, match="method is 'pairs'"):
        metrics.demographic_parity_ratio([0, 1], [0, 1], sensitive_features=[0, 1], method="pairs")
    with pytest.raises(ValueError, match="agg is 'sum'"):
        metrics.equalized_odds_ratio([0, 1], [0, 1], sensitive_features=[0, 0], agg="sum")


NAMES = [
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["between_groups", "to_overall"])
def test_disparities_agree_with_fairlearn(name, method):
    theirs = getattr(pytest.importorskip("fairlearn.metrics"), name)
    ours = getattr(metrics, name)
    for seed in SEEDS[:3]:
        y, h, A, w = people(seed)
        A2 = np.column_stack([A, np.random.default_rng(seed + 100).integers(0, 2, len(A))])
        for groups, weight in itertools.product((A, A2), (None, w)):
            keywords = {"sensitive_features": groups, "method": method, "sample_weight": weight}
            assert ours(y, h, **keywords) == pytest.approx(theirs(y, h, **keywords), abs=1e-12)
            if name.startswith("equalized"):
                keywords["agg"] = "mean"
                assert ours(y, h, **keywords) == pytest.approx(theirs(y, h, **keywords), abs=1e-12)
