"""Reports of models with three labels: rates and moves again from raw arrays."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from people import three_labels
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, EqualizedOdds, FairClassifier, Frontier
from equipoise.exceptions import RareLabelWarning
from equipoise.game.switches import number
from equipoise.oracles import Plugin
from equipoise.report.card import model_card
from equipoise.report.contents import MovedContents, ReportContents
from equipoise.report.evaluate import needs_labels
from equipoise.report.page import render
from equipoise.report.summary import report_of

X, Y, A = three_labels()
NAMES = ("low", "mid", "top")
TEST = three_labels(300, seed=1)


@pytest.fixture(scope="module")
def fair():
    constraint = DemographicParity(0.05, reference="pairwise")
    model = FairClassifier(LogisticRegression(), constraint, oracle=Plugin(cv=2))
    return model.fit(X, Y, sensitive_features=A)


@pytest.fixture(scope="module")
def contents(fair):
    people = {"X_test": TEST[0], "y_test": TEST[1], "sensitive_features_test": TEST[2]}
    return report_of(fair, X, Y, sensitive_features=A, **people, label="grade")


def test_members_are_told_by_what_they_decide(contents):
    names = [name for name, _ in contents.points[0].members]
    assert "<least expected cost by the probabilities of 6 cells>" in names
    same = FairClassifier(DummyClassifier(), DemographicParity(0.1)).fit(X, Y, sensitive_features=A)
    (member,) = report_of(same, X, Y, sensitive_features=A).points[0].members
    assert member == (f"{same.predict(X)[0]} for everybody", 1.0)


def test_groups_have_the_rates_of_every_decision(fair, contents):
    x, y, groups = TEST
    pmf = fair.predict_proba(x)
    point = contents.points[0]
    right = pmf[np.arange(len(y)), np.searchsorted(NAMES, y)]
    for group in point.groups["test"]:
        who = np.ones(len(y), bool) if not group.feature else groups == group.group
        assert group.count == who.sum()
        assert group.rates["error_rate"].estimate == pytest.approx(1 - right[who].mean())
        for v, name in enumerate(NAMES):
            of_label, gets = who & (y == name), pmf[:, v]
            expected = {
                "base_rate": (y == name)[who].mean(),
                "selection_rate": gets[who].mean(),
                "true_positive_rate": gets[of_label].mean(),
                "false_positive_rate": gets[who & (y != name)].mean(),
                "precision": gets[of_label].sum() / gets[who].sum(),
                "false_omission_rate": (1 - gets)[of_label].sum() / (1 - gets)[who].sum(),
            }
            for rate, value in expected.items():
                found = group.rates[f"{rate}[{name}]"]
                assert found.estimate == pytest.approx(value)
                assert found.low < value < found.high
    measured = point.on("test")
    rates = np.array([pmf[groups == one].mean(axis=0) for one in "ab"])
    assert measured.disparity.estimate == pytest.approx(np.abs(rates[0] - rates[1]).max())
    assert measured.error.estimate == pytest.approx(1 - right.mean())


def test_moves_are_counted_without_people_in_groups_of_few(fair, contents):
    x, _, groups = TEST
    pmf, before = fair.predict_proba(x), fair.unconstrained_.predict(x)
    rows = contents.points[0].switched["test"]
    assert all(isinstance(row, MovedContents) for row in rows)
    for row in rows:
        who = np.ones(len(x), bool) if not row.feature else groups == row.group
        assert row.people == who.sum()
        moved = pmf[who & (before == row.before), NAMES.index(row.after)].sum()
        assert row.switched == pytest.approx(moved)
    few = np.where(np.arange(len(groups)) < 4, "few", groups)
    few[4:24] = "two"
    other = report_of(
        fair, X, Y, sensitive_features=A, X_test=x, y_test=TEST[1], sensitive_features_test=few
    )
    people = {row.group: row.people for row in other.points[0].switched["test"]}
    assert people["overall"] == len(groups) - 4
    assert "few" not in people
    assert people["two"] == 20  # nobody else is left out


def test_a_label_of_a_handful_is_said():
    x, y, groups = TEST
    y = y.astype("<U4")
    y[[5, 50, 77]] = "rare"
    model = FairClassifier(LogisticRegression(), DemographicParity(0.1), oracle=Plugin(cv=2))
    with pytest.warns(RareLabelWarning, match="fewer than 30 people have the label 'rare'"):
        model.fit(x, y, sensitive_features=groups)
    contents = report_of(model, x, y, sensitive_features=groups)
    told, said = contents.to_dict()["points"][0]["remarks"], "fewer than 30 people have the label"
    assert sum(said in text for text in told) == 1
    assert said in render(contents).decode()
    assert said in model_card(contents)


def test_the_page_tells_rates_and_moves(contents):
    page, card = render(contents).decode(), model_card(contents)
    assert "Every group gets each decision equally often." in page
    for name in NAMES:
        assert f"<bdi>{name}</bdi>" in page
        assert f"Get {name}" in page
        assert f"## Groups, decision {name}, test data" in card
    assert "People decided on differently" in page
    assert "Favourable" not in page
    assert "favourable" not in card
    assert "3 values, with their shares of the people: low" in card
    again = ReportContents.from_dict(json.loads(json.dumps(contents.to_dict())))
    assert again == contents
    assert contents.data.labels == NAMES
    assert contents.data.base_rate == pytest.approx(
        [np.mean(np.append(Y, TEST[1]) == name) for name in NAMES]
    )


def test_a_frontier_has_a_page():
    constraint = DemographicParity(reference="pairwise")
    frontier = Frontier(LogisticRegression(), constraint, bounds=[0.05, 0.2], oracle=Plugin(cv=2))
    frontier.fit(X, Y, sensitive_features=A)
    contents = report_of(frontier, X, Y, sensitive_features=A)
    assert len(contents.points) == 2
    assert contents.unconstrained.groups["training"][1].rates["selection_rate[top]"].estimate
    assert b"Get mid" in render(contents)


def test_whether_labels_are_needed_is_known_of_three(fair):
    cells = fair.tallies_["training"].cells
    assert not needs_labels(DemographicParity(), cells)
    assert needs_labels(EqualizedOdds(), cells)


def test_the_page_says_from_which_decision_to_which(fair, contents):
    x, _, groups = TEST
    pmf, before = fair.predict_proba(x), fair.unconstrained_.predict(x)
    page = render(contents).decode()
    start = page.index("Decisions that differ from the unconstrained")
    table = page[page.index("<tbody>", start) : page.index("</tbody>", start)]
    for group, who in (("everybody", np.ones(len(x), bool)), *((g, groups == g) for g in "ab")):
        block = table[table.index(f"{group}</bdi>") :]
        for was, line in zip(NAMES, block.split("</tr>"), strict=False):
            moved = [pmf[who & (before == was), NAMES.index(to)].sum() for to in NAMES]
            shown = re.findall(r"<td>(.*?)</td>", line)
            told = [number(each) for to, each in zip(NAMES, moved, strict=True) if to != was]
            assert [text for text in shown if text != "·"] == told
            assert f"<bdi>{was}</bdi>" in line
