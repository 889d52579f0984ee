"""Reports of violations: training, out-of-fold and test data, with intervals."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people, selection_gap
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    BoundedGroupError,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    FairClassifier,
    Frontier,
    MinimaxGroupError,
)
from equipoise.cells import Cells, CellTable
from equipoise.metrics import (
    Interval,
    confidence_interval,
    demographic_parity_violation,
    selection_rate,
)
from equipoise.metrics.audit import Tally
from equipoise.metrics.measurement import Measured, ViolationReport
from equipoise.metrics.violations import Meter, measure
from equipoise.oracles.specs import Plugin, Refit

TREE = DecisionTreeClassifier(max_depth=6, random_state=0)


@pytest.fixture(scope="module")
def halves():
    people = make_people(2000)
    return [
        type(people)(*(part[rows] for part in people)) for rows in (slice(1000), slice(1000, None))
    ]


def raw_error(selected, y):
    return np.where(y == 1, 1 - selected, selected).mean()


def odds_gap(selected, y, A):
    return max(
        abs(selected[(a == A) & (y == label)].mean() - selected[y == label].mean())
        for a in np.unique(A)
        for label in (0, 1)
    )


def only(constraint, y, A, h, weight=None, level=0.95):
    cells = Cells.from_columns(y, {"A": A}, weight=weight)
    return measure({"test": Tally.of_people(cells, h)}, constraint, None, level=level)[0]


def test_all_three_kinds_of_data_from_raw_arrays(halves):
    train, test = halves
    clf = FairClassifier(TREE, EqualizedOdds(eps=0.03), oracle=Refit(cv=3))
    clf.fit(train.X, train.y, sensitive_features=train.A)
    report = clf.report(test.X, test.y, sensitive_features=test.A)
    assert [measured.data for measured in report] == ["training", "out of fold", "test"]
    for data, part in (("training", train), ("test", test)):
        selected = clf.predict_proba(part.X)[:, 1]
        measured = report[data]
        assert measured.people == 1000
        assert measured.error.estimate == pytest.approx(raw_error(selected, part.y))
        gap = odds_gap(selected, part.y, part.A)
        assert measured.excess.estimate == pytest.approx(gap - 0.03)
        assert measured.violation.estimate == pytest.approx(max(gap - 0.03, 0))
        assert measured.excess.low < measured.excess.estimate < measured.excess.high
    assert report["out of fold"].error.estimate == pytest.approx(clf.certificate_.error)
    assert report["training"].error.estimate < report["out of fold"].error.estimate
    assert len(clf.report()) == 2
    with pytest.raises(
        KeyError, match="nothing was measured on 'validation'; there are 'training'"
    ):
        report["validation"]


def test_the_table_in_words(halves):
    train, test = halves
    clf = FairClassifier(TREE, DemographicParity(eps=0.03)).fit(
        train.X, train.y, sensitive_features=train.A
    )
    text = str(clf.report(test.X, test.y, sensitive_features=test.A))
    header, first, second, last, *_, seen = text.splitlines()
    assert header.split()[:3] == ["data", "people", "error"]
    assert first.startswith("training  1,000")
    assert "demographic parity: " in second
    assert second.startswith("test")
    assert "95% confidence intervals" in last
    assert seen == "test: none of them was learned from."


def bootstrap(statistic, n, draws=2000, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([statistic(rng.integers(0, n, n)) for _ in range(draws)])


@pytest.mark.parametrize("weighted", [False, True])
def test_widths_are_those_of_a_bootstrap(weighted):
    people = make_people(800)
    rng = np.random.default_rng(1)
    h = np.clip(0.5 + 0.2 * people.X[:, 0] + 0.1 * rng.normal(size=800), 0, 1)
    weight = rng.uniform(0.2, 2.0, 800) if weighted else np.ones(800)

    def error_of_women(rows):
        rows = rows[people.A[rows] == 0]
        wrong = np.where(people.y[rows] == 1, 1 - h[rows], h[rows])
        return np.average(wrong, weights=weight[rows])

    found = only(
        BoundedGroupError(bound={0: 0.1, 1: 1.0}),
        people.y,
        people.A,
        h,
        weight=weight,
        level=0.6827,
    )
    interval = next(interval for row, interval in found.rows if row.group == 0)
    assert interval.estimate == pytest.approx(error_of_women(np.arange(800)) - 0.1)
    spread = bootstrap(error_of_women, 800).std()
    # Both rows hold at once: each is wider than one alone would be, by the quantile of the larger
    # of two independent deviations.
    rng = np.random.default_rng(2)
    quantile = np.quantile(np.abs(rng.normal(size=(100_000, 2))).max(axis=1), 0.6827)
    assert interval.high - interval.estimate == pytest.approx(quantile * spread, rel=0.06)


@pytest.mark.simulation
def test_the_truth_is_inside_as_often_as_promised():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        A = rng.integers(0, 3, 400)
        y = rng.integers(0, 2, 400)
        h = (rng.random(400) < np.array([0.4, 0.5, 0.6])[A]).astype(float)
        found = only(DemographicParity(eps=0.05), y, A, h)
        inside += found.excess.low <= 0.1 - 0.05 <= found.excess.high
    assert inside >= 0.93 * 300  # binomial: 0.95 less 1.6 standard errors


def test_intervals_agree_with_those_of_the_metrics(halves):
    train, _ = halves
    h = LogisticRegression().fit(train.X, train.y).predict_proba(train.X)[:, 1]
    ours = only(DemographicParity(eps=0.0), train.y, train.A, h).excess
    theirs = confidence_interval(
        demographic_parity_violation, train.y, h, sensitive_features=train.A
    )
    assert ours == pytest.approx(theirs, rel=0.03)


def test_unanimous_decisions_are_not_certain():
    people = make_people(60)
    found = only(DemographicParity(eps=0.0), people.y, people.A, np.ones(60))
    assert found.excess.estimate == pytest.approx(0.0)
    assert found.excess.high > 0.01


@pytest.mark.parametrize("rate", [1.0, 0.999, 0.9])
def test_three_people_decided_on_alike_prove_little(rate):
    rng = np.random.default_rng(0)
    A, y = np.repeat(["many", "few"], [1000, 3]), np.r_[np.zeros(400), np.ones(603)].astype(int)
    h = np.r_[(rng.random(1000) < 0.6).astype(float), np.full(3, rate)]
    excess = only(EqualOpportunity(eps=0.05), y, A, h).excess
    assert excess.estimate == pytest.approx(rate - h[y == 1].mean() - 0.05, abs=1e-9)
    assert excess.low < 0 < excess.high  # three are too few to tell
    interval = confidence_interval(selection_rate, [0, 1, 1], h[1000:])
    assert interval.high - interval.low > 0.4


def test_frontier_reports_each_bound_like_its_classifier(halves):
    train, test = halves
    frontier = Frontier(TREE, DemographicParity(), bounds=[0.02, 0.06], oracle=Refit(cv=3))
    frontier.fit(train.X, train.y, sensitive_features=train.A)
    report = frontier.report(test.X, test.y, sensitive_features=test.A)
    assert [entry.bound for entry in report["out of fold"]] == [0.02, 0.06]
    for entry in report["test"]:
        clf = frontier.at(entry.bound)
        selected = clf.predict_proba(test.X)[:, 1]
        assert entry.disparity.estimate == pytest.approx(selection_gap(selected, test.A))
        assert entry.error.estimate == pytest.approx(raw_error(selected, test.y))
        one = clf.report(test.X, test.y, sensitive_features=test.A)
        assert entry.excess.estimate == pytest.approx(one["test"].excess.estimate)
        assert clf.violations_["out_of_fold"] < 1e-7
        seen = selection_gap(clf.predict_proba(train.X)[:, 1], train.A)
        assert one["training"].excess.estimate == pytest.approx(seen - entry.bound)
    assert "largest difference" in str(report)
    again = frontier.recertify(test.X, test.y, sensitive_features=test.A)
    assert [entry.data for entry in again.report()] == ["recertified"] * 2
    with pytest.raises(ValueError, match="only a frontier has one bound"):
        _ = one["test"].disparity


def test_plugin_frontiers_tell_training_and_out_of_fold_apart(halves):
    train, _ = halves
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    frontier = Frontier(trees, DemographicParity(), bounds=[0.05], oracle=Plugin(cv=3))
    frontier.fit(train.X, train.y, sensitive_features=train.A)
    seen, held_out = frontier.report()
    selected = frontier.at(0.05).predict_proba(train.X)[:, 1]
    assert seen.disparity.estimate == pytest.approx(selection_gap(selected, train.A))
    assert held_out.disparity.estimate <= 0.05 + 1e-7
    assert seen.error.estimate < held_out.error.estimate


def test_worst_groups_and_weights_in_the_error_alone(halves):
    train, test = halves
    clf = FairClassifier(TREE, MinimaxGroupError()).fit(
        train.X, train.y, sensitive_features=train.A
    )
    assert clf.report()["training"].excess.estimate == pytest.approx(0.0, abs=1e-6)
    weight = np.random.default_rng(0).uniform(0.5, 2, 1000)
    clf = FairClassifier(TREE, DemographicParity(eps=0.05), constraint_weights=False)
    clf.fit(train.X, train.y, sensitive_features=train.A, sample_weight=weight)
    found = clf.report(test.X, test.y, sensitive_features=test.A, sample_weight=weight)["test"]
    selected = clf.predict_proba(test.X)[:, 1]
    assert found.excess.estimate == pytest.approx(selection_gap(selected, test.A) - 0.05)
    assert np.isnan(found.excess.low)  # no interval where people count in two ways


def test_other_labels_and_levels_are_refused(halves):
    train, test = halves
    clf = FairClassifier(TREE, DemographicParity()).fit(
        train.X, train.y, sensitive_features=train.A
    )
    with pytest.raises(ValueError, match="y has the classes"):
        clf.report(test.X, test.y + 1, sensitive_features=test.A)
    with pytest.raises(ValueError, match="level is 95"):
        clf.report(level=95)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_meter_measures_every_bound(weighted):
    people = make_people(500)
    weight = np.random.default_rng(0).uniform(0.5, 2, 500) if weighted else None
    cells = Cells.from_columns(people.y, {"A": people.A}, weight=weight)
    meter = Meter(cells, EqualizedOdds(0.9), None)
    for threshold, eps in [(0.0, 0.02), (0.3, 0.1), (0.3, 0.6)]:
        tally = Tally.of_people(cells, (people.X[:, 0] > threshold).astype(float))
        found = meter.measure("test", tally, bound=eps)
        (alone,) = measure({"test": tally}, EqualizedOdds(eps), None)
        assert found.rows == alone.rows
        assert (found.error, found.excess, found.worst) == (alone.error, alone.excess, alone.worst)
        assert found.met == (found.excess.estimate <= 1e-8)


def test_what_is_not_known_is_not_met():
    nothing = Interval(float("nan"), float("nan"), float("nan"))
    assert not Measured("test", 0, nothing, nothing, None, ()).met


def test_lower_limits_choose_the_headline_and_not_estimates():
    # Of 3 people 2 are selected, of 1,000 half, of 1,000 others two in five.
    group = np.repeat(["few", "a", "b"], [3, 1000, 1000])
    counts = [(2, 3), (500, 1000), (400, 1000)]
    h = np.concatenate([np.arange(n) < selected for selected, n in counts]).astype(float)
    pairwise = DemographicParity(eps=0.01, reference="pairwise")
    found = only(pairwise, np.arange(2003) % 2, group, h)
    assert (found.worst.group, found.worst.against) == ("b", "few")  # 0.67 - 0.40
    row, excess, people = found.headline
    assert (row.group, row.against, people) == ("a", "b", 1000)
    assert excess.estimate == pytest.approx(0.5 - 0.4 - 0.01)
    text = str(ViolationReport([found], 0.95))
    assert "demographic parity: a above b (1,000)" in text.splitlines()[1]
    assert f"the largest estimate is +{2 / 3 - 0.4 - 0.01:.4f}" in text
    assert found.shown()["of_people"] == 1000


def test_a_bound_that_so_few_people_cannot_show_is_told():
    count, rate = np.array([2000.0, 690, 2000, 3000]), np.array([0.3, 0.6, 0.3, 0.6])
    table, _ = CellTable.from_sums([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]}, {}, count=count)
    tally = Tally.of_shares(table, table.mass * rate)

    def told(eps):
        meter = Meter(table, EqualizedOdds(eps, reference="pairwise"), None)
        return meter.measure("training", tally).unshown

    sentence = told(0.02)
    assert "given label 1: F" in sentence
    assert "from 690 people of F with label 1, sampling error only" in sentence
    reach = float(sentence.partition("±")[2].split()[0])
    assert 1.96 < reach / np.sqrt(0.24 / 690 + 0.24 / 3000) < 2.8  # for all rows at once
    assert told(0.1) == ""
