"""The page and the card of a regressor: losses and distributions by group, from raw arrays."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from equipoise import (
    BoundedGroupLoss,
    DemographicParity,
    FairRegressor,
    Frontier,
    MinimaxGroupLoss,
)
from equipoise.exceptions import InfeasibleWarning, NothingComparedWarning
from equipoise.report import report_of, write_model_card, write_report
from equipoise.report.regression import RegressionContents, regression_card, render_regression

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    A = rng.choice(["F", "<M>"], 300).astype(object)
    X = np.column_stack([(A == "F") + rng.normal(size=300), rng.normal(size=300)])
    return X, X.sum(axis=1) + rng.normal(size=300), A


@pytest.fixture(scope="module")
def model(rows):
    X, y, A = rows
    reg = FairRegressor(LinearRegression(), DemographicParity(0.1), thresholds=5)
    return reg.fit(X, y, sensitive_features=A)


def test_groups_are_those_of_raw_arrays(rows, model):
    X, y, A = rows
    each, weights = model.predict_members(X), model.regressor_.weights
    lost = (each - y[:, None]) ** 2 @ weights
    found = {
        told.group: told
        for told in model.by_group(X, y, sensitive_features=A, sample_weight=np.ones(300))
    }
    assert list(found) == ["overall", "<M>", "F"]
    for group in ("<M>", "F"):
        inside = group == A
        shares = [
            ((each >= z) @ weights)[inside].mean() - ((each >= z) @ weights).mean()
            for z in np.unique(each)
        ]
        assert found[group].people == inside.sum()
        assert found[group].loss == pytest.approx(lost[inside].mean())
        assert found[group].mean_prediction == pytest.approx((each @ weights)[inside].mean())
        assert found[group].difference == pytest.approx(np.abs(shares).max())
    assert found["overall"].loss == pytest.approx(lost.mean())


def test_the_page_needs_no_network_and_shows_every_group(rows, model, tmp_path):
    X, y, A = rows
    contents = report_of(model, X, y, sensitive_features=A, label="<income>")
    write_report(tmp_path / "page.html", contents)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "&lt;income&gt;" in page
    assert "&lt;M&gt;" in page
    assert "<M>" not in page
    assert not re.search(r"(src|href)=.?(http|//)", page)
    assert f"{model.certificate_.error:.5g}" in page
    assert f"{model.exact_difference_:.5g}" in page
    numbers = re.search(r'id="numbers">(.*)</script>', page)[1]
    assert RegressionContents.from_dict(json.loads(numbers)) == contents


def test_the_page_of_a_frontier_has_every_bound(rows, tmp_path):
    X, y, A = rows
    made = Frontier(LinearRegression(), DemographicParity(), bounds=[0.05, 0.2], thresholds=5)
    made.fit(X, y, sensitive_features=A)
    contents = report_of(
        made, X, y, sensitive_features=A, X_test=X, y_test=y, sensitive_features_test=A
    )
    assert [point.eps for point in contents.points] == [0.05, 0.2]
    assert list(contents.points[0].groups) == ["training", "test"]
    page = render_regression(contents).decode()
    assert page.count("<span>Groups of the test data") == 2
    assert page.count('class="mark test"') == 2 + 1  # in the picture, and in its legend
    write_model_card(tmp_path / "card.md", contents)
    assert "| 0.05 |" in (tmp_path / "card.md").read_text("utf-8")


def test_people_learned_from_are_never_called_held_out(rows, model):
    X, y, A = rows
    test = {"X_test": X, "y_test": y, "sensitive_features_test": A}
    contents = report_of(model, X, y, sensitive_features=A, **test)
    shown = render_regression(contents).decode() + regression_card(contents)
    assert contents.who == dict.fromkeys(("training", "test"), "people learned from")
    assert "held out" not in shown
    assert shown.count(model.people_.digest) == 3  # page, its numbers, card
    test["X_test"] = X + 1.0
    other = report_of(model, X, y, sensitive_features=A, **test)
    assert other.who["test"] == "people held out"
    assert "300 people held out" in regression_card(other)


def test_what_is_easily_overlooked_is_on_page_and_card(rows):
    X, y, _ = rows
    reg = FairRegressor(LinearRegression(), DemographicParity(0.1), thresholds=5)
    with pytest.warns(NothingComparedWarning):
        reg.fit(X, y, sensitive_features=np.zeros(300))
    contents = report_of(reg, X, y, sensitive_features=np.zeros(300))
    for text in (render_regression(contents).decode(), regression_card(contents)):
        assert "verybody has the same value of" in text


def test_the_first_lines_name_groups(rows, model):
    X, y, A = rows
    other = slice(0, 150)
    contents = report_of(
        model,
        X,
        y,
        sensitive_features=A,
        X_test=X[other],
        y_test=y[other],
        sensitive_features_test=A[other],
    )
    (told,) = contents.sentences
    each, weights = model.predict_members(X[other]), model.regressor_.weights
    lost = (each - y[other, None]) ** 2 @ weights
    by_group = {group: lost[A[other] == group] for group in ("<M>", "F")}
    worst = max(by_group, key=lambda group: by_group[group].mean())
    assert f"For the bound 0.1: loss {lost.mean():.5g} of 150 people, test data." in told
    assert f"Without the constraint the loss is {model.certificate_.free_error:.5g}" in told
    size = len(by_group[worst])
    assert f"largest for {worst} ({by_group[worst].mean():.5g}, {size} people)" in told
    page = render_regression(contents).decode()
    assert page.index("For the bound 0.1: loss") < page.index('id="points"')
    assert "base-uri &#39;none&#39;; form-action &#39;none&#39;" in page
    assert f"<td>{model.certificate_.free_error:.5g}</td>" in page


def test_in_a_notebook_it_is_the_page(rows, model):
    X, y, A = rows
    contents = report_of(model, X, y, sensitive_features=A)
    assert contents._repr_html_().startswith("<iframe ")
    assert "allow-same-origin" not in contents._repr_html_()
    assert repr(contents) == "<RegressionContents: demographic parity of y in data in memory>"
    assert contents.points[0].certificate == str(model.certificate_)


@pytest.mark.parametrize("constraint", [BoundedGroupLoss(0.1), MinimaxGroupLoss()])
def test_a_small_group_is_not_in_the_words_of_the_certificate(rows, constraint):
    X, y, A = rows
    A = np.where(np.arange(300) < 4, "X", A)
    y = np.where(A == "X", y + 20, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        reg = FairRegressor(LinearRegression(), constraint).fit(X, y, sensitive_features=A)
    assert "X" in str(reg.certificate_)
    told = report_of(reg, X, y, sensitive_features=A).points[0].certificate
    assert told.startswith("bounds ")
    assert "X" not in told
    assert "worst group" not in told


def test_one_model_for_everybody_is_not_called_drawn(rows):
    X, y, A = rows
    model = FairRegressor(LinearRegression(), BoundedGroupLoss(1e6)).fit(X, y, sensitive_features=A)
    contents = report_of(model, X, y, sensitive_features=A, label="income")
    for shown in (render_regression(contents).decode(), regression_card(contents)):
        assert "nothing is drawn" in shown
        assert "Predictions are drawn" not in shown
        assert "between the thresholds" not in shown
    page = render_regression(contents).decode()
    assert "Bounded group loss of income" in page
    assert "Certificate and 1 member<" in page


def test_a_bound_that_is_met_is_met_at_the_thresholds(rows):
    """Between thresholds groups may differ by more, which stands beside it."""
    X, y, A = rows
    reg = FairRegressor(LinearRegression(), DemographicParity(0.05), thresholds=4)
    contents = report_of(reg.fit(X, y, sensitive_features=A), X, y, sensitive_features=A)
    assert contents.points[0].exact > 0.05
    assert "<td>met at the thresholds</td>" in render_regression(contents).decode()
    assert "| met at the thresholds |" in regression_card(contents)
    bounded = FairRegressor(LinearRegression(), BoundedGroupLoss(50.0))
    losses = report_of(bounded.fit(X, y, sensitive_features=A), X, y, sensitive_features=A)
    assert "<td>met</td>" in render_regression(losses).decode()
