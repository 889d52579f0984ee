"""Reports of models with three labels: rates and moves again from raw arrays."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import numpy as np
import pytest
from people import three_labels
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, EqualizedOdds, FairClassifier, Frontier
from equipoise.exceptions import RareLabelWarning
from equipoise.game.switches import number
from equipoise.metrics.decisions import Decisions
from equipoise.oracles import Plugin
from equipoise.report.card import model_card
from equipoise.report.contents import MovedContents, ReportContents
from equipoise.report.evaluate import needs_labels
from equipoise.report.groups import group_contents, with_predictive
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


def test_moves_are_counted_and_small_groups_suppressed(fair, contents):
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
    few[4:12] = "two"
    other = report_of(
        fair, X, Y, sensitive_features=A, X_test=x, y_test=TEST[1], sensitive_features_test=few
    )
    hidden = [row for row in other.points[0].switched["test"] if row.people is None]
    assert {row.group for row in hidden} == {"few", "two"}
    assert all(row.switched is row.before is None for row in hidden)


def few_of_a_label():
    """Return people of whom three of the group b have the label top."""
    x, y, groups = TEST
    groups = groups.copy()
    groups[np.flatnonzero((groups == "b") & (y == "top"))[3:]] = "a"
    return x, y, groups


def published(groups):
    """Return linear equations of people by group, label and decision, from a table in JSON.

    Unknown are the numbers of people in a (group, label, decision); rates times the people that
    they are of are sums of such numbers.
    """
    C = np.eye(18).reshape(2, 3, 3, 18)
    found = []
    for row in groups:
        if row["count"] is None:
            continue
        own = C.sum(axis=0) if not row["feature"] else C["ab".index(row["group"])]
        everybody, diagonal = own.sum(axis=(0, 1)), own[range(3), range(3)]
        found.append(everybody)
        parts = {"error_rate": (everybody - diagonal.sum(axis=0), everybody)}
        for v, name in enumerate(NAMES):
            label, gets, both = own[v].sum(axis=0), own[:, v].sum(axis=0), diagonal[v]
            parts |= {
                f"base_rate[{name}]": (label, everybody),
                f"selection_rate[{name}]": (gets, everybody),
                f"true_positive_rate[{name}]": (both, label),
                f"false_positive_rate[{name}]": (gets - both, everybody - label),
                f"precision[{name}]": (both, gets),
                f"false_discovery_rate[{name}]": (gets - both, gets),
                f"false_omission_rate[{name}]": (label - both, everybody - gets),
            }
        for name, rate in row["rates"].items():
            if rate[0] is not None:
                part, whole = parts[name]
                found.append(part - rate[0] * whole)
    return np.array(found), C


def tells(equations, sought):
    """Return whether equations determine a sum of the unknown."""
    residual = sought - equations.T @ np.linalg.lstsq(equations.T, sought, rcond=1e-9)[0]
    return bool(np.abs(residual).max() < 1e-6)


def test_rates_of_few_people_of_a_label_are_suppressed(fair):
    """A group of many, three of whom have the label: no number tells what happens to them."""
    x, y, groups = few_of_a_label()
    people = {"X_test": x, "y_test": y, "sensitive_features_test": groups}
    contents = report_of(fair, X, Y, sensitive_features=A, **people)
    everything = report_of(fair, X, Y, sensitive_features=A, **people, suppress_below=0)
    top = fair.predict_proba(x)[(groups == "b") & (y == "top"), 2]
    for shown, hides in ((contents, True), (everything, False)):
        told = json.loads(json.dumps(shown.to_dict()))
        equations, C = published(told["points"][0]["groups"]["test"])
        label, both = C[1, 2].sum(axis=0), C[1, 2, 2]
        assert tells(equations, label) is not hides
        assert tells(equations, both) is not hides
        assert tells(equations, both - top.mean() * label) is not hides
        assert tells(equations, C[1].sum(axis=(0, 1)))
        assert shown.points[0].groups["test"][0].rates["true_positive_rate[top]"].estimate
    group = next(row for row in contents.points[0].groups["test"] if row.group == "b")
    assert group.count == (groups == "b").sum()
    assert group.rates["selection_rate[top]"].estimate is not None
    for text in (render(contents).decode(), model_card(contents)):
        assert "Rates about a label are suppressed where fewer than 10 people of a group" in text
    for text in (render(everything).decode(), model_card(everything)):
        assert "Rates about a label" not in text
    moves = contents.points[0].switched["test"]
    assert all(row.people in (300, *((groups == one).sum() for one in "ab")) for row in moves)


def test_rates_of_few_who_get_a_decision_are_suppressed():
    """Precision of two people is not told, nor what it follows from; nobody is no secret."""
    y, groups = np.repeat([*NAMES, *NAMES], 40), np.repeat(["a", "b"], 120)
    decided = y.copy()
    decided[80:120] = "low"
    decided[[80, 0]] = "top"
    shown = group_contents(with_predictive(Decisions.read(y, decided, groups), 0.95))
    told = json.loads(json.dumps([asdict(row) for row in shown]))
    equations, C = published(told)
    assert not tells(equations, C[0, 2, 2])
    assert tells(equations, C[0, 2].sum(axis=0))
    assert tells(equations, C[0, :, 2].sum(axis=0))
    decided[80:120] = decided[0] = "low"
    shown = group_contents(with_predictive(Decisions.read(y, decided, groups), 0.95))
    rates = {row.group: row.rates["true_positive_rate[top]"].estimate for row in shown}
    assert rates == {"overall": 0.5, "a": 0.0, "b": 1.0}


@pytest.mark.parametrize("few", [4, 0])
def test_shares_of_labels_that_few_have_are_not_told(fair, few):
    """Those of the people held out would follow from the share of all and that of the others."""
    x, y, groups = TEST
    kept = np.flatnonzero((y != "top") | (np.cumsum(y == "top") <= few))
    people = {"X_test": x[kept], "y_test": y[kept], "sensitive_features_test": groups[kept]}
    everything = np.append(Y, y[kept])
    shares = [np.mean(everything == name) for name in NAMES]
    contents = report_of(fair, X, Y, sensitive_features=A, **people)
    found = contents.data.base_rate
    if few:
        assert found[2] is None
        assert sum(share is None for share in found) == 2  # else it would be what is missing
        assert "top (suppressed)" in model_card(contents)
        assert b"<bdi>top</bdi></dt><dd>suppressed" in render(contents)
    else:
        assert found == pytest.approx(shares)
    again = ReportContents.from_dict(json.loads(json.dumps(contents.to_dict())))
    assert again == contents
    shown = report_of(fair, X, Y, sensitive_features=A, **people, suppress_below=0)
    assert shown.data.base_rate == pytest.approx(shares)


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


def test_inequalities_about_few_people_of_a_label_are_left_out():
    x, y, groups = few_of_a_label()
    third = np.where((groups == "a") & (np.arange(len(y)) % 3 == 0), "c", groups)
    constraint = EqualizedOdds(0.2)
    model = FairClassifier(LogisticRegression(), constraint, oracle=Plugin(cv=2))
    model.fit(x, y, sensitive_features=third)
    measured = report_of(model, x, y, sensitive_features=third).points[0].on("training")
    of_top = {row.text.split(": ")[1][0] for row in measured.rows if "label top" in row.text}
    assert of_top == {"a"}  # c would give b away


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
