"""From decisions to comparisons, among them some where the reduction loses."""

from __future__ import annotations

import numpy as np
import pytest
from made import crowd

from equipoise.experiments.comparisons import Contender, Samples, compare, compare_panel, resample
from equipoise.experiments.methods import METHODS
from equipoise.experiments.panels import Panel
from equipoise.experiments.tasks import Result
from equipoise.experiments.verdict import judge


def result(decisions, people, settings):
    """A result as tasks store it, measured here from raw arrays; train and test are the same."""
    rows = []
    for setting, decided in zip(settings, decisions, strict=True):
        error = np.where(people.y == 1, 1 - decided, decided).mean()
        violation = max(abs(decided[a == people.A].mean() - decided.mean()) for a in (0, 1))
        measured = {"setting": setting, "error": error, "violation": violation}
        rows += [{"part": part, **measured} for part in ("train", "test")]
    return Result(rows, np.array(decisions, dtype=float), people.y, people.A)


def wrong(people, share, seed):
    """Decisions that are right except for a random share of the people."""
    flips = np.random.default_rng(seed).random(len(people)) < share
    return np.where(flips, 1 - people.y, people.y).astype(float)


@pytest.mark.parametrize(
    ("ours", "theirs", "judgement"),
    [(0.10, 0.20, "dominates"), (0.20, 0.10, "loses"), (0.15, 0.15, "matches")],
)
def test_from_decisions_to_judgement(ours, theirs, judgement):
    people = crowd()
    results = {
        "unconstrained": result([wrong(people, 0.3, 0)], people, [0.0]),
        "post-processing": result([wrong(people, theirs, 1)], people, [0.0]),
        "column generation": result([wrong(people, ours, s) for s in (2, 3)], people, [0.01, 0.1]),
    }
    rows = compare_panel(Panel("adult", "logistic", "DP"), 0, results, METHODS)
    (verdict,) = judge(rows)
    assert verdict.judgement == judgement
    assert verdict.difference == pytest.approx(ours - theirs, abs=0.02)
    assert verdict.baseline == "post-processing"


def test_equal_decisions_differ_by_nothing():
    people = crowd(500)
    decided = [wrong(people, 0.1, 0), wrong(people, 0.2, 1)]
    results = {
        "grid search": result(decided, people, [0.0, 1.0]),
        "exponentiated gradient": result(decided, people, [0.01, 0.1]),
    }
    rows = compare_panel(Panel("adult", "logistic", "DP"), 0, results, METHODS)
    assert rows
    assert all(abs(r["difference"]) < 1e-12 and r["excess"] == 0 for r in rows)
    assert all(r["standard_error"] < 0.01 for r in rows)


def test_a_violation_that_is_not_reached_is_an_excess():
    people = crowd()
    biased = np.where(people.A == 1, 1.0, people.y)
    fair = wrong(people, 0.3, 0)
    results = {
        "post-processing": result([fair], people, [0.0]),
        "column generation": result([biased.astype(float)], people, [0.01]),
    }
    rows = compare_panel(Panel("adult", "logistic", "DP"), 0, results, METHODS)
    (only,) = rows
    assert only["excess"] == pytest.approx(only["reduction_violation"] - only["baseline_violation"])
    assert only["excess"] > 0.2
    assert judge(rows)[0].judgement == "loses"
    assert judge(rows)[0].unreachable


def test_inefficient_settings_of_a_baseline_do_not_count_unless_published():
    samples = Samples(np.array([[0.1], [0.1]]), np.array([[0.1], [0.3]]))
    rows = [
        {"setting": s, "part": p, "error": e, "violation": 0.1}
        for s, e in ((0.0, 0.1), (1.0, 0.3))
        for p in ("train", "test")
    ]
    curve = Contender.of(rows, samples)
    assert [r["setting"] for r in compare(curve, curve)] == [0.0]
    assert [r["setting"] for r in compare(curve, curve, published=1.0)] == [0.0, 1.0]


def test_samples_vary_as_the_binomial_distribution_says():
    people = crowd()
    decided = np.where(np.random.default_rng(1).random(4000) < 0.2, 1 - people.y, people.y)
    samples = resample(decided[None].astype(float), people, True, n_draws=400)
    expected = np.sqrt(0.2 * 0.8 / 4000)
    assert samples.error.std() == pytest.approx(expected, rel=0.12)
    assert samples.error.mean() == pytest.approx((decided != people.y).mean(), abs=0.002)
    rates = [decided[(people.y == y) & (a == people.A)].mean() for y in (0, 1) for a in (0, 1)]
    assert samples.violation.mean() < 4 * np.ptp(rates)  # of the order of what is there
