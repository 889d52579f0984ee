"""What mixtures do to people, against raw arrays: weights, strata and two features at once."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from unkind import make_people

from equipoise import DemographicParity, FairClassifier, Frontier
from equipoise.exceptions import NothingComparedWarning
from equipoise.metrics import group_table
from equipoise.report.evaluate import frontier_points, model_points, select_command
from equipoise.report.text import whose
from equipoise.rows import People


@pytest.fixture(scope="module")
def traced():
    """A frontier of weighted people with two features and a stratum, and people held out."""
    data = {}
    for name, n, seed in (("training", 500, 0), ("test", 300, 1)):
        people, rng = make_people(n, seed), np.random.default_rng(seed + 5)
        groups = {**people.group, "race": rng.choice(["b", "w"], n)}
        stratum = {"town": rng.choice(["u", "v"], n)}
        metadata = {
            "sensitive_features": groups,
            "control_features": stratum,
            "sample_weight": rng.uniform(0.5, 2.0, n),
        }
        data[name] = People(people.X, people.y, **metadata)
    train = data["training"]
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.02, 0.1])
    return frontier.fit(
        train.X,
        train.y,
        sensitive_features=train.sensitive_features,
        control_features=train.control_features,
        sample_weight=train.sample_weight,
    ), data


def check_groups(shown, model, people):
    """Rates from raw arrays; intervals of the table that `equipoise.metrics` makes."""
    p, weight = model.predict_proba(people.X)[:, 1], people.sample_weight
    groups, label = people.sensitive_features, people.y == "yes"
    both = np.array([" & ".join(pair) for pair in zip(*groups.values(), strict=True)])
    columns = {"sex": groups["sex"], "race": groups["race"], "sex x race": both}
    for row in shown:
        inside = columns[row.feature] == row.group if row.feature else np.ones(len(p), dtype=bool)
        assert row.count == inside.sum()
        w, q = weight[inside], p[inside]
        wrong = np.where(label[inside], 1 - q, q)
        assert row.rates["selection_rate"].estimate == pytest.approx(np.average(q, weights=w))
        assert row.rates["error_rate"].estimate == pytest.approx(np.average(wrong, weights=w))
        true = inside & label
        rate = np.average(p[true], weights=weight[true])
        assert row.rates["true_positive_rate"].estimate == pytest.approx(rate)
    table = group_table(
        label, p, sensitive_features=groups, sample_weight=weight, interval="analytic"
    )
    assert len(shown) == len(table)
    low = [row.rates["selection_rate"].low for row in shown]
    # How much weighted chances vary is known cell by cell, and a page has the cells of strata, too.
    np.testing.assert_allclose(low, table["selection_rate_low"], rtol=0, atol=2e-3)


@pytest.mark.parametrize("data", ["training", "test"])
def test_rates_of_groups_are_those_of_the_people(traced, data):
    frontier, people = traced
    points, free = frontier_points(frontier, people, level=0.95, file="f")
    for point in points:
        check_groups(point.groups[data], frontier.at(point.eps), people[data])
    one = model_points(frontier.at(0.1), people, level=0.95, file="f")[0]
    check_groups(one.groups[data], frontier.at(0.1), people[data])
    assert free.eps is None
    assert [weight for _, weight in free.members] == [1.0]


def test_differences_are_those_within_strata(traced):
    frontier, people = traced
    (_, point), _ = frontier_points(frontier, people, level=0.95, file="f")
    some, p = people["test"], frontier.at(0.1).predict_proba(people["test"].X)[:, 1]
    weight = some.sample_weight
    (town,) = some.control_features.values()
    groups = np.array([*zip(*some.sensitive_features.values(), strict=True)])
    largest = 0.0
    for stratum in np.unique(town):
        here = town == stratum
        everybody = np.average(p[here], weights=weight[here])
        for group in np.unique(groups[here], axis=0):
            inside = here & (groups == group).all(axis=1)
            rate = np.average(p[inside], weights=weight[inside])
            largest = max(largest, abs(rate - everybody))
    assert point.on("test").disparity.estimate == pytest.approx(largest)


def test_people_are_read_once(traced, monkeypatch):
    frontier, people = traced
    read, calls = People.read, []
    monkeypatch.setattr(People, "read", lambda self, **how: calls.append(self) or read(self, **how))
    frontier_points(frontier, people, level=0.95, file="f")
    assert [id(some.X) for some in calls] == [id(some.X) for some in people.values()]


def fitted_and(n=600, m=400):
    train, other = make_people(n, 0), make_people(m, 1)
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    model.fit(train.X, train.y, sensitive_features=train.group)
    return model, People(train.X, train.y, train.group), People(other.X, other.y, other.group)


def test_people_learned_from_are_never_called_held_out():
    model, train, other = fitted_and()
    half = People(
        np.concatenate([train.X[:150], other.X]),
        np.concatenate([train.y[:150], other.y]),
        {
            "sex": np.concatenate(
                [train.sensitive_features["sex"][:150], other.sensitive_features["sex"]]
            )
        },
    )
    said = {}
    for name, people in {"same": train, "half": half, "other": other}.items():
        point = model_points(model, {"test": people}, level=0.95, file="m")[0]
        said[name] = whose(point.on("test"))
    assert said["same"] == "people learned from"
    assert said["half"].startswith("people (150 of them were learned from")
    assert said["other"] == "people held out"
    relabelled = People(train.X, np.where(train.y == "yes", "no", "yes"), train.sensitive_features)
    point = model_points(model, {"test": relabelled}, level=0.95, file="m")[0]
    assert whose(point.on("test")).startswith("people (none of them was learned from as labelled")
    model.people_ = None  # taken out before the file was sent
    point = model_points(model, {"test": other}, level=0.95, file="m")[0]
    assert "is not known" in whose(point.on("test"))


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EmptyCellWarning")
def test_remarks_tell_what_is_easily_overlooked():
    people = make_people(300, 0)
    one = {"sex": np.full(300, "F")}
    with pytest.warns(NothingComparedWarning, match="same value of 'sex'"):
        model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05)).fit(
            people.X, people.y, sensitive_features=one
        )
    point = model_points(model, {}, level=0.95, file="m")[0]
    assert any("no groups differ" in text for text in point.remarks)

    model, _, other = fitted_and()
    women = np.flatnonzero(other.sensitive_features["sex"] == "F")
    some = People(other.X[women], other.y[women], {"sex": np.full(len(women), "F")})
    point = model_points(model, {"test": some}, level=0.95, file="m")[0]
    assert any("nobody of the people measured belongs to" in text for text in point.remarks)


def switched_by_hand(model, people):
    """Return people, gained and lost by group and label, one person after the other."""
    selected, before = model.predict_proba(people.X)[:, 1], model.unconstrained_.predict(people.X)
    counted = {}
    for at, (sex, label) in enumerate(zip(people.sensitive_features["sex"], people.y, strict=True)):
        for group in ("overall", sex):
            sums = counted.setdefault((group, label), np.zeros(3))
            gained = selected[at] if before[at] == "no" else 0.0
            lost = 1 - selected[at] if before[at] == "yes" else 0.0
            sums += [1, gained, lost]
    return counted


def test_switched_decisions_are_counted_on_all_people():
    model, train, other = fitted_and()
    known = {"training": train, "test": other}
    point, free = model_points(model, known, level=0.95, file="m")
    for data, people in known.items():
        expected = switched_by_hand(model, people)
        assert len(point.switched[data]) == len(expected)
        for row in point.switched[data]:
            found = row.people, row.gained, row.lost
            np.testing.assert_allclose(
                found, expected[row.group, ("no", "yes")[row.label]], atol=1e-6
            )
    assert free.switched == {}
    before = model.unconstrained_.predict(other.X) == "yes"
    wrong = (before != (other.y == "yes")).mean()
    assert free.on("test").error.estimate == pytest.approx(wrong)
    alone, nobody = model_points(model, {}, level=0.95, file="m")
    for row, again in zip(alone.switched["training"], point.switched["training"], strict=True):
        assert row.gained == pytest.approx(again.gained)  # known from the fit
    assert nobody is None


def test_switched_decisions_without_labels_are_counted_by_group():
    model, _, other = fitted_and()
    point, _ = model_points(model, {"test": replace(other, y=None)}, level=0.95, file="m")
    expected = switched_by_hand(model, other)
    for row in point.switched["test"]:
        assert row.label is None
        total = expected[row.group, "no"] + expected[row.group, "yes"]
        np.testing.assert_allclose((row.people, row.gained, row.lost), total, atol=1e-6)


def test_a_month_with_one_label_has_switched_decisions_too():
    model, _, other = fitted_and()
    yes = np.flatnonzero(other.y == "yes")
    some = People(other.X[yes], other.y[yes], {"sex": other.sensitive_features["sex"][yes]})
    shown = model_points(model, {"test": some}, level=0.95, file="m")[0].switched["test"]
    expected = switched_by_hand(model, some)
    for row in shown:
        total = expected[row.group, "yes"] if row.label == 1 else np.zeros(3)
        np.testing.assert_allclose((row.people, row.gained, row.lost), total, atol=1e-6)


def test_a_command_does_not_write_over_what_it_reads():
    assert select_command("model.equipoise", 0.02).endswith("--output chosen.equipoise")
