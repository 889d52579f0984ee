"""The table of groups against raw arrays and fairlearn."""

from __future__ import annotations

import numpy as np
import pytest
from raw_rates import mean, people
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    mean_absolute_error,
    precision_score,
    roc_auc_score,
    zero_one_loss,
)

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


SKLEARN = {"f1": f1_score, "precision": precision_score, "balanced": balanced_accuracy_score}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("controlled", [False, True])
def test_any_metrics_as_a_metric_frame_has_them(weighted, controlled):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, h, A, w = people(4)
    control = np.random.default_rng(104).choice(["new", "old"], len(y)) if controlled else None
    asked = {**SKLEARN, "selection_rate": metrics.selection_rate}
    weight = w if weighted else None
    table = metrics.group_table(
        y,
        h,
        metrics=asked,
        sensitive_features=A,
        control_features=control,
        sample_weight=weight,
    )
    frame = fairlearn.MetricFrame(
        metrics=asked,
        y_true=y,
        y_pred=h,
        sensitive_features=A,
        control_features=control,
        sample_params={name: {"sample_weight": weight} for name in asked} if weighted else None,
    )
    assert list(table.columns) == ["count", *asked]
    rows = table.to_pandas()
    overall = rows.index.get_level_values("group") == "overall"
    np.testing.assert_allclose(rows[~overall][list(asked)], frame.by_group[list(asked)])
    np.testing.assert_allclose(
        rows[overall][list(asked)].to_numpy().ravel(), np.ravel(frame.overall[list(asked)])
    )
    for name in asked:
        summaries = {"min": frame.group_min(), "max": frame.group_max()}
        for summary, expected in summaries.items():
            _same(getattr(table, summary)(name), expected[name])
        for method in ("between_groups", "to_overall"):
            _same(table.difference(name, method=method), frame.difference(method=method)[name])
            _same(table.ratio(name, method=method), frame.ratio(method=method)[name])


def _same(found, expected):
    """A number, or with control features one for each of their values."""
    if isinstance(found, dict):
        assert found == pytest.approx(expected.to_dict())
    else:
        assert found == pytest.approx(expected)


def test_metrics_of_any_labels_and_predictions():
    rng = np.random.default_rng(5)
    y, A = rng.normal(size=300), rng.choice(["a", "b"], 300)
    h = y + rng.normal(size=300) * np.where(A == "a", 1, 2)
    table = metrics.group_table(y, h, metrics=mean_absolute_error, sensitive_features=A)
    expected = [np.abs(y - h)[group == A].mean() for group in ("a", "b")]
    assert table["mean_absolute_error"][1:] == pytest.approx(expected)
    kinds = rng.choice(["x", "y", "z"], size=(2, 300))
    table = metrics.group_table(*kinds, metrics={"right": accuracy_score}, sensitive_features=A)
    assert table.overall["right"] == pytest.approx((kinds[0] == kinds[1]).mean())


def test_the_bootstrap_of_any_metric_is_near_its_closed_form():
    y, h, A, w = people(6)

    def share_selected(y_true, y_pred, sample_weight=None):
        return np.average(y_pred, weights=sample_weight)

    asked = {"own": share_selected, "selection_rate": metrics.selection_rate}
    arguments = {"metrics": asked, "sensitive_features": A, "sample_weight": w}
    table = metrics.group_table(y, h, interval="bootstrap", n_draws=400, **arguments)
    again = metrics.group_table(y, h, interval="bootstrap", n_draws=400, **arguments)
    closed = metrics.group_table(
        y,
        h,
        metrics=metrics.selection_rate,
        interval="analytic",
        sensitive_features=A,
        sample_weight=w,
    )
    assert list(table.columns)[1:4] == ["own", "own_low", "own_high"]
    for end in ("_low", "_high"):
        assert (table[f"own{end}"] == again[f"own{end}"]).all()
        assert table[f"own{end}"] == pytest.approx(closed[f"selection_rate{end}"], abs=0.02)
    for summary in ("min", "max", "difference", "ratio"):
        for method in ("between_groups", "to_overall"):
            own, rate = (table.interval(summary, name, method=method) for name in asked)
            assert own.estimate == pytest.approx(rate.estimate)
            assert own.low <= own.estimate <= own.high
            assert own == pytest.approx(rate, abs=0.05)
    assert table.interval("difference", "own").estimate == table.difference("own")
    assert table.interval("ratio", "own", method="to_overall").estimate == pytest.approx(
        table.ratio("own", method="to_overall")
    )


def test_intervals_of_differences_contain_the_truth():
    rng = np.random.default_rng(7)
    held = 0
    for seed in range(60):
        A, y, h = rng.integers(0, 3, 240), *rng.integers(0, 2, size=(2, 240))
        table = metrics.group_table(
            y,
            h,
            metrics={"right": lambda y_true, y_pred: (y_true == y_pred).mean()},
            sensitive_features=A,
            interval="bootstrap",
            n_draws=200,
            random_state=seed,
        )
        held += table.interval("difference", "right").low == 0.0  # there is none
    # 95 % of 60 are 57; fewer than 50 have a probability below 1e-3.
    assert held >= 50


def test_what_a_function_cannot_measure_is_not_known():
    y, h, A = [0, 0, 1, 1, 0], [0.1, 0.2, 0.8, 0.7, 0.9], list("aabbb")

    def ranks(y_true, y_pred):
        if len(set(y_true)) < 2:
            raise ValueError("one label alone")
        return roc_auc_score(y_true, y_pred)

    with pytest.raises(ValueError, match="one label alone") as raised:
        metrics.group_table(y, h, metrics={"auc": ranks}, sensitive_features=A)
    assert "metric 'auc' for a group of 2 people" in raised.value.__notes__[0]
    table = metrics.group_table(
        y,
        h,
        metrics={"auc": ranks},
        sensitive_features=list("bbbbb"),
        interval="bootstrap",
        n_draws=50,
    )
    assert table.difference("auc") == 0.0
    assert table["auc_low"][0] <= table["auc"][0]
    empty = metrics.group_table(
        y,
        h,
        metrics=lambda y_true, y_pred: 1.0,
        sensitive_features=A,
        control_features=list("uuuvv"),
    )
    assert np.isnan(empty.row("a", stratum="v")["<lambda>"])
    assert empty.difference("<lambda>") == {"u": 0.0, "v": 0.0}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"metrics": "f1"}, "metrics is 'f1'; expected a function"),
        ({"metrics": {}}, "expected a function"),
        ({"metrics": {"count": f1_score}}, "a metric is called 'count'"),
        ({"metrics": {"f1": f1_score}, "interval": "analytic"}, "'f1' has no analytic interval"),
        ({"metrics": max, "sample_weight": [1, 2]}, "takes no sample_weight"),
        ({"metrics": lambda y_true, y_pred: "x"}, "expected a number"),
        ({"metrics": lambda y_true, y_pred: [1, 2]}, "expected a number"),
        ({"metrics": f1_score, "level": 2}, "level is 2"),
    ],
)
def test_what_cannot_be_a_metric(keywords, message):
    with pytest.raises((TypeError, ValueError), match=message):
        metrics.group_table([0, 1], [0, 1], sensitive_features=["a", "b"], **keywords)
    with pytest.raises(ValueError, match="y_pred has 3"):
        metrics.group_table([0, 1], [0, 1, 1], metrics=f1_score, sensitive_features=["a", "b"])
    table = metrics.group_table([0, 1], [0, 1], sensitive_features=["a", "b"])
    with pytest.raises(ValueError, match="no resamples of 'error_rate'"):
        table.interval("min", "error_rate")


def test_everybody_within_each_stratum():
    y, h, A = np.array([0, 1, 1, 0, 1]), np.array([0, 1, 0, 1, 1]), list("aabba")
    table = metrics.group_table(
        y, h, metrics=metrics.accuracy_score, sensitive_features=A, control_features=list("uuuvv")
    )
    assert {stratum: row["count"] for stratum, row in table.overall.items()} == {"u": 3, "v": 2}
    assert table.overall["u"]["accuracy_score"] == pytest.approx(2 / 3)
    # A group of that name is another row.
    named = metrics.group_table(y, h, sensitive_features=["overall", *"abba"])
    assert named.overall["count"] == 5
