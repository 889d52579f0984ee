"""The verdict on made tables, among them some where the reduction loses."""

import numpy as np
import pytest

from equipoise.experiments.verdict import judge, write_markdown


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
