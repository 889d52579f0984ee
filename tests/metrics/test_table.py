"""The table of groups against raw arrays and fairlearn."""

from __future__ import annotations

import numpy as np
import pytest
from raw_rates import mean, people
from sklearn.metrics import zero_one_loss

from equipoise import metrics


@pytest.mark.parametrize("randomized", [False, True])
def test_group_table_against_raw_arrays(randomized):
    y, h, A, w = people(1, randomized=randomized)
    sex = np.random.default_rng(101).choice(["F", "M"], len(y))
    groups = {"race": A, "sex": sex}
    table = metrics.group_table(y, h, sensitive_features=groups, sample_weight=w)
    assert table.features == ("", *["race"] * 3, *["sex"] * 2, *["race x sex"] * 6)
    error = np.where(y == 1, 1 - h, h)
    for feature, group in zip(table.features, table.groups, strict=True):
        if feature == "race x sex":
            where = (group[0] == A) & (group[1] == sex)
        else:
            where = group == groups[feature] if feature else np.ones(len(y), bool)
        row = table.row(group, feature)
        assert row["count"] == where.sum()
        assert row["base_rate"] == pytest.approx(mean(y, where, w))
        assert row["selection_rate"] == pytest.approx(mean(h, where, w))
        assert row["true_positive_rate"] == pytest.approx(mean(h, where & (y == 1), w))
        assert row["false_positive_rate"] == pytest.approx(mean(h, where & (y == 0), w))
        assert row["error_rate"] == pytest.approx(mean(error, where, w))


def test_group_table_agrees_with_fairlearn():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, h, A, _ = people(2)
    names = ["count", "selection_rate", "true_positive_rate", "false_positive_rate"]
    frame = fairlearn.MetricFrame(
        metrics={name: getattr(fairlearn, name) for name in names},
        y_true=y,
        y_pred=h,
        sensitive_features=A,
    )
    table = metrics.group_table(y, h, sensitive_features=A).to_pandas()
    np.testing.assert_allclose(table.loc["group", names], frame.by_group)
    np.testing.assert_allclose(table[names].iloc[0], frame.overall)


def test_group_table_compares_as_a_metric_frame_does():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, h, A, _ = people(3)
    B = np.random.default_rng(103).integers(0, 2, len(y))
    table = metrics.group_table(y, h, sensitive_features={"a": A, "b": B})
    for groups, feature in ((A, "a"), (B, "b"), (np.column_stack([A, B]), None)):
        frame = fairlearn.MetricFrame(
            metrics={"error_rate": zero_one_loss, "selection_rate": fairlearn.selection_rate},
            y_true=y,
            y_pred=h,
            sensitive_features=groups,
        )
        for name in ("error_rate", "selection_rate"):
            assert table.overall[name] == pytest.approx(frame.overall[name])
            for method in ("between_groups", "to_overall"):
                keywords = {"feature": feature, "method": method}
                expected = frame.difference(method=method)[name]
                assert table.difference(name, **keywords) == pytest.approx(expected)
                expected = frame.ratio(method=method)[name]
                assert table.ratio(name, **keywords) == pytest.approx(expected)
    with pytest.raises(ValueError, match="feature is 'c' and method 'between_groups'; expected"):
        table.ratio("error_rate", feature="c")


def test_group_table_layout():
    y, h, A, _ = people(0)
    B = A % 2
    keywords = {"sensitive_features": {"first": A, "second": B}}
    margins = metrics.group_table(y, h, groups="margins", **keywords)
    crossed = metrics.group_table(y, h, groups="intersections", **keywords)
    assert margins.groups == ("overall", 0, 1, 2, 0, 1)
    assert crossed.groups == ("overall", (0, 0), (1, 1), (2, 0))
    assert len(margins) == 6
    with pytest.raises(KeyError, match="2 rows are called 0"):
        margins.row(0)
    assert margins.row(2)["count"] == (A == 2).sum()
    lines = str(metrics.group_table(y, h, sensitive_features=A, interval="analytic")).splitlines()
    assert [line.split()[0] for line in lines] == ["group", "overall", "0", "1", "2"]
    assert len(lines[1].split("[")) == 6
    with pytest.raises(ValueError, match="groups is 'all'"):
        metrics.group_table(y, h, sensitive_features=A, groups="all")


def test_group_table_marks_what_cannot_be_measured():
    table = metrics.group_table(
        [0, 0, 1], [0, 1, 1], sensitive_features=list("aab"), interval="bootstrap"
    )
    row = table.row("a")
    assert [np.isnan(row[f"true_positive_rate{end}"]) for end in ("", "_low", "_high")] == [
        True
    ] * 3
    assert row["false_positive_rate"] == 0.5
