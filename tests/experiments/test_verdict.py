"""From decisions to the verdict: made tables, among them some where the reduction loses."""

from itertools import combinations

import numpy as np
import pytest

from equipoise.experiments.comparisons import Contender, compare, compare_panel, envelope_error
from equipoise.experiments.methods import METHODS
from equipoise.experiments.panels import Panel, Part
from equipoise.experiments.resampling import Samples, resample
from equipoise.experiments.tasks import Result
from equipoise.experiments.verdict import judge, write_markdown
from equipoise.plotting import convex_envelope, pareto


def row(difference=0.0, error=0.001, excess=0.0, excess_error=0.002, **more):
    return {
        "problem": "adult",
        "learner": "logistic",
        "notion": "DP",
        "seed": 0,
        "reduction": "column generation",
        "baseline": "post-processing",
        "setting": 0.0,
        "published": 1,
        "difference": difference,
        "standard_error": error,
        "excess": excess,
        "excess_standard_error": excess_error,
        "train_difference": -0.001,
    } | more


def judged(*rows):
    return {verdict.baseline: verdict for verdict in judge(rows)}


@pytest.mark.parametrize(
    ("made", "judgement"),
    [
        (row(-0.01), "dominates"),
        (row(+0.01), "loses"),
        (row(-0.0019), "matches"),
        (row(+0.0019), "matches"),
        (row(+0.0021), "loses"),
        (row(0.0, excess=0.003), "matches"),  # less fair, but within uncertainty
        (row(-0.01, excess=0.003), "dominates"),
        (row(-0.01, excess=0.01), "loses"),  # no error makes up for a bound that is not reached
        (row(+0.01, excess=0.003), "loses"),
    ],
)
def test_judgement_of_one_setting(made, judgement):
    assert judged(made)["post-processing"].judgement == judgement


def test_it_takes_one_bad_setting_to_lose():
    rows = [row(-0.02, setting=eps, published=0) for eps in (0.01, 0.02)]
    family = judged(*rows)["post-processing"]
    assert (family.judgement, family.settings) == ("dominates", 2)
    lost = judged(*rows, row(+0.02, setting=0.03, published=0))["post-processing"]
    assert (lost.judgement, lost.difference) == ("loses", 0.02)


def test_many_settings_make_no_verdict_by_chance():
    alone = row(0.0025, published=0)
    assert judged(alone)["post-processing"].judgement == "loses"
    more = [row(0.0, setting=eps, published=0) for eps in np.linspace(0.01, 0.1, 19)]
    among = judged(alone, *more)["post-processing"]
    assert among.judgement == "matches"
    assert among.difference == 0.0025  # the largest is reported
    assert among.margin > 0.003


def test_more_splits_do_not_shrink_the_margin():
    one = judged(row(0.0019))["post-processing"]
    three = judged(*(row(0.0019, seed=seed) for seed in range(3)))["post-processing"]
    assert three.margin == pytest.approx(one.margin)
    assert three.settings == 1
    mean = judged(row(0.003), row(-0.003, seed=1))["post-processing"]
    assert (mean.judgement, mean.difference) == ("matches", 0.0)


def test_the_published_setting_is_judged_by_itself():
    found = judged(row(-0.01), row(+0.01, setting=0.05, published=0))
    assert found["post-processing"].judgement == "dominates"
    assert found["post-processing, any setting"].judgement == "loses"


def test_panels_are_kept_apart():
    verdicts = judge([row(-0.01), row(+0.01, problem="law"), row(0.0, notion="EO")])
    assert [v.judgement for v in verdicts] == ["dominates", "loses", "matches"]


def test_train_difference_is_the_worst_and_may_be_missing():
    rows = [row(setting=0.1, train_difference=-0.2), row(setting=0.2, train_difference=0.1)]
    assert judged(*rows)["post-processing"].train_difference == 0.1
    missing = judged(row(train_difference=None))["post-processing"]
    assert np.isnan(missing.train_difference)


def test_markdown_counts_and_numbers():
    rows = [row(-0.01), row(+0.01, problem="law"), row(0.0, problem="dutch", excess=0.003)]
    text = write_markdown(judge([*rows, row(-0.01, excess=0.5, problem="compas")]))
    assert "| column generation | post-processing | 1 / 1 / 2 | -0.0010 |" in text
    assert "| adult | post-processing | dominates -0.0100 ± 0.0020 |" in text
    assert "| law | post-processing | **loses** +0.0100 ± 0.0020 |" in text
    assert "| dutch | post-processing | matches +0.0000 ± 0.0020 (0.0030) |" in text
    assert "less fair by 0.5000" in text


def cheapest_mixture(points, violation):
    """The least error of any mixture of two points within a violation, by trying all pairs."""
    best = min((e for v, e in points if v <= violation), default=np.inf)
    for (v, e), (w, f) in combinations(points, 2):
        if min(v, w) <= violation <= max(v, w) and v != w:
            best = min(best, e + (f - e) * (violation - v) / (w - v))
    return best


def test_envelopes_against_all_pairs():
    rng = np.random.default_rng(0)
    for _ in range(30):
        points = rng.random((rng.integers(1, 9), 2)).round(2)
        for at in rng.uniform(points[:, 0].min(), 1, 5):
            assert envelope_error(points, at) == pytest.approx(cheapest_mixture(points, at))
        assert set(convex_envelope(*points.T)) <= set(pareto(*points.T))


def test_nobody_beats_a_point_on_the_pareto_frontier():
    points = np.random.default_rng(1).random((50, 2)).round(1)
    chosen = pareto(*points.T)
    for at, point in enumerate(points):
        beaten = ((points <= point).all(axis=1) & (points < point).any(axis=1)).any()
        assert (point.tolist() in points[chosen].tolist()) == (not beaten), at


def crowd(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return Part(np.empty((n, 0)), rng.integers(0, 2, n), rng.integers(0, 2, n))


def test_samples_vary_as_the_binomial_distribution_says():
    people = crowd()
    decided = np.where(np.random.default_rng(1).random(4000) < 0.2, 1 - people.y, people.y)
    samples = resample(decided[None].astype(float), people, True, n_draws=400)
    expected = np.sqrt(0.2 * 0.8 / 4000)
    assert samples.error.std() == pytest.approx(expected, rel=0.12)
    assert samples.error.mean() == pytest.approx((decided != people.y).mean(), abs=0.002)
    rates = [decided[(people.y == y) & (a == people.A)].mean() for y in (0, 1) for a in (0, 1)]
    assert samples.violation.mean() < 4 * np.ptp(rates)  # of the order of what is there


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
