"""Metrics against their definitions on raw arrays, scikit-learn, fairlearn, and simulation."""

from __future__ import annotations

import doctest
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, recall_score, zero_one_loss
from sklearn.model_selection import GridSearchCV, cross_validate

from equipoise import DemographicParity, FairClassifier, metrics
from equipoise.constraints.rates import ERROR, SELECTION, TPR
from equipoise.exceptions import EmptyCellWarning
from equipoise.metrics.audit import Audit
from equipoise.metrics.uncertainty import rate_covariance

SEEDS = range(8)


def people(seed: int, n: int = 300, groups: int = 3, randomized: bool = False):
    """Labels, predictions, groups and weights, with everybody in every cell."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, groups, n)
    y = (rng.random(n) < 0.3 + 0.1 * A).astype(int)
    chance = np.clip(0.2 + 0.4 * y + 0.1 * A, 0, 1)
    h = rng.choice([0.0, 0.25, 1.0], n) if randomized else (rng.random(n) < chance).astype(int)
    return y, h, A, rng.integers(1, 4, n).astype(float)


def mean(values, where, weight):
    return np.sum(values[where] * weight[where]) / np.sum(weight[where])


def violation(y, h, A, weight, labels):
    """max over groups and labels of |E[h | A=a, Y=y] - E[h | Y=y]|, as printed in section 4."""
    worst = 0.0
    for label in labels:
        event = np.ones(len(y), bool) if label is None else y == label
        for a in np.unique(A):
            worst = max(worst, abs(mean(h, event & (a == A), weight) - mean(h, event, weight)))
    return worst


def test_the_page_of_the_documentation():
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


# Rates


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_agree_with_scikit_learn(seed):
    y, h, _, w = people(seed)
    for weight in (None, w):
        keywords = {"sample_weight": weight}
        assert metrics.error_rate(y, h, **keywords) == pytest.approx(
            zero_one_loss(y, h, **keywords)
        )
        assert metrics.accuracy_score(y, h, **keywords) == pytest.approx(
            accuracy_score(y, h, **keywords)
        )
        recall, specificity = (recall_score(y, h, pos_label=label, **keywords) for label in (1, 0))
        assert metrics.true_positive_rate(y, h, **keywords) == pytest.approx(recall)
        assert metrics.false_negative_rate(y, h, **keywords) == pytest.approx(1 - recall)
        assert metrics.true_negative_rate(y, h, **keywords) == pytest.approx(specificity)
        assert metrics.false_positive_rate(y, h, **keywords) == pytest.approx(1 - specificity)


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_of_probabilities_are_expectations(seed):
    y, h, _, w = people(seed, randomized=True)
    everybody = np.ones(len(y), bool)
    assert metrics.selection_rate(y, h, sample_weight=w) == pytest.approx(mean(h, everybody, w))
    assert metrics.true_positive_rate(y, h, sample_weight=w) == pytest.approx(mean(h, y == 1, w))
    error = np.where(y == 1, 1 - h, h)
    assert metrics.error_rate(y, h, sample_weight=w) == pytest.approx(mean(error, everybody, w))


def test_a_rate_that_nobody_can_have_is_nan():
    assert np.isnan(metrics.true_positive_rate([0, 0], [0, 1]))
    assert metrics.false_positive_rate([0, 0], [0, 1]) == 0.5


@pytest.mark.parametrize(
    ("y_true", "y_pred", "pos_label"),
    [
        ([0, 1, 1, 0], [1, 1, 0, 0], None),
        ([False, True, True, False], [True, True, False, False], None),
        ([-1, 1, 1, -1], [1, 1, -1, -1], None),
        (["no", "yes", "yes", "no"], ["yes", "yes", "no", "no"], None),
        (["bad", "good", "good", "bad"], [1.0, 1.0, 0.0, 0.0], "good"),
        ([1, 2, 2, 1], [2, 2, 1, 1], None),
        ([2, 1, 1, 2], [1, 1, 2, 2], 1),
        ([1, 0, 0, 1], [0, 0, 1, 1], 0),
        ([0, 1, 1, 0], [1.0, 1.0, 0.0, 0.0], 1),
    ],
)
def test_kinds_of_labels(y_true, y_pred, pos_label):
    keywords = {"pos_label": pos_label}
    assert metrics.true_positive_rate(y_true, y_pred, **keywords) == 0.5
    assert metrics.false_positive_rate(y_true, y_pred, **keywords) == 0.5
    assert metrics.selection_rate(y_true, y_pred[:3] + y_pred[:1], **keywords) == 0.75


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([0, 1], [0, 1, 1], "y_true has 2 entries but y_pred has 3"),
        ([0, 1], [[0.5, 0.5], [0.1, 0.9]], r"two columns; of predict_pmf\(X\) pass the second"),
        ([0, 1], [0.5, np.nan], "y_pred contains NaN"),
        ([0, 1], [0.5, 1.5], "values such as .*1.5.*; expected labels like those of y_true"),
        (["a", "b"], ["a", "c"], "expected labels like those of y_true"),
        ([1, 2, 3], [1, 2, 3], "y_true has the values .*pos_label"),
        ([], [], "y_true is empty"),
    ],
)
def test_bad_predictions(y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        metrics.error_rate(y_true, y_pred)


# Disparities


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
    with pytest.warns(EmptyCellWarning, match="'c' with label 1"):
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


def test_rates_work_inside_fairlearns_metric_frame():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, h, A, w = people(0)
    names = ["selection_rate", "true_positive_rate", "false_positive_rate", "true_negative_rate"]
    frames = [
        fairlearn.MetricFrame(
            metrics={name: getattr(module, name) for name in names},
            y_true=y,
            y_pred=h,
            sensitive_features=A,
            sample_params={name: {"sample_weight": w} for name in names},
        )
        for module in (metrics, fairlearn)
    ]
    np.testing.assert_allclose(frames[0].by_group, frames[1].by_group, atol=1e-12)
    np.testing.assert_allclose(frames[0].overall, frames[1].overall, atol=1e-12)


# The group table


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


# Intervals


@pytest.mark.parametrize(("k", "n"), [(0, 20), (3, 20), (20, 20), (150, 1000)])
def test_wilson(k, n):
    h = np.repeat([1, 0], [k, n - k])
    y = np.arange(n) % 2
    interval = metrics.confidence_interval(metrics.selection_rate, y, h)
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert interval.estimate == pytest.approx(k / n)


@pytest.mark.parametrize("rate", [SELECTION, TPR, ERROR])
def test_covariance_row_by_row(rate):
    y, h, A, w = people(3, randomized=True)
    audit = Audit.read(y, h, A, sample_weight=w)
    masks = np.array([*audit.groups().values(), np.ones(audit.cells.n_cells, bool)])
    u = np.array(rate.utility)[y, 0] * (1 - h) + np.array(rate.utility)[y, 1] * h
    event = np.ones(len(y), bool) if rate.given is None else y == rate.given
    influence = []
    for member in [*(a == A for a in range(3)), np.ones(len(y), bool)]:
        where = member & event
        influence.append(where * w * (u - mean(u, where, w)) / w[where].sum())
    np.testing.assert_allclose(
        rate_covariance(audit, rate, masks), np.array(influence) @ np.array(influence).T, atol=1e-15
    )


@pytest.mark.parametrize("kind", ["labels", "probabilities", "weights"])
def test_draws_are_those_of_the_bootstrap(kind):
    """Mean and covariance of resampled cell sums, against the multinomial's, row by row."""
    rng = np.random.default_rng(0)
    y, h, A, w = people(4, n=200, groups=2)
    if kind != "labels":
        h = rng.random(len(y))  # all rows differ: rows are drawn instead of counts
    audit = Audit.read(y, h, A, sample_weight=w if kind == "weights" else None)
    weight = w if kind == "weights" else np.ones(len(y))
    mass, selected = audit.draws(6000, rng)
    cell = 2 * A + y
    rows = np.column_stack(
        [(cell == c) * weight * value for value in (np.ones(len(y)), h) for c in range(4)]
    )
    drawn = np.hstack([mass, selected])
    exact = len(y) * np.cov(rows.T, bias=True)
    error = np.sqrt(np.diag(exact) / len(drawn))
    np.testing.assert_allclose(drawn.mean(axis=0), rows.sum(axis=0), atol=4.5 * error.max())
    np.testing.assert_allclose(np.cov(drawn.T), exact, atol=0.08 * np.diag(exact).max())


def simulate(rng, n, groups, rates, randomized, weighted):
    """Draw people whose expected decision depends on group and label through ``rates``."""
    A = rng.integers(0, groups, n)
    y = rng.integers(0, 2, n)
    p = np.asarray(rates)[A, y]
    h = p + 0.2 * rng.uniform(-1, 1, n) if randomized else (rng.random(n) < p).astype(float)
    w = rng.integers(1, 4, n) if weighted else None
    return {"y_true": y, "y_pred": h, "sensitive_features": A, "sample_weight": w}


EQUAL = [[0.3, 0.6]] * 3
APART = [[0.2, 0.5], [0.3, 0.6], [0.4, 0.8]]
CASES = [
    # metric, rates by group and label, the true value, randomized, weighted
    (metrics.demographic_parity_violation, EQUAL, 0.0, False, False),
    (metrics.demographic_parity_violation, APART, 0.6 - 1.4 / 3, False, False),
    (metrics.demographic_parity_violation, EQUAL, 0.0, False, True),
    (metrics.equalized_odds_violation, EQUAL, 0.0, False, False),
    (metrics.equalized_odds_violation, APART, 0.8 - 1.9 / 3, False, False),
    (metrics.demographic_parity_difference, APART, 0.25, False, False),
    (metrics.demographic_parity_difference, EQUAL, 0.0, True, False),
    (metrics.equalized_odds_difference, APART, 0.3, False, True),
    (metrics.demographic_parity_ratio, APART, 0.35 / 0.6, False, False),
    (metrics.demographic_parity_ratio, EQUAL, 1.0, False, False),
]


@pytest.mark.parametrize("kind", ["analytic", "bootstrap"])
@pytest.mark.parametrize(("metric", "rates", "truth", "randomized", "weighted"), CASES)
def test_coverage_of_disparities(metric, rates, truth, randomized, weighted, kind):
    rng = np.random.default_rng(7)
    n_trials, caught, width = 200, 0, []
    for _ in range(n_trials):
        data = simulate(rng, 600, 3, rates, randomized, weighted)
        interval = metrics.confidence_interval(metric, **data, kind=kind, n_draws=200)
        assert interval.low <= interval.estimate <= interval.high
        caught += interval.low <= truth <= interval.high
        width.append(interval.high - interval.low)
    # 95 % less three standard errors of 200 trials; and not by saying "anything is possible".
    assert caught / n_trials >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_trials)
    assert np.mean(width) < 0.45


@pytest.mark.parametrize("kind", ["analytic", "bootstrap"])
@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_of_rates(kind, randomized, weighted):
    """Pointwise intervals of a table: right for 95 % of the samples, not fewer and not all."""
    rng = np.random.default_rng(11)
    caught = []
    for _ in range(250):
        data = simulate(rng, 500, 2, APART[:2], randomized, weighted)
        table = metrics.group_table(**data, interval=kind, n_draws=200)
        for group, rates in enumerate(APART[:2]):
            row = table.row(group)
            for name, truth in (
                ("false_positive_rate", rates[0]),
                ("true_positive_rate", rates[1]),
                ("selection_rate", np.mean(rates)),
                ("error_rate", (rates[0] + 1 - rates[1]) / 2),
            ):
                caught.append(row[f"{name}_low"] <= truth <= row[f"{name}_high"])
    assert 0.92 <= np.mean(caught) <= 0.975


def test_bootstrap_and_analytic_intervals_agree_on_large_samples():
    rng = np.random.default_rng(5)
    data = simulate(rng, 20_000, 3, APART, False, False)
    for metric in (metrics.equalized_odds_violation, metrics.demographic_parity_ratio):
        analytic = metrics.confidence_interval(metric, **data)
        bootstrap = metrics.confidence_interval(metric, **data, kind="bootstrap")
        assert analytic.estimate == bootstrap.estimate
        assert analytic.low == pytest.approx(bootstrap.low, abs=0.003)
        assert analytic.high == pytest.approx(bootstrap.high, abs=0.003)


def test_a_unanimous_group_is_not_taken_for_certain():
    y, A = np.tile([0, 1], 100), np.repeat([0, 1], [190, 10])
    h = np.where(A == 1, 0, np.arange(200) % 4 == 0)
    interval = metrics.confidence_interval(
        metrics.demographic_parity_difference, y, h, sensitive_features=A
    )
    assert interval.estimate == pytest.approx(np.mean(np.arange(190) % 4 == 0))
    assert interval.high > interval.estimate + 0.1
    ratio = metrics.confidence_interval(
        metrics.demographic_parity_ratio, y, h, sensitive_features=A
    )
    assert ratio.estimate == ratio.low == 0
    assert 0.1 < ratio.high <= 1


def test_the_same_seed_gives_the_same_interval():
    y, h, A, _ = people(0)
    calls = [
        metrics.confidence_interval(
            metrics.equalized_odds_violation,
            y,
            h,
            sensitive_features=A,
            kind="bootstrap",
            random_state=seed,
        )
        for seed in (1, 1, 2)
    ]
    assert calls[0] == calls[1] != calls[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": accuracy_score}, "expected one of the functions of equipoise.metrics"),
        ({"kind": "exact"}, "interval is 'exact'"),
        ({"level": 95}, "level is 95"),
        ({"kind": "bootstrap", "n_draws": 0}, "n_draws is 0"),
        ({"metric": metrics.error_rate}, "error_rate is a rate of everybody"),
    ],
)
def test_bad_intervals(change, message):
    y, h, A, _ = people(0)
    keywords = {"metric": metrics.demographic_parity_ratio, "sensitive_features": A} | change
    with pytest.raises(ValueError, match=message):
        metrics.confidence_interval(y_true=y, y_pred=h, **keywords)


# Scorers


@pytest.fixture(scope="module")
def applicants():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 600)
    X = np.column_stack([A + rng.normal(size=600), rng.normal(size=600)])
    y = (X.sum(axis=1) + rng.normal(size=600) > 0.5).astype(int)
    return X, y, A


def test_scorer_scores_probabilities(applicants):
    X, y, A = applicants
    clf = FairClassifier(LogisticRegression(), DemographicParity(0.01))
    clf.fit(X, y, sensitive_features=A)
    scorer = metrics.make_scorer(metrics.demographic_parity_violation)
    expected = violation(y, clf.predict_pmf(X)[:, 1], A, np.ones(len(y)), [None])
    assert scorer(clf, X, y, sensitive_features=A) == pytest.approx(-expected)
    better = metrics.make_scorer(metrics.accuracy_score, greater_is_better=True)
    assert better(clf, X, y) == pytest.approx(clf.score(X, y))
    weight = np.arange(1, len(y) + 1)
    expected = clf.score(X, y, sample_weight=weight)
    assert better(clf, X, y, sample_weight=weight) == pytest.approx(expected)
    assert "demographic_parity_violation" in repr(scorer)
    with pytest.raises(ValueError, match="needs sensitive_features"):
        scorer(clf, X, y)


@pytest.mark.usefixtures("routing")
def test_grid_search_by_violation_and_error(applicants):
    X, y, A = applicants
    clf = FairClassifier(LogisticRegression(), DemographicParity())
    search = GridSearchCV(
        clf.set_fit_request(sensitive_features=True),
        {"constraint__eps": [0.01, 0.5]},
        scoring={
            "violation": metrics.make_scorer(metrics.demographic_parity_violation),
            "error": metrics.make_scorer(metrics.error_rate),
            "gap": metrics.make_scorer(metrics.demographic_parity_difference, method="to_overall"),
        },
        refit="violation",
        cv=3,
    ).fit(X, y, sensitive_features=A)
    assert search.best_params_ == {"constraint__eps": 0.01}
    results = search.cv_results_
    assert results["mean_test_violation"][0] > results["mean_test_violation"][1] + 0.05
    assert results["mean_test_error"][0] < results["mean_test_error"][1]
    np.testing.assert_allclose(results["mean_test_violation"], results["mean_test_gap"])


@pytest.mark.usefixtures("routing")
def test_cross_validate_passes_groups_and_weights(applicants):
    X, y, A = applicants
    seen = {}

    def metric(y_true, y_pred, *, sensitive_features, sample_weight=None):
        seen[len(y_true)] = (sensitive_features, sample_weight)
        return 0.25

    scorer = metrics.make_scorer(metric, greater_is_better=True)
    params = {"sensitive_features": A, "sample_weight": np.arange(len(y))}
    model = LogisticRegression().set_fit_request(sample_weight=False)
    scores = cross_validate(
        model,
        X,
        y,
        cv=[(np.arange(400), np.arange(400, 600)), (np.arange(200, 600), np.arange(150))],
        scoring=scorer.set_score_request(sample_weight=True),
        params=params,
        error_score="raise",
    )["test_score"]
    assert scores.tolist() == [0.25, 0.25]
    np.testing.assert_array_equal(seen[200][0], A[400:])
    np.testing.assert_array_equal(seen[150][1], np.arange(150))
