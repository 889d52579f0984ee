"""Pictures of groups against raw arrays."""

from types import SimpleNamespace

import numpy as np
import pytest
from people import three_labels
from sklearn.linear_model import LinearRegression, LogisticRegression

from equipoise import DemographicParity, FairClassifier, FairRegressor, GridSearch
from equipoise.metrics import group_table
from equipoise.plotting import GroupRatesDisplay, SwitchedDisplay

pyplot = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib")

RNG = np.random.default_rng(0)
A = RNG.choice(["F", "M"], 600)
X = RNG.normal(size=(600, 2)) + (A == "M")[:, None]
Y = np.where(X.sum(axis=1) + RNG.normal(size=600) > 1, "yes", "no")


@pytest.fixture(scope="module")
def model():
    rule = DemographicParity(eps=0.02, reference="pairwise")
    return FairClassifier(LogisticRegression(), rule).fit(X, Y, sensitive_features=A)


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def test_rates_before_and_after(model):
    display = GroupRatesDisplay.from_estimator(model, X, Y, sensitive_features=A)
    assert pyplot.gcf() is display.figure_
    before, after = (container.lines[0].get_xdata() for container in display.lines_)
    chosen = {
        "before": model.unconstrained_.predict(X) == "yes",
        "after": model.predict_proba(X)[:, 1],
    }
    masks = [np.ones(600, bool), A == "F", A == "M"]
    assert before == pytest.approx([chosen["before"][mask].mean() for mask in masks])
    assert after == pytest.approx([chosen["after"][mask].mean() for mask in masks])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["overall (600)", f"F ({(A == 'F').sum()})", f"M ({(A == 'M').sum()})"]
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["unconstrained", "fair"]


def test_rates_of_tables_without_intervals_and_what_cannot_be_drawn(model):
    tables = {"all": group_table(Y, Y, sensitive_features={"a": A, "b": A})}
    display = GroupRatesDisplay(tables, "base_rate", "b").plot()
    assert len(display.ax_.get_yticklabels()) == 3
    with pytest.raises(ValueError, match="feature is 'c' and column 'base_rate'; expected one of"):
        GroupRatesDisplay(tables, "base_rate", "c")
    strata = group_table(Y, Y, sensitive_features=A, control_features=A)
    with pytest.raises(ValueError, match="one stratum at a time"):
        GroupRatesDisplay({"all": strata})
    learner = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="has no unconstrained model"):
        GroupRatesDisplay.from_estimator(learner, X, Y, sensitive_features=A)


def test_who_is_decided_differently():
    rows = [
        SimpleNamespace(group="F", label="yes", people=200, gained=50, lost=0),
        SimpleNamespace(group=("M", "old"), label="no", people=100, gained=1.5, lost=20),
        SimpleNamespace(group="X", label="no", people=0, gained=0, lost=0),
    ]
    display = SwitchedDisplay(rows).plot()
    gained, lost = ([bar.get_width() for bar in bars] for bars in display.bars_)
    assert gained == pytest.approx([25, 1.5, 0])
    assert lost == pytest.approx([0, -20, 0])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["F, label yes (200)", "M & old, label no (100)", "X, label no (0)"]


def test_who_is_decided_differently_by_a_model(model):
    display = SwitchedDisplay.from_estimator(model, X, Y, sensitive_features=A)
    before = model.unconstrained_.predict(X) == "yes"
    chance = model.predict_proba(X)[:, 1]
    gained, lost = ([bar.get_width() for bar in bars] for bars in display.bars_)
    for at, (group, label) in enumerate((g, y) for g in ("F", "M") for y in ("no", "yes")):
        inside = (group == A) & (label == Y)
        row = at + 2  # after those of everybody
        assert gained[row] == pytest.approx(100 * (chance * ~before)[inside].mean())
        assert lost[row] == pytest.approx(-100 * ((1 - chance) * before)[inside].mean())
    fit = SwitchedDisplay.from_estimator(model, ax=display.ax_)
    assert [row.gained for row in fit.rows] == [row.gained for row in display.rows]


def test_three_labels_have_a_column_for_each_decision():
    X, y, A = three_labels(300)
    constraint = DemographicParity(0.1)
    model = FairClassifier(LogisticRegression(), constraint, oracle="plugin")
    model.fit(X, y, sensitive_features=A)
    column = "selection_rate[top]"
    shown = GroupRatesDisplay.from_estimator(model, X, y, sensitive_features=A, column=column)
    found = shown.tables["fair"].row("a")[column]
    assert found == pytest.approx(model.predict_proba(X)[A == "a", 2].mean())
    with pytest.raises(ValueError, match=r"expected one of count, selection_rate\[low\]"):
        GroupRatesDisplay.from_estimator(model, X, y, sensitive_features=A)
    moved = SwitchedDisplay.from_estimator(model, X, y, sensitive_features=A)
    assert moved.ax_.get_yticklabels()[-1].get_text() == f"b, decision top ({(A == 'b').sum()})"
    gained, lost = (-moved.bars_[side][-1].get_width() for side in (0, 1))
    before, chance = model.unconstrained_.predict(X) == "top", model.predict_proba(X)[:, 2]
    inside = A == "b"
    assert gained == pytest.approx(-100 * (chance * ~before)[inside].mean())
    assert lost == pytest.approx(100 * ((1 - chance) * before)[inside].mean())


def test_any_rate_and_one_rule(model):
    display = GroupRatesDisplay.from_estimator(
        model, X, Y, sensitive_features=A, column="precision"
    )
    chance = model.predict_proba(X)[:, 1]
    expected = [np.average((Y == "yes")[g == A], weights=chance[g == A]) for g in ("F", "M")]
    assert display.lines_[1].lines[0].get_xdata()[1:] == pytest.approx(expected)
    rule = DemographicParity(eps=0.1, reference="pairwise")
    grid = GridSearch(LogisticRegression(), rule, grid_size=9, tradeoff=0.5)
    grid.fit(X, Y, sensitive_features=A)
    shown = GroupRatesDisplay.from_estimator(grid, X, Y, sensitive_features=A)
    expected = [(grid.predict(X) == "yes")[g == A].mean() for g in ("F", "M")]
    assert shown.lines_[1].lines[0].get_xdata()[1:] == pytest.approx(expected)


def test_a_regressor_has_no_decisions_to_gain():
    made = FairRegressor(LinearRegression(), DemographicParity(eps=0.2), thresholds=5)
    made.fit(X, X.sum(axis=1), sensitive_features=A)
    with pytest.raises(TypeError, match="model is a FairRegressor; expected a classifier"):
        SwitchedDisplay.from_estimator(made)
    with pytest.raises(ValueError, match="has no unconstrained model"):
        GroupRatesDisplay.from_estimator(made, X, Y, sensitive_features=A)


def test_expected_numbers_are_those_of_the_table():
    row = SimpleNamespace(group="F", label="yes", people=200, gained=1.46, lost=0.2)
    display = SwitchedDisplay([row]).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["1.5", "0.2"]
