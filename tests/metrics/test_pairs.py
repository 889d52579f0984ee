"""Pairs of groups: values and people by hand, order by limits, intervals of the largest."""

import numpy as np
import pytest

from equipoise import metrics

rng = np.random.default_rng(0)
GROUP = np.repeat(["a", "b", "c", "few"], [800, 700, 300, 12])
TRUE = rng.integers(0, 2, len(GROUP))
SHARE = dict(zip("abc", (0.5, 0.4, 0.45), strict=True)) | {"few": 0.8}
SELECTED = (rng.random(len(GROUP)) < [SHARE[g] for g in GROUP]).astype(int)


def pairs_of(metric, **more):
    return metrics.compare_groups(metric, TRUE, SELECTED, sensitive_features=GROUP, **more)


@pytest.mark.parametrize("ratio", [False, True])
def test_every_pair_by_hand(ratio):
    name = "ratio" if ratio else "difference"
    found = pairs_of(getattr(metrics, f"demographic_parity_{name}"))
    rate = {g: SELECTED[g == GROUP].mean() for g in SHARE}
    assert len(found.pairs) == 6
    for pair in found.pairs:
        high, low = rate[pair.group], rate[pair.against]
        assert high >= low
        assert pair.value.estimate == pytest.approx(low / high if ratio else high - low)
        assert pair.value.low <= pair.value.estimate <= pair.value.high
        assert pair.people == (pair.group == GROUP).sum()
    sure = [-p.value.high if ratio else p.value.low for p in found.pairs]
    assert sure == sorted(sure, reverse=True)
    assert (found.headline.group, found.headline.against) == ("a", "b")
    assert (found.largest.group, found.largest.against) == ("few", "b")


def test_limits_are_those_of_the_largest():
    metric = metrics.equalized_odds_difference
    every = metrics.confidence_interval(metric, TRUE, SELECTED, sensitive_features=GROUP)
    found = pairs_of(metric)
    assert every.estimate == pytest.approx(found.largest.value.estimate)
    assert every.low == pytest.approx(max(found.headline.value.low, 0.0))
    assert every.high == pytest.approx(max(pair.value.high for pair in found.pairs))
    # The people of a rate are those with the label that it is about.
    label = int(found.headline.rate == "true_positive_rate")
    assert found.headline.people == ((found.headline.group == GROUP) & (label == TRUE)).sum()


def test_with_everybody_and_within_strata():
    found = pairs_of(metrics.demographic_parity_violation)
    assert {"overall"} <= {pair.group for pair in found.pairs} | {p.against for p in found.pairs}
    region = np.where(np.arange(len(GROUP)) % 2, "n", "s")
    found = pairs_of(metrics.demographic_parity_difference, control_features=region)
    frame = found.to_pandas()
    assert set(frame["stratum"]) == {"n", "s"}
    assert len(frame) == 12
    assert "few" in found._repr_html_()
    with pytest.raises(ValueError, match="expected a disparity"):
        pairs_of(metrics.selection_rate)


def test_summaries_name_their_groups():
    table = metrics.group_table(TRUE, SELECTED, sensitive_features=GROUP)
    gap, ratio = table.difference("selection_rate"), table.ratio("selection_rate")
    assert set(gap.groups) == set(ratio.groups) == {"few", "b"}
    assert set(gap.people) == {12, 700}
    assert str(gap).startswith(f"{float(gap):.4f} between ")
    assert f"{gap:.2f}" == f"{float(gap):.2f}"
    overall = table.difference("selection_rate", method="to_overall")
    assert overall.groups == ("few", "overall")
    assert overall.people == (12, len(GROUP))
    alone = metrics.group_table(TRUE, SELECTED, sensitive_features=np.full(len(TRUE), "x"))
    assert alone.difference("selection_rate") == 0.0


def three(seed=0, n=300):
    rng = np.random.default_rng(seed)
    y, A = rng.choice(list("xyz"), n), rng.integers(0, 2, n)
    return y, np.where(rng.random(n) < 0.4 + 0.2 * A, y, rng.choice(list("xyz"), n)), A


@pytest.mark.parametrize("kind", ["analytic", "bootstrap"])
def test_of_three_labels_every_decision_is_in_the_interval(kind):
    y, h, A = three()
    gaps = [abs(np.mean(h[A == 0] == v) - np.mean(h[A == 1] == v)) for v in "xyz"]
    given = [
        abs(np.mean(h[(A == 0) & (y == u)] == v) - np.mean(h[(A == 1) & (y == u)] == v))
        for u in "xyz"
        for v in "xyz"
    ]
    for metric, truth in (
        (metrics.demographic_parity_difference, gaps),
        (metrics.equalized_odds_difference, given),
    ):
        found = metrics.confidence_interval(metric, y, h, sensitive_features=A, kind=kind)
        assert found.estimate == pytest.approx(max(truth))
        assert 0 <= found.low < found.estimate < found.high < 1
        one = metrics.confidence_interval(
            metric, y, h, sensitive_features=A, kind=kind, pos_label="x"
        )
        assert found.high >= one.high - 0.02  # all of them hold at once


def test_of_three_labels_pairs_name_the_decision():
    y, h, A = three()
    pairs = metrics.compare_groups(metrics.equalized_odds_difference, y, h, sensitive_features=A)
    named = {pair.rate: pair for pair in pairs.pairs}
    assert len(named) == 9
    one = named["false_positive_rate[x] given label z"]
    inside = [(group == A) & (y == "z") for group in (one.group, one.against)]
    assert [one.people, one.against_people] == [some.sum() for some in inside]
    rates = [np.mean(h[some] == "x") for some in inside]
    assert one.value.estimate == pytest.approx(rates[0] - rates[1])
    assert "true_positive_rate[y]" in named
    alone = metrics.compare_groups(
        metrics.equalized_odds_difference, y, h, sensitive_features=A, pos_label="y"
    )
    assert {pair.rate for pair in alone.pairs} == {"true_positive_rate", "false_positive_rate"}


def test_errors_of_three_labels_need_no_favourable_one():
    y, h, _ = three()
    found = metrics.confidence_interval(metrics.error_rate, y, h)
    assert found.estimate == pytest.approx(np.mean(y != h))
    right = np.mean(y == h)
    assert found.high - found.low == pytest.approx(
        2 * 1.96 * np.sqrt(right * (1 - right) / 300), rel=0.05
    )
    with pytest.raises(ValueError, match="Say with pos_label"):
        metrics.confidence_interval(metrics.selection_rate, y, h)


def test_limits_of_all_decisions_hold_as_often_as_they_say():
    truths = [
        abs(0.4 * (p == v) + 0.6 / 3 - (0.6 * (p == v) + 0.4 / 3)) for p in "xyz" for v in "xyz"
    ]
    inside = []
    for seed in range(60):
        y, h, A = three(seed)
        found = metrics.confidence_interval(
            metrics.equalized_odds_difference, y, h, sensitive_features=A
        )
        inside.append(found.low <= max(truths) <= found.high)
    assert np.mean(inside) >= 0.9


def test_of_many_groups_a_few_pairs_are_printed():
    rng = np.random.default_rng(0)
    y, h, A = rng.integers(0, 2, 400), rng.integers(0, 2, 400), rng.integers(0, 12, 400)
    pairs = metrics.compare_groups(
        metrics.demographic_parity_difference, y, h, sensitive_features=A
    )
    first, *lines, last = repr(pairs).splitlines()
    assert first == "<Pairs: 66 of groups>"
    assert lines == [str(pair) for pair in pairs.pairs[:10]]
    assert last == "... 56 more: to_pandas() has all of them."
