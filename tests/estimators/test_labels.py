"""Estimators with more than two labels: rates from raw arrays, files, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from people import three_labels
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equipoise
from equipoise import (
    Costs,
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    FourFifthsRule,
    Frontier,
    GridSearch,
    Monitor,
    Probabilities,
    SelectionRate,
    rate,
)
from equipoise.cells import Cells
from equipoise.constraints import UtilityParity
from equipoise.estimators.guarantees.strata import RowStrata
from equipoise.exceptions import (
    InfeasibleWarning,
    RareLabelWarning,
    RepeatedBatchWarning,
)
from equipoise.game import PersonCosts
from equipoise.guarantees.detector import Detector
from equipoise.metrics.audit import Tally
from equipoise.oracles import Plugin, Refit

NAMES = np.array(["low", "mid", "top"])
X, Y, A = three_labels()


def differences(pmf: np.ndarray) -> np.ndarray:
    """Between the two groups, for each decision."""
    return np.abs(pmf[A == "a"].mean(axis=0) - pmf[A == "b"].mean(axis=0))


@pytest.fixture(scope="module")
def fair():
    model = FairClassifier(LogisticRegression(), DemographicParity(0.05, reference="pairwise"))
    return model.fit(X, Y, sensitive_features=A)


def test_rates_of_all_decisions_are_within_the_bound(fair):
    pmf = fair.predict_proba(X)
    assert pmf.shape == (len(X), 3)
    np.testing.assert_allclose(pmf.sum(axis=1), 1.0)
    assert differences(pmf).max() <= 0.05 + 1e-7
    right = np.array([pmf[i, np.flatnonzero(y == NAMES)[0]] for i, y in enumerate(Y)])
    assert fair.certificate_.error == pytest.approx(1 - right.mean())
    assert fair.score(X, Y) == pytest.approx(right.mean())
    assert fair.certificate_.gap <= fair.nu_
    fair.certificate_.check()


def test_decisions_are_labels_and_drawn_as_often_as_they_say(fair):
    decided = fair.predict(X)
    assert set(decided) <= set(NAMES)
    often = np.mean([fair.predict(X, random_state=k) == "top" for k in range(60)])
    assert often == pytest.approx(fair.predict_proba(X)[:, 2].mean(), abs=0.02)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(fair.predict(X[order]), decided[order])


def test_scores_have_the_sign_of_the_decision(fair):
    score = fair.decision_function(X)
    np.testing.assert_array_equal(NAMES[score.argmax(axis=1)], fair.predict(X))
    plain = LogisticRegression().fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(fair.label_proba(X), plain, atol=1e-4)


@pytest.mark.parametrize("oracle", [Plugin(cv=3), Refit(cv=3)])
def test_out_of_fold_bounds(oracle):
    constraint = EqualizedOdds(0.1, min_size=5)
    model = FairClassifier(LogisticRegression(), constraint, oracle=oracle)
    model.fit(X, Y, sensitive_features=A)
    assert model.certificate_.feasible
    assert model.certificate_.gap <= model.nu_
    assert set(model.violations_) == {"train", "out_of_fold"}


def test_only_the_decisions_named_are_bounded():
    model = FairClassifier(
        LogisticRegression(), DemographicParity(0.0, decisions=["top"]), oracle="plugin"
    )
    model.fit(X, Y, sensitive_features=A)
    assert {row.event.decision for row in model.certificate_.rows} == {"top"}
    named = FairClassifier(LogisticRegression(), FourFifthsRule(positive="top"))
    pmf = named.fit(X, Y, sensitive_features=A).predict_proba(X)[:, 2]
    a, b = pmf[A == "a"].mean(), pmf[A == "b"].mean()
    assert min(a / b, b / a) >= 0.8 - 1e-6


def test_rates_written_as_expressions():
    cap = rate("selected", decision="top", group="a") <= 0.2
    both = cap & (rate("tpr", decision="low") >= 0.5)
    pmf = (
        FairClassifier(LogisticRegression(), both).fit(X, Y, sensitive_features=A).predict_proba(X)
    )
    assert pmf[A == "a", 2].mean() <= 0.2 + 1e-7
    assert pmf[Y == "low", 0].mean() >= 0.5 - 1e-7


def test_constants_are_known_from_the_start():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = FairClassifier(tree, DemographicParity(0.0)).fit(X, Y, sensitive_features=A)
    assert model.certificate_.feasible
    assert model.certificate_.error <= min((name != Y).mean() for name in NAMES) + 1e-9


def test_costs_of_pairs_of_label_and_decision():
    matrix = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0]])
    model = FairClassifier(
        LogisticRegression(), DemographicParity(1.0), objective=Costs(matrix=matrix)
    )
    pmf = model.fit(X, Y, sensitive_features=A).predict_proba(X)
    code = np.searchsorted(NAMES, Y)
    assert model.certificate_.error == pytest.approx((matrix[code] * pmf).sum(axis=1).mean())
    plain = LogisticRegression().fit(X, Y).predict(X)
    assert pmf[:, 2].mean() < (plain == "top").mean()
    np.testing.assert_array_equal(model.unconstrained_.predict(X), plain)


def test_a_frontier_and_its_file(tmp_path):
    frontier = Frontier(
        LogisticRegression(),
        DemographicParity(reference="pairwise"),
        bounds=[0.02, 0.1, 0.3],
        oracle=Plugin(cv=3),
    ).fit(X, Y, sensitive_features=A)
    errors = [point.error for point in frontier.points_]
    assert errors == sorted(errors, reverse=True)
    equipoise.save(frontier, tmp_path / "f.equipoise")
    loaded = equipoise.load(tmp_path / "f.equipoise")
    model = loaded.at(0.05)
    np.testing.assert_array_equal(model.predict(X), frontier.at(0.05).predict(X))
    report = model.report(X, Y, sensitive_features=A)
    pmf = model.predict_proba(X)
    found = report["test"].excess.estimate
    assert found == pytest.approx(differences(pmf).max() - 0.05)
    assert report["test"].excess.low < found < report["test"].excess.high


def test_the_paper_s_algorithm_and_a_grid():
    eg = ExponentiatedGradient(LogisticRegression(), DemographicParity(0.1), nu=0.05)
    eg.fit(X, Y, sensitive_features=A)
    assert eg.certificate_.violation <= 1e-6
    constraint = DemographicParity(0.2, decisions=["top"], reference="pairwise")
    grid = GridSearch(LogisticRegression(), constraint, grid_size=9).fit(X, Y, sensitive_features=A)
    selected = grid.predict(X) == "top"
    assert abs(selected[A == "a"].mean() - selected[A == "b"].mean()) <= 0.2 + 1e-9


def test_candidates_are_searched_in_full():
    trees = [DecisionTreeClassifier(max_depth=k, random_state=0).fit(X, Y) for k in (1, 2, 4)]
    model = FairClassifier(trees, DemographicParity(1.0)).fit(X, Y, sensitive_features=A)
    best = max(tree.score(X, Y) for tree in trees)
    assert model.score(X, Y) == pytest.approx(best)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"deterministic": True}, "deterministic=True is for two labels, but there are 3"),
        ({"confidence": 0.9}, "confidence=0.9 is for two labels"),
        ({"constraint": FourFifthsRule()}, r"FourFifthsRule\(positive='top'\)"),
        ({"constraint": SelectionRate(0.2)}, r"SelectionRate\(positive='top', ...\)"),
        ({"constraint": rate("tpr") >= 0.5}, "Name the one that is meant"),
        ({"constraint": DemographicParity(decisions=["x"])}, "'x', which is no decision here"),
        ({"constraint": DemographicParity(decisions="top")}, "expected a list of one or more"),
        ({"oracle": Refit(threshold="tuned")}, "moves the one cut of two labels, but y has 3"),
    ],
)
def test_what_is_for_two_labels_is_refused(params, says):
    given = {"constraint": DemographicParity(), **params}
    with pytest.raises(ValueError, match=says):
        FairClassifier(LogisticRegression(), **given).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("positive", ["no", 0])
def test_of_two_labels_the_favourable_one_is_named_to_the_estimator(positive):
    bound = DemographicParity(positive=positive)
    with pytest.raises(ValueError, match=r"FairClassifier\(..., positive=label\)"):
        FairClassifier(LogisticRegression(), bound).fit(
            X, np.where(Y == "top", "yes", "no"), sensitive_features=A
        )


def test_rates_by_head_with_weights_in_the_error_only():
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
    bound = DemographicParity(0.05, reference="pairwise")
    model = FairClassifier(LogisticRegression(), bound, constraint_weights=False)
    model.fit(X, Y, sensitive_features=A, sample_weight=weight)
    pmf = model.predict_proba(X)
    assert differences(pmf).max() <= 0.05 + 1e-7
    right = pmf[np.arange(len(X)), np.searchsorted(NAMES, Y)]
    assert model.certificate_.error == pytest.approx(1 - np.average(right, weights=weight))


def test_utilities_of_single_people_have_a_column_for_each_decision():
    u = np.random.default_rng(2).random((len(X), 3)) * [0.3, 1.0, 0.5]
    frame = {f"use_{v}": u[:, v] for v in range(3)} | {f"cost_{v}": 1 - u[:, v] for v in range(3)}
    bound = UtilityParity(0.02, utility="use", reference="pairwise")
    model = FairClassifier(LogisticRegression(), bound, objective=PersonCosts("cost"))
    model.fit(X, Y, sensitive_features=A, utilities=pd.DataFrame(frame))
    used = (model.predict_proba(X) * u).sum(axis=1)
    assert abs(used[A == "a"].mean() - used[A == "b"].mean()) <= 0.02 + 1e-7
    assert model.certificate_.error == pytest.approx(1 - used.mean())
    with pytest.raises(ValueError, match="such as profit_0 to profit_2"):
        model.fit(X, Y, sensitive_features=A, utilities=u[:, :2])


def test_groups_known_by_probability():
    chance = np.random.default_rng(3).beta(0.5, 0.5, len(X))
    bound = DemographicParity(0.04, reference="pairwise")
    groups = Probabilities(np.column_stack([chance, 1 - chance]))
    pmf = FairClassifier(LogisticRegression(), bound).fit(X, Y, sensitive_features=groups)
    pmf = pmf.predict_proba(X)
    rates = [np.average(pmf, axis=0, weights=own) for own in (chance, 1 - chance)]
    assert np.abs(rates[0] - rates[1]).max() <= 0.04 + 1e-7


@pytest.mark.parametrize("kind", ["fair", "frontier", "grid", "gradient"])
def test_labels_of_a_handful_are_said(kind):
    """Three of 400 have one label, 29 another: both are named, by every estimator."""
    y = np.array(Y[:400], dtype="<U4")
    y[:3], y[3:32] = "rare", "seld"
    constraint = DemographicParity(0.2, decisions=["top"], reference="pairwise")
    model = {
        "fair": FairClassifier(LogisticRegression(), constraint, oracle=Plugin(cv=2)),
        "frontier": Frontier(LogisticRegression(), constraint, bounds=[0.2], oracle=Plugin(cv=2)),
        "grid": GridSearch(LogisticRegression(), constraint, grid_size=3),
        "gradient": ExponentiatedGradient(LogisticRegression(), constraint, nu=0.1),
    }[kind]
    with pytest.warns(RareLabelWarning, match="each of the labels 'rare', 'seld': too few") as said:
        model.fit(X[:400], y, sensitive_features=A[:400])
    assert len(said) == 1
    y[32] = "seld"
    with pytest.warns(RareLabelWarning, match="have the label 'rare'"):
        model.fit(X[:400], y, sensitive_features=A[:400])


@pytest.mark.parametrize("constraint", [DemographicParity(0.05), EqualizedOdds(0.1, min_size=5)])
def test_a_monitor_watches_every_decision(constraint, tmp_path):
    model = FairClassifier(LogisticRegression(), constraint, oracle="plugin")
    X, Y, fitted = three_labels()
    model.fit(X, Y, sensitive_features=fitted)
    monitor, rng = Monitor(model), np.random.default_rng(0)
    X, Y, A = three_labels(seed=1)
    monitor.update(X, Y, sensitive_features=A)
    pmf = model.predict_proba(X)
    if isinstance(constraint, DemographicParity):
        value, share = {row.name: row.present for row in monitor.rows_}, (fitted == "a").mean()
        for v, name in enumerate(NAMES):
            a, b = (pmf[one == A, v].mean() for one in "ab")  # overall: in the shares of the fit
            expected = a - (share * a + (1 - share) * b)
            said = f"demographic parity of decision {name}: a above overall by at most 0.05"
            assert value[said] == pytest.approx(expected)
    assert not monitor.alarm_
    monitor.save(tmp_path / "state.json")
    monitor = Monitor.load(tmp_path / "state.json", model)
    for _ in range(15):  # everybody of group a gets "top", drawn decisions
        drawn = np.where(A == "a", "top", rng.choice(NAMES, len(A)))
        with pytest.warns(RepeatedBatchWarning):
            monitor.update(X, Y, sensitive_features=A, decisions=drawn)
    assert monitor.alarm_
    with pytest.raises(
        ValueError, match="expected 'low', 'mid' or 'top', the labels that are known"
    ):
        monitor.update(X, Y, sensitive_features=A, decisions=np.full(len(A), "x"))


def test_false_alarms_about_three_decisions_are_as_rare_as_said():
    """At the bound itself, in 100 runs of 15 days: at most one alarm in 5,000 people on average."""
    bound = DemographicParity(0.1, reference="pairwise")
    chance = {"a": [0.5, 0.3, 0.2], "b": [0.4, 0.3, 0.3]}
    cells = Cells.from_columns(
        np.searchsorted(NAMES, Y), {"group": A}, decisions=tuple(NAMES.tolist())
    )
    strata = RowStrata.of_fit(bound, Tally.of_people(cells, np.array([chance[a] for a in A])))
    rng, alarms, names = np.random.default_rng(1), 0, strata.cells.decisions
    below = {a: np.cumsum(p)[:-1] for a, p in chance.items()}
    for _ in range(100):
        rates = strata.rates[strata.strata]
        detector = Detector(strata.a, strata.c, rates, np.full(6, 0.1), 5000, 1e4)
        for _ in range(15):
            group = rng.choice(["a", "b"], 100)
            h = (rng.random(100)[:, None] > np.array([below[a] for a in group])).sum(axis=1)
            day = Cells.from_columns(np.zeros(100), {"group": group}, decisions=names)
            detector.update(*strata.sums(day, h), 100)
            alarms += detector.alarms().sum()
    assert alarms <= 100 * 1500 / 5000


@pytest.mark.parametrize("unused", [0, 1])
def test_xgboost_on_copies_where_a_label_is_not_in_use(unused, tmp_path):
    """It takes labels 0 to K - 1 only; a label that always costs most is in no copy."""
    learner = pytest.importorskip("xgboost").XGBClassifier(
        n_estimators=3, max_depth=2, n_jobs=1, booster="dart"
    )
    matrix = 1.0 - np.eye(3)
    matrix[:, unused] = 5
    constraint = DemographicParity(0.1, decisions=["top"])
    model = FairClassifier(learner, constraint, objective=Costs(matrix=matrix), nu=0.05)
    model.fit(X[:200], Y[:200], sensitive_features=A[:200])
    used = np.delete(NAMES, unused)
    pmf, code = model.predict_proba(X[:200]), np.searchsorted(NAMES, Y[:200])
    assert pmf[:, unused].max() == 0
    assert (pmf.max(axis=0) > 0).sum() == 2
    assert set(model.predict(X[:200])) == set(used)
    assert model.certificate_.error == pytest.approx((matrix[code] * pmf).sum(axis=1).mean())
    equipoise.save(model, tmp_path / "m.equipoise")
    again = equipoise.load(tmp_path / "m.equipoise")
    np.testing.assert_array_equal(again.predict_proba(X[:200]), pmf)


def test_floors_that_contradict_each_other_are_named():
    floors = [rate("selected", decision=name) >= 0.6 for name in ("low", "top")]
    model = FairClassifier(LogisticRegression(), floors[0] & floors[1])
    with pytest.warns(InfeasibleWarning):
        model.fit(X, Y, sensitive_features=A)
    assert len(model.certificate_.conflict) == 2
    for row, name in zip(model.certificate_.conflict, ("low", "top"), strict=True):
        assert name in str(row)
    assert model.certificate_.least_slack == pytest.approx(0.1)
    shares = model.predict_proba(X).mean(axis=0)
    assert shares[0] == pytest.approx(0.5)
    assert shares[2] == pytest.approx(0.5)


class CountingLearner(LogisticRegression):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingLearner.fits += 1
        return super().fit(X, y, sample_weight)


def test_a_checkpoint_answers_instead_of_the_learner(tmp_path):
    found = []
    for _ in range(2):
        CountingLearner.fits = 0
        model = FairClassifier(CountingLearner(), DemographicParity(0.05), checkpoint=tmp_path)
        pmf = model.fit(X, Y, sensitive_features=A).predict_proba(X)
        found.append((CountingLearner.fits, pmf))
    (first, before), (again, after) = found
    assert first > again == 0
    np.testing.assert_array_equal(before, after)


def test_groups_of_two_attributes_are_within_the_bound():
    B = np.where(X[:, 0] > 0, "p", "q")
    features = {"one": A, "other": B}
    model = FairClassifier(LogisticRegression(), DemographicParity(0.05))
    pmf = model.fit(X, Y, sensitive_features=features).predict_proba(X)
    for a in np.unique(A):
        for b in np.unique(B):
            rates = pmf[(a == A) & (b == B)].mean(axis=0)
            assert np.abs(rates - pmf.mean(axis=0)).max() <= 0.05 + 1e-7
