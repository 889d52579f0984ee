"""One rule in place of a mixture: bounds and errors from raw arrays, and when it is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from people import make_people, selection_gap
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, get_scorer
from sklearn.tree import DecisionTreeClassifier

import equipoise
from equipoise import DemographicParity, EqualizedOdds, FairClassifier, Frontier, Monitor
from equipoise.constraints import SelectionRate
from equipoise.estimators.decisions import one_rule
from equipoise.exceptions import LotteryWarning
from equipoise.oracles.specs import BestOf, Plugin, Refit


@pytest.fixture(scope="module")
def people():
    return make_people(3000)


def fitted(people, oracle, constraint, **params):
    model = FairClassifier(LogisticRegression(), constraint, oracle=oracle, **params)
    return model.fit(people.X, people.y, sensitive_features=people.A)


def selected_out_of_fold(people, rule):
    """Decisions of a plug-in rule on people that its probabilities were not learned from."""
    problem = FairClassifier(LogisticRegression(), DemographicParity(), oracle="plugin")._state(
        equipoise.rows.people.People(people.X, people.y, people.A)
    )
    return rule.select(problem.oracle.probabilities)


@pytest.mark.parametrize("constraint", [DemographicParity(0.02), EqualizedOdds(0.05)])
@pytest.mark.parametrize("oracle", ["plugin", "refit"])
def test_one_rule_keeps_the_bounds_and_decides_without_a_draw(people, oracle, constraint):
    mixture = fitted(people, oracle, constraint, nu=4e-3)
    rule = fitted(people, oracle, constraint, nu=4e-3, deterministic=True)
    certificate = rule.certificate_
    assert certificate.why_by_lot == ""
    assert rule.classifier_.weights.tolist() == [1.0]
    assert set(np.unique(rule.predict_proba(people.X))) <= {0.0, 1.0}
    assert certificate.by_lot.share == 0.0
    assert certificate.feasible
    assert certificate.error <= mixture.certificate_.lower + 8e-3 + 1e-9
    assert rule.n_calls_ == mixture.n_calls_
    certificate.check()
    (member,) = rule.classifier_.members
    h = (
        selected_out_of_fold(people, member)
        if oracle == "plugin"
        else member.predict(people.X).astype(bool)
    )
    assert certificate.error == pytest.approx((h != people.y).mean(), abs=1e-9)
    events = [people.y >= 0] if constraint.eps == 0.02 else [people.y == 0, people.y == 1]
    assert max(selection_gap(h[e], people.A[e]) for e in events) <= constraint.eps + 1e-8


@pytest.fixture
def curved(people, monkeypatch):
    """A rule whose prices change with the chance of the label: straight ones are not tried."""
    both = one_rule._of_probabilities
    monkeypatch.setattr(one_rule, "_of_probabilities", lambda *given: both(*given)[1:])
    constraint = EqualizedOdds(0.02, reference="pairwise")
    rule = fitted(people, "plugin", constraint, nu=4e-3, deterministic=True)
    (member,) = rule.classifier_.members
    assert member.slopes.any()
    return rule


def test_prices_may_change_with_the_chance_of_the_label(people, curved, tmp_path):
    assert curved.certificate_.by_lot.share == 0.0
    assert curved.certificate_.feasible
    (member,) = curved.classifier_.members
    cells, chance = member.probabilities(people.X), curved.label_proba(people.X)[:, 1]
    score = -(cells * (member.costs + chance[:, None] * member.slopes)).sum(axis=1)
    selected = curved.predict(people.X)
    np.testing.assert_array_equal(selected, score > 0)
    np.testing.assert_array_equal(curved.margin(people.X) > 0, score > 0)
    found = curved.explain(people.X[:50])
    np.testing.assert_array_equal(found.scores[:, 0] > found.cuts[0], score[:50] > 0)
    check_exported(curved, people, tmp_path)


def test_one_rule_is_monitored_and_reported_by_its_decisions(people, curved):
    new = make_people(1500, seed=5)
    decided = curved.predict(new.X)
    monitor = Monitor(curved).update(new.X, y=new.y, sensitive_features=new.A)
    rates = [[decided[(new.y == label) & (a == new.A)].mean() for a in (0, 1)] for label in (0, 1)]
    differences = np.array([first - second for first, second in rates])
    values = sorted([*differences, *-differences])
    assert sorted(row.present for row in monitor.rows_) == pytest.approx(values, abs=1e-12)
    report = curved.report(new.X, new.y, sensitive_features=new.A)
    assert f"{(decided != new.y).mean():.4f}" in str(report)


def check_exported(rule, people, tmp_path):
    """A model file and an ONNX graph decide the same."""
    equipoise.save(rule, tmp_path / "rule.equipoise")
    again = equipoise.load(tmp_path / "rule.equipoise")
    np.testing.assert_array_equal(again.predict(people.X), rule.predict(people.X))
    assert again.certificate_.by_lot == rule.certificate_.by_lot
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs equipoise[onnx]")
    from equipoise.files.onnx import to_onnx

    graph = to_onnx(rule, people.X)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (chance,) = session.run(None, {"X": people.X})
    np.testing.assert_array_equal(chance[:, 1], rule.predict_proba(people.X)[:, 1])


def test_share_decided_by_lot_is_counted(people):
    fair = fitted(people, "plugin", EqualizedOdds(0.02), nu=1e-3)
    chance = fair.predict_proba(people.X)[:, 1]
    drawn = ((chance > 1e-12) & (chance < 1 - 1e-12)).mean()
    assert 0 < drawn == pytest.approx(fair.certificate_.by_lot.share)
    assert f"{drawn:.2%} of the people measured" in str(fair.certificate_)
    assert fair.certificate_.to_dict()["by_lot"] == pytest.approx(drawn)


@pytest.mark.parametrize("oracle", ["plugin", "refit"])
def test_a_ranking_has_the_sign_of_the_rule(people, oracle):
    rule = fitted(people, oracle, DemographicParity(0.02), nu=4e-3, deterministic=True)
    selected = rule.predict(people.X) == 1
    np.testing.assert_array_equal(rule.decision_function(people.X) >= 0, selected)
    np.testing.assert_array_equal(rule.margin(people.X) > 0, selected)


def test_scorers_and_displays_of_scikit_learn(people, curved):
    pytest.importorskip("matplotlib").use("agg")
    score = curved.decision_function(people.X)
    above = (score[people.y == 1][:, None] > score[people.y == 0]).mean()
    tied = (score[people.y == 1][:, None] == score[people.y == 0]).mean()
    assert get_scorer("roc_auc")(curved, people.X, people.y) == pytest.approx(above + tied / 2)
    curve = RocCurveDisplay.from_estimator(
        curved, people.X, people.y, response_method="decision_function"
    )
    assert curve.roc_auc == pytest.approx(above + tied / 2)
    assert 0 < get_scorer("average_precision")(curved, people.X, people.y) <= 1


@pytest.mark.parametrize("oracle", ["plugin", "refit"])
def test_saved_and_exported(people, oracle, tmp_path):
    rule = fitted(people, oracle, DemographicParity(0.02), nu=1e-4, deterministic=True)
    assert rule.certificate_.by_lot.share == 0.0
    check_exported(rule, people, tmp_path)


def test_a_frontier_takes_its_data_again(people):
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.01, 0.05], nu=4e-3)
    frontier.fit(people.X, people.y, sensitive_features=people.A)
    calls, size = frontier.n_calls_, len(frontier.pool_)
    data = {"X": people.X, "y": people.y, "sensitive_features": people.A}
    rule = frontier.at(0.03, deterministic=True, **data)
    assert rule.get_params()["deterministic"] is True
    assert rule.classifier_.weights.tolist() == [1.0]
    h = rule.predict(people.X)
    assert selection_gap(h, people.A) <= 0.03 + 1e-8
    assert rule.certificate_.error == pytest.approx((h != people.y).mean(), abs=1e-9)
    assert (frontier.n_calls_, len(frontier.pool_)) == (calls, size)
    with pytest.raises(ValueError, match="Pass the data of fit again"):
        frontier.at(0.03, deterministic=True)
    with pytest.raises(ValueError, match="are for deterministic=True"):
        frontier.at(0.03, **data)
    some = {name: values[1:] for name, values in data.items()}
    with pytest.raises(ValueError, match="expected its data again"):
        frontier.at(0.03, deterministic=True, **some)
    again = frontier.recertify(**data)
    with pytest.raises(ValueError, match="frontier that was fitted"):
        again.at(0.03, deterministic=True, **data)


def test_other_rows_of_the_same_cells_are_noticed(people):
    frontier = Frontier(
        LogisticRegression(), DemographicParity(), bounds=[0.02], oracle=Plugin(cv=2), nu=1e-3
    ).fit(people.X, people.y, sensitive_features=people.A)
    order = np.random.default_rng(0).permutation(3000)
    other = {"X": people.X[order], "y": people.y, "sensitive_features": people.A}
    with pytest.raises(ValueError, match="but others, or with other features"):
        frontier.at(0.02, deterministic=True, **other)
    frontier.people_ = None  # without a fingerprint the decisions tell
    with pytest.raises(equipoise.exceptions.DeploymentError):
        frontier.at(0.02, deterministic=True, **other)


def test_a_fragile_rule_is_refused_with_the_reason(people, monkeypatch):
    monkeypatch.setattr(one_rule, "_UNSTABLE", -1.0)
    with pytest.warns(LotteryWarning, match="fragile") as warned:
        fair = fitted(people, "plugin", EqualizedOdds(0.02), nu=1e-3, deterministic=True)
    assert len(warned) == 1
    assert len(fair.classifier_.members) > 1
    assert fair.certificate_.why_by_lot in str(fair.certificate_)
    assert fair.certificate_.to_dict()["why_by_lot"].startswith("one rule was asked for, but")


class NoScores(ClassifierMixin, BaseEstimator):
    """Decides by a stump, and tells nothing but its decisions."""

    def fit(self, X, y, sample_weight=None):
        self.tree_ = DecisionTreeClassifier(max_depth=2).fit(X, y, sample_weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


@pytest.mark.parametrize("oracle", ["plugin", "refit"])
def test_constants_alone_are_left_to_the_lot(people, oracle):
    X = np.zeros((200, 1))  # tells nobody apart
    half = SelectionRate(at_least=0.4) & SelectionRate(at_most=0.5)
    model = FairClassifier(LogisticRegression(), half, oracle=oracle, deterministic=True)
    with pytest.warns(LotteryWarning, match="one rule was asked for"):
        model.fit(X, people.y[:200], sensitive_features=people.A[:200])
    assert model.certificate_.feasible


def test_a_learner_without_scores_is_left_to_the_lot(people):
    model = FairClassifier(NoScores(), DemographicParity(0.02), nu=1e-4, deterministic=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(people.X, people.y, sensitive_features=people.A)
    words = [str(w.message) for w in caught if w.category is LotteryWarning]
    assert len(model.classifier_.members) > 1
    assert len(words) == 1
    assert "no scores" in words[0]


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"deterministic": "yes"}, "deterministic is 'yes'"),
        ({"deterministic": True, "oracle": Refit(cv=3)}, "models that are not kept"),
        ({"deterministic": True, "oracle": BestOf()}, "models that are not kept"),
        (
            {"deterministic": True, "confidence": 0.95, "proof": "forward"},
            "got deterministic=True",
        ),
    ],
)
def test_refused_before_any_work(people, params, match):
    class Unused(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("trained")

    model = FairClassifier(Unused(), DemographicParity(0.02), **params)
    with pytest.raises(ValueError, match=match):
        model.fit(people.X, people.y, sensitive_features=people.A)


def test_nothing_to_draw_is_left_as_it_is(people):
    fair = fitted(people, "refit", DemographicParity(0.9), deterministic=True)
    assert len(fair.classifier_.members) == 1
    assert fair.certificate_.why_by_lot == ""
