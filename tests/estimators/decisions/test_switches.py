"""Switched decisions: counted person by person, from raw arrays, for every estimator."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import equipoise
from equipoise import (
    Costs,
    DemographicParity,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
    Probabilities,
)
from equipoise.oracles.specs import Plugin, Refit

pd = pytest.importorskip("pandas")

N = 900
RULE = DemographicParity(eps=0.02)


def make_applicants(seed):
    rng = np.random.default_rng(seed)
    groups = pd.DataFrame({"sex": rng.choice(["F", "M"], N), "age": rng.choice([20, 30, 40], N)})
    X = np.column_stack([(groups["sex"] == "M") + rng.normal(size=N), rng.normal(size=N)])
    y = np.where(X.sum(axis=1) + rng.normal(size=N) > 0.5, "yes", "no")
    return X, y, groups


X, Y, GROUPS = make_applicants(0)
OTHERS = make_applicants(1)


def by_hand(model, X, y, groups):
    """Return people, gained and lost of each group and label, one person after the other."""
    if isinstance(model, GridSearch):
        selected = (model.predict(X) == "yes").astype(float)
    else:
        selected = model.predict_proba(X)[:, 1]
    before = model.unconstrained_.predict(X)
    counted = {}
    for row in range(len(X)):
        sex, age = groups["sex"].iloc[row], groups["age"].iloc[row]
        for group in [("", "overall"), ("sex", sex), ("age", age), ("sex x age", (sex, age))]:
            sums = counted.setdefault((*group, y[row]), [0, 0.0, 0.0])
            sums[0] += 1
            sums[1] += selected[row] if before[row] == "no" else 0.0
            sums[2] += 1 - selected[row] if before[row] == "yes" else 0.0
    return counted


def assert_counted(switched, expected):
    found = {(row.feature, row.group, row.label): row for row in switched.rows}
    assert set(found) == set(expected)
    for key, (people, gained, lost) in expected.items():
        assert found[key].people == people
        assert found[key].gained == pytest.approx(gained, abs=1e-6)
        assert found[key].lost == pytest.approx(lost, abs=1e-6)


FITS = {
    "column generation": lambda: FairClassifier(LogisticRegression(), RULE),
    "out of fold": lambda: FairClassifier(LogisticRegression(), RULE, oracle=Refit(cv=2)),
    "plug-in": lambda: FairClassifier(LogisticRegression(), RULE, oracle=Plugin(cv=2)),
    "algorithm 1": lambda: ExponentiatedGradient(LogisticRegression(), RULE),
    "grid": lambda: GridSearch(LogisticRegression(), RULE, grid="saddle_point"),
}


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize("kind", FITS)
def test_switched_decisions_are_counted_by_hand(kind, tmp_path):
    model = FITS[kind]().fit(X, Y, sensitive_features=GROUPS)
    expected = by_hand(model, X, Y, GROUPS)
    assert sum(gained + lost for _, gained, lost in expected.values()) > 0
    assert_counted(model.switched(), expected)
    equipoise.save(model, tmp_path / "model.equipoise")
    again = equipoise.load(tmp_path / "model.equipoise")
    assert_counted(again.switched(), expected)
    people, labels, groups = OTHERS
    assert_counted(
        again.switched(people, labels, sensitive_features=groups),
        by_hand(model, people, labels, groups),
    )


def test_weights_count_nobody_twice():
    weight = np.random.default_rng(2).uniform(1.0, 9.0, N)
    for constraint_weights in (True, False):
        model = FairClassifier(
            LogisticRegression(), RULE, constraint_weights=constraint_weights
        ).fit(X, Y, sensitive_features=GROUPS, sample_weight=weight)
        assert_counted(model.certificate_.switched, by_hand(model, X, Y, GROUPS))


def test_every_bound_of_a_frontier_has_its_own(tmp_path):
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.01, 0.05, 0.5])
    frontier.fit(X, Y, sensitive_features=GROUPS)
    for eps in (0.01, 0.03, 0.5):
        model = frontier.at(eps)
        assert_counted(model.switched(), by_hand(model, X, Y, GROUPS))
    people, labels, groups = OTHERS
    anew = frontier.recertify(people, labels, sensitive_features=groups).at(0.02)
    assert_counted(anew.switched(), by_hand(anew, people, labels, groups))
    refined = frontier.refine(0.02, X, Y, sensitive_features=GROUPS)
    assert_counted(refined.switched(), by_hand(refined, X, Y, GROUPS))


def test_one_rule_has_its_own():
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.05], nu=0.03)
    frontier.fit(X, Y, sensitive_features=GROUPS)
    data = {"X": X, "y": Y, "sensitive_features": GROUPS}
    model = frontier.at(0.05, deterministic=True, **data)
    assert len(model.classifier_.members) == 1
    assert_counted(model.certificate_.switched, by_hand(model, X, Y, GROUPS))


def test_groups_known_by_probability_get_expected_numbers():
    rng = np.random.default_rng(3)
    women = np.where(GROUPS["sex"] == "F", 0.8, 0.1) + 0.1 * rng.random(N)
    guessed = Probabilities(np.column_stack([women, 1 - women]), groups=["F", "M"])
    model = FairClassifier(LogisticRegression(), RULE).fit(X, Y, sensitive_features=guessed)
    h, before = model.predict_proba(X)[:, 1], model.unconstrained_.predict(X) == "yes"
    for row in model.switched().rows:
        member = {"overall": np.ones(N), "F": women, "M": 1 - women}[row.group] * (row.label == Y)
        assert row.people == pytest.approx(member.sum())
        assert row.gained == pytest.approx(member @ (h * ~before))
        assert row.lost == pytest.approx(member @ ((1 - h) * before))


LEARNERS = [
    LogisticRegression(class_weight="balanced"),
    make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    DecisionTreeClassifier(max_depth=4, class_weight={0: 1, 1: 3}, random_state=0),
    RandomForestClassifier(5, random_state=0),
]
WAYS = [
    partial(FairClassifier),
    partial(FairClassifier, oracle="plugin"),
    partial(FairClassifier, oracle=Refit(threshold="tuned")),
    partial(FairClassifier, objective=Costs(false_negative=3)),
    partial(ExponentiatedGradient, polish=False, max_iter=3),
    partial(GridSearch, grid=[[0.5] + [0.0] * 3]),
    partial(Frontier, bounds=[0.05]),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EquipoiseWarning")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("fit", WAYS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_people_are_counted_against_the_model_that_the_user_has(learner, fit, weighted):
    weight = np.random.default_rng(5).choice([0.5, 1.0, 2.0], N) if weighted else None
    label = (Y == "yes").astype(int)
    model = fit(learner, RULE).fit(X, label, sensitive_features=GROUPS["sex"], sample_weight=weight)
    model = model.at(0.05) if isinstance(model, Frontier) else model
    step = f"{learner.steps[-1][0]}__" if hasattr(learner, "steps") else ""
    own = clone(learner).fit(X, label, **{f"{step}sample_weight": weight}).predict(X)
    np.testing.assert_array_equal(model.unconstrained_.predict(X), own)
    chance = model.predict_proba(X)[:, 1]
    _, gained, lost = model.switched().total()
    assert gained == pytest.approx(chance[own == 0].sum())
    assert lost == pytest.approx((1 - chance[own == 1]).sum())


def test_a_table_and_a_sentence():
    model = FairClassifier(LogisticRegression(), RULE).fit(X, Y, sensitive_features=GROUPS)
    switched = model.switched()
    people, gained, lost = switched.total()
    overall = [row for row in switched.rows if row.group == "overall"]
    assert people == N
    assert gained == pytest.approx(sum(row.gained for row in overall))
    assert lost == pytest.approx(sum(row.lost for row in overall))
    assert f"{gained:,.1f} of 900 people gain" in str(model.certificate_)
    assert model.certificate_.to_dict()["switched"] == switched.total()._asdict()
    assert len(str(switched).splitlines()) == 1 + len(switched.rows)
    assert switched._repr_html_().count("<tr>") == 1 + len(switched.rows)
    frame = switched.to_pandas()
    assert list(frame.columns) == ["feature", "group", "label", "people", "gained", "lost"]
    assert set(frame[frame["feature"] == "sex x age"]["group"]) >= {"F & 20", "M & 40"}


def test_names_of_groups_are_escaped():
    groups = np.where(GROUPS["sex"] == "F", "<b>", "M")
    model = FairClassifier(LogisticRegression(), RULE).fit(X, Y, sensitive_features=groups)
    assert "&lt;b&gt;" in model.switched()._repr_html_()
