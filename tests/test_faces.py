"""Faces: what a notebook shows and what data frames hold, against the results' own numbers."""

import pickle
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from equipoise import (
    BoundedGroupError,
    DemographicParity,
    FairClassifier,
    FairRegressor,
    Frontier,
    GridSearch,
    Monitor,
)
from equipoise.estimators.blindness import PriceOfBlindness
from equipoise.exceptions import InfeasibleWarning
from equipoise.faces import FrozenRecords, Records, frame, table
from equipoise.metrics import Interval, group_table

RNG = np.random.default_rng(0)
A = RNG.choice(["<b>women</b>", "men & others"], 800)
X = RNG.normal(size=(800, 3)) + (A == "men & others")[:, None]
Y = (X.sum(axis=1) + RNG.normal(size=800) > 1).astype(int)


class Tables(HTMLParser):
    """The cells of all tables of a page, its text, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.text, self.open, self.tags = [], [], [], set()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        # Colours come from the notebook, else tables are unreadable in its dark mode.
        assert not any("color" in (value or "") or "background" in value for _, value in attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def model():
    rule = DemographicParity(eps=0.05, reference="pairwise")
    return FairClassifier(LogisticRegression(), rule).fit(X, Y, sensitive_features=A)


@pytest.fixture(scope="module")
def frontier():
    traced = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.01, 0.05, 0.1])
    return traced.fit(X, Y, sensitive_features=A)


def test_a_certificate_is_a_table_of_numbers_and_one_of_constraints(model):
    certificate = model.certificate_
    shown = Tables(certificate._repr_html_())
    assert ["error", f"{certificate.error:.4f}", ""] in shown.rows
    assert "<b>women</b>" in "".join(shown.text)  # as text: no tag was made of it
    assert "b" not in shown.tags
    table = certificate.to_pandas()
    assert table["value"].tolist() == certificate.gamma.tolist()
    assert table["binding"].sum() == len(certificate.binding)
    assert certificate.to_polars()["bound"].to_list() == certificate.bound.tolist()
    first = certificate.shadow_prices()[0]
    prices = Tables(certificate.shadow_prices()._repr_html_()).rows
    assert prices[1] == [first.row.sentence(), f"{first.saves_at_most:.4f}"]
    assert Tables(certificate.binding._repr_html_()).rows[1:] == [
        [row.sentence()] for row in certificate.binding
    ]


def test_conflicts_are_tables():
    rule = BoundedGroupError(0.0)
    with pytest.warns(InfeasibleWarning):
        fair = FairClassifier(LogisticRegression(), rule).fit(X, Y, sensitive_features=A)
    conflict = fair.certificate_.conflict
    assert conflict
    shown = Tables(conflict._repr_html_()).rows
    assert shown == [["constraint"], *([row.sentence()] for row in conflict)]


def test_points_are_a_frame_without_bulky_columns(frontier):
    points = frontier.points_
    assert isinstance(points, list)
    table = points.to_pandas()
    assert list(table) == ["eps", "error", "disparity", "lower", "gap", "price", "members"]
    assert table["error"].tolist() == [point.error for point in points]
    assert points.to_polars()["eps"].to_list() == [0.01, 0.05, 0.1]
    shown = Tables(points._repr_html_()).rows
    assert [row[0] for row in shown] == ["eps", "0.0100", "0.0500", "0.1000"]
    measured = frontier.evaluate(X, Y, sensitive_features=A)
    assert Tables(measured._repr_html_()).rows[-1][0] == "inf"
    assert "not known" in Tables(measured._repr_html_()).rows[1]  # there is no lower value


def test_reports_are_tables_with_their_notes(model, frontier):
    report = model.report(X, Y, sensitive_features=A)
    shown = Tables(report._repr_html_())
    entry = report["training"]
    ends = "[{:.3f}, {:.3f}]".format(*entry.error[1:])
    assert f"{entry.error.estimate:.3f} {ends}" in shown.rows[1]
    assert "test: all of them were learned from." in shown.text
    table = report.to_pandas()
    assert table["error_low"].tolist() == [each.error.low for each in report]
    assert report.to_polars()["data"].to_list() == ["training", "test"]
    assert len(entry.to_pandas()) == len(entry.rows) == 2
    assert entry.to_pandas()["excess"].max() == pytest.approx(entry.excess.estimate)
    traced = frontier.report().to_pandas()
    assert traced["bound"].tolist() == [0.01, 0.05, 0.1]
    assert "largest_difference_high" in traced


def test_a_monitor_shows_its_verdict_and_its_rows(model):
    monitor = Monitor(model).update(X, sensitive_features=A)
    shown = Tables(monitor._repr_html_())
    assert str(monitor) in shown.text
    assert len(shown.rows) == 1 + len(monitor.rows_)
    assert monitor.to_pandas()["people"].tolist() == [800, 800]
    evidence = max(row.evidence for row in monitor.rows_)
    assert monitor.history_.to_pandas()["evidence"].tolist() == [evidence]


def test_intervals_prices_of_blindness_and_group_tables():
    assert Tables(Interval(0.5, 0.25, np.nan)._repr_html_()).rows == [
        ["estimate", "low", "high"],
        ["0.5000", "0.2500", "not known"],
    ]
    price = PriceOfBlindness(np.array([0.1]), np.array([0.3]), np.array([0.25]))
    assert price.to_pandas()["price"].tolist() == pytest.approx([0.05])
    found = group_table(Y, Y, sensitive_features=A, interval="analytic")
    shown = Tables(found._repr_html_())
    assert shown.rows[2][0] == "<b>women</b>"
    assert "b" not in shown.tags
    assert found.to_polars()["group"].to_list()[0] == "overall"


def test_a_selection_is_a_table_by_group(model):
    chosen = model.select(X, 100, sensitive_features=A)
    assert chosen.to_pandas()["selected"].sum() == 100
    assert Tables(chosen._repr_html_()).rows[0] == ["group", "people", "expected", "selected"]
    assert "left to chance" in model.select(X, 100)._repr_html_()


def test_records_are_lists_and_tuples_that_can_be_pickled():
    records = Records([Interval(1.0, 0.0, 2.0)])
    assert pickle.loads(pickle.dumps(records)) == records == [(1.0, 0.0, 2.0)]
    frozen = pickle.loads(pickle.dumps(FrozenRecords(records)))
    assert isinstance(frozen, FrozenRecords)
    assert frozen.to_pandas()["high"].tolist() == [2.0]
    assert Tables(Records()._repr_html_()).text == ["no rows"]


def test_long_tables_say_how_many_rows_are_left_out():
    shown = Tables(table({"n": np.arange(1000)}))
    assert len(shown.rows) == 61
    assert shown.text[-1] == "940 more rows: to_pandas() has all of them."


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="to_polars needs polars, which is not installed"):
        frame("polars", {"a": [1]})


def test_switched_decisions_are_a_table(model):
    switched = model.switched()
    shown = Tables(switched._repr_html_())
    assert shown.rows[0] == ["group", "label", "people", "gained", "lost"]
    assert len(shown.rows) == 1 + len(switched.rows) == 7
    assert "b" not in shown.tags
    frame = switched.to_polars()
    assert frame["gained"].to_list() == [row.gained for row in switched.rows]


def test_single_points_and_candidates_have_a_face(frontier):
    for point in (frontier.points_[0], frontier.unconstrained_):
        header, row = Tables(point._repr_html_()).rows
        assert header[:3] == ["eps", "error", "disparity"]
        assert row[:2] == [f"{point.eps:.4f}", f"{point.error:.4f}"]
    grid = GridSearch(LogisticRegression(), DemographicParity(), grid_size=5, tradeoff=0.5)
    candidates = grid.fit(X, Y, sensitive_features=A).candidates_
    assert list(candidates.to_pandas()) == ["error", "violation"]
    assert candidates.to_polars()["error"].to_list() == [each.error for each in candidates]
    assert Tables(candidates[0]._repr_html_()).rows[0] == ["error", "violation"]


def test_a_report_tells_who_is_decided_on_differently(model):
    report = model.report(X[:300], Y[:300], sensitive_features=A[:300])
    before = model.unconstrained_.predict(X[:300]) == 1
    chance = model.predict_proba(X[:300])[:, 1]
    total = report.switched["test"].total()
    assert total.people == 300
    assert total.gained == pytest.approx((chance * ~before).sum())
    assert total.lost == pytest.approx(((1 - chance) * before).sum())
    assert report.switched["training"] is model.certificate_.switched
    told = [line for line in str(report).splitlines() if "the favourable decision" in line]
    assert [line.split(":")[0] for line in told] == ["training", "test"]
    shown = Tables(report._repr_html_())
    assert ["group", "label", "people", "gained", "lost"] in shown.rows
    assert set(told) <= set(shown.text)


def test_unknown_people_are_in_what_a_notebook_shows():
    group = np.where(np.arange(800) % 10 == 0, None, A)
    found = group_table(Y, Y, sensitive_features=group, missing="ignore")
    assert "the group of 10.0% of the people is unknown" in "".join(
        Tables(found._repr_html_()).text
    )
    unknown = Tables(found.unknown._repr_html_()).rows
    assert unknown[0][:4] == ["group", "if", "base rate", "selection rate"]
    worst = found.unknown.groups[0].worst["selection_rate"]
    assert unknown[1][3] == f"[{worst.low:.4f}, {worst.high:.4f}]"
    assert repr(found) == str(found)


def test_labels_are_not_changed_in_headings():
    shown = Tables(table({"base_rate[not_yet]": [0.5], "rate_low": [0.1], "rate_high": [0.2]}))
    assert shown.rows == [["base rate[not_yet]", "rate"], ["0.5000", "[0.1000, 0.2000]"]]


def test_of_many_prices_the_highest_are_told():
    model = FairRegressor(LinearRegression(), DemographicParity(eps=0.05), thresholds=25)
    certificate = model.fit(X, X.sum(axis=1), sensitive_features=A).certificate_
    prices = certificate.shadow_prices()
    told = [line for line in str(certificate).splitlines() if line.startswith("loosening")]
    assert len(prices) > 8 == len(told)
    assert prices[7].row.sentence() in told[7]
    rest = f"{len(prices) - 8} more bounds have a price, none of them a higher one"
    assert str(certificate).endswith(rest)
    measured = model.measure(X, X.sum(axis=1), sensitive_features=A)
    header, row = Tables(measured._repr_html_()).rows
    assert (header[:3], row[0]) == (["loss", "largest", "excess"], f"{measured.loss:.4f}")
