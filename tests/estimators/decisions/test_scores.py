"""Scores: the chance of the label, a ranking whose sign is the decision, and the fair margin."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from people import make_people
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, get_scorer, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import equipoise
from equipoise import (
    BalancedError,
    Costs,
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
    MinimaxGroupError,
    ResampledClassifier,
    SelectionRate,
)
from equipoise.engines.memory import MemoryEngine
from equipoise.game.rounds import Pool
from equipoise.oracles.candidates import ExactOracle
from equipoise.oracles.specs import BestOf, Plugin, Refit

mpl.use("Agg")
X, Y, A = make_people(600, seed=3)
RULE = DemographicParity(eps=0.02)


def fitted(learner=None, rule=RULE, kind=FairClassifier, y=Y, **how):
    learner = LogisticRegression(tol=1e-8) if learner is None else learner
    return kind(learner, rule, **how).fit(X, y, sensitive_features=A)


# The chance of the decision


@pytest.mark.parametrize("kind", [FairClassifier, ExponentiatedGradient, Frontier])
@pytest.mark.parametrize("oracle", ["refit", "plugin"])
def test_it_is_the_expectation_of_predict(kind, oracle):
    if kind is Frontier:
        frontier = Frontier(LogisticRegression(), RULE, oracle=oracle, bounds=[0.02])
        model = frontier.fit(X, Y, sensitive_features=A).at(0.02)
    else:
        model = fitted(kind=kind, oracle=oracle, rule=DemographicParity(eps=0.05))
    chance, freshly = model.predict_proba(X)[:, 1], np.random.default_rng(0)
    drawn = np.mean([model.predict(X, random_state=freshly) for _ in range(300)], axis=0)
    assert np.abs(drawn - chance).max() < 5 * 0.5 / np.sqrt(300)
    fixed = (chance == 0) | (chance == 1)
    assert fixed.mean() > 0.5
    np.testing.assert_array_equal(drawn[fixed], chance[fixed])
    np.testing.assert_allclose(model.score(X, Y), np.mean(np.where(Y == 1, chance, 1 - chance)))


def test_scikit_learns_cut_is_the_decision_of_a_rule_that_draws_nobody():
    """Whatever goes through predict_proba keeps the bound: what the chance of the label undoes."""
    rule = DemographicParity(eps=0.02, reference="pairwise")
    model = fitted(rule=rule, oracle="plugin", deterministic=True)
    decided, frozen = model.predict(X), FrozenEstimator(model)
    assert abs(decided[A == 1].mean() - decided[A == 0].mean()) <= 0.02 + 1e-9
    by_label = model.label_proba(X).argmax(axis=1)
    assert abs(by_label[A == 1].mean() - by_label[A == 0].mean()) > 0.1
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), decided)
    cut = FixedThresholdClassifier(frozen, threshold=0.5).fit(X, Y)
    np.testing.assert_array_equal(cut.predict(X), decided)
    vote = VotingClassifier([("model", frozen)], voting="soft").fit(X, Y)
    np.testing.assert_array_equal(vote.predict(X), decided)
    by_score = FixedThresholdClassifier(
        frozen, threshold=0.0, response_method="decision_function"
    ).fit(X, Y)
    np.testing.assert_array_equal(by_score.predict(X), decided)


# The chance of the label


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"oracle": Refit(threshold="learner")},
        {"oracle": Refit(threshold="tuned")},
        {"oracle": Refit(cv=3)},
        {"oracle": "plugin"},
        {"oracle": "best_of"},
        {"oracle": BestOf(), "rule": EqualizedOdds(eps=0.05)},
        {"kind": ExponentiatedGradient},
        {"kind": GridSearch, "grid_size": 5, "rule": DemographicParity(eps=0.2)},
        {"kind": GridSearch, "grid": "saddle_point", "tradeoff": 0.5},
        {"rule": MinimaxGroupError()},
    ],
    ids=str,
)
def test_it_is_the_learners_own_without_constraints(how):
    """Whatever the bound: a plain fit of the learner to the labels gives the same."""
    model = fitted(**how)
    expected = LogisticRegression(tol=1e-8).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.label_proba(X), expected, atol=1e-4)


@pytest.mark.parametrize("oracle", ["refit", "plugin"])
@pytest.mark.parametrize(
    "objective",
    [Costs(false_negative=4), Costs(3, 1), BalancedError(), Costs(false_negative={0: 1, 1: 3})],
    ids=str,
)
def test_the_objective_does_not_change_it(oracle, objective):
    """The chance of the label is learned from the labels, whatever errors cost."""
    model = fitted(objective=objective, oracle=oracle)
    expected = LogisticRegression(tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.label_proba(X), expected.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(model.unconstrained_.predict(X), expected.predict(X))
    assert ((model.decision_function(X) > 0) == (model.predict(X) == 1)).all()


def test_columns_are_those_of_the_classes():
    words = np.where(Y == 1, "yes", "no")
    model = fitted(y=words)
    assert model.classes_.tolist() == ["no", "yes"]
    found = model.label_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[:, 1], fitted().label_proba(X)[:, 1])
    assert set(model.unconstrained_.predict(X)) == {"no", "yes"}


def test_weights_count():
    weight = np.where(A == 1, 3.0, 1.0)
    model = FairClassifier(LogisticRegression(tol=1e-8), RULE)
    model.fit(X, Y, sensitive_features=A, sample_weight=weight)
    expected = LogisticRegression(tol=1e-8).fit(X, Y, weight).predict_proba(X)
    np.testing.assert_allclose(model.label_proba(X), expected, atol=1e-4)


def test_a_learner_that_selects_nobody_keeps_its_probabilities():
    """The pool has a constant classifier that selects the same; its probabilities are 0 and 1."""
    rare = (np.arange(600) % 50 == 0).astype(int)
    model = fitted(y=rare)
    assert not model.predict_proba(X)[:, 1].any()
    expected = LogisticRegression(tol=1e-8).fit(X, rare).predict_proba(X)
    np.testing.assert_allclose(model.label_proba(X), expected, atol=1e-4)


def test_candidates_of_the_users_own():
    words = np.where(Y == 1, "yes", "no")
    candidates = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, words) for d in (1, 4)]
    model = fitted(candidates, DemographicParity(eps=0.5), y=words)
    np.testing.assert_allclose(model.label_proba(X), candidates[1].predict_proba(X))


def test_no_probabilities():
    for kind in (FairClassifier, GridSearch):
        model = kind(LinearSVC(), DemographicParity(eps=0.5)).fit(X, Y, sensitive_features=A)
        with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
            model.label_proba(X)
        assert model.predict_proba(X).shape == (600, 2)
        # It has scores, so people can be ranked.
        found = model.decision_function(X)
        np.testing.assert_array_equal(found > 0, model.predict(X) == 1)
        assert roc_auc_score(Y, found) > 0.75
    silent = fitted(ResampledClassifier(LinearSVC()), DemographicParity(eps=0.5))
    assert not hasattr(silent, "decision_function")
    with pytest.raises(AttributeError) as raised:
        silent.decision_function(X)
    assert "neither predict_proba nor decision_function" in str(raised.value.__cause__)
    assert np.isfinite(silent.margin(X)).all()


def test_a_solver_that_never_asks_for_the_labels():
    """Algorithm 1 as printed starts from multipliers; the learner is asked once more."""
    few = SelectionRate(at_most=0.3)
    with pytest.warns(ConvergenceWarning):
        printed = fitted(kind=ExponentiatedGradient, polish=False, max_iter=3, rule=few)
    expected = LogisticRegression(tol=1e-8).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(printed.label_proba(X), expected, atol=1e-4)


def test_not_fitted():
    model = FairClassifier(LogisticRegression(), RULE)
    for method in ("predict_proba", "label_proba", "decision_function", "margin", "explain"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
    with pytest.raises(NotFittedError):
        model.select(X, 3)


def test_a_classifier_of_a_frontier():
    again = Frontier(LogisticRegression(tol=1e-8), RULE, bounds=[0.02])
    fair = again.fit(X, Y, sensitive_features=A).at(0.02)
    expected = LogisticRegression(tol=1e-8).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(fair.label_proba(X), expected, atol=1e-4)


def test_an_answer_that_another_stands_for():
    """A pool keeps one of two classifiers that select alike; the answer itself is kept too."""
    pool, costs = Pool(), np.array([1.0, -1.0])
    pool.add("constant", np.array([0.0, 0.5]))
    pool.keep(costs)
    assert pool.answer_to(costs) is None
    assert pool.number_of(costs) is None
    oracle = ExactOracle(["learner", "other"], [[0.0, 0.5], [0.5, 0.0]])
    (number,) = pool.ask(oracle, 2 * costs)  # the same to a learner
    assert pool.classifiers[number] == "constant"
    assert pool.answer_to(costs) == "learner"
    assert pool.number_of(costs) == number


def test_rows_in_batches():
    class Rows:
        def __len__(self):
            return len(X)

        def batches(self):
            yield from np.array_split(X, 7)

        def take(self, rows):
            raise NotImplementedError

    chance = fitted().unconstrained_.label_proba
    np.testing.assert_allclose(MemoryEngine.answer(chance, Rows(), 2), chance(X), atol=1e-12)


# The ranking


@pytest.mark.parametrize("oracle", ["refit", "plugin"])
def test_the_sign_is_the_decision(oracle):
    model = fitted(oracle=oracle)
    key = np.arange(600)
    for how in ({}, {"key": key}):
        found, decided = model.decision_function(X, **how), model.predict(X, **how)
        np.testing.assert_array_equal(found > 0, decided == 1)
        np.testing.assert_array_equal(found >= 0, decided == 1)
        p = model.label_proba(X)[:, 1]
        np.testing.assert_allclose(found, p + (decided == 1) - 1, atol=1e-12)


def test_the_sign_survives_certainty():
    """A leaf of one label has a chance of exactly 0 or 1, whatever is decided there."""
    tree = DecisionTreeClassifier(random_state=0)
    model = fitted(tree, rule=DemographicParity(eps=0.001), oracle="plugin")
    p, decided = model.label_proba(X)[:, 1], model.predict(X) == 1
    assert set(np.unique(p)) == {0.0, 1.0}
    assert (decided != (p == 1)).any()
    found = model.decision_function(X)
    np.testing.assert_array_equal(found > 0, decided)
    np.testing.assert_array_equal(found < 0, ~decided)


def test_scorers_and_displays():
    model = fitted()
    found = model.decision_function(X)
    assert get_scorer("roc_auc")(model, X, Y) == roc_auc_score(Y, found)
    assert get_scorer("average_precision")(model, X, Y) > 0.7
    how = {"response_method": "decision_function"}
    shown = RocCurveDisplay.from_estimator(model, X, Y, **how)
    assert shown.roc_auc == pytest.approx(roc_auc_score(Y, found))
    of_decisions = RocCurveDisplay.from_estimator(model, X, Y)
    assert of_decisions.roc_auc == pytest.approx(roc_auc_score(Y, model.predict_proba(X)[:, 1]))
    shown = CalibrationDisplay.from_predictions(Y, model.label_proba(X)[:, 1], n_bins=5)
    assert np.abs(shown.prob_true - shown.prob_pred).max() < 0.15
    assert roc_auc_score(Y, found) > roc_auc_score(Y, model.predict(X))


def test_searches():
    with config_context(enable_metadata_routing=True):
        model = FairClassifier(LogisticRegression(), RULE).set_fit_request(sensitive_features=True)
        search = GridSearchCV(model, {"estimator__C": [1e-4, 1.0]}, scoring="roc_auc", cv=2)
        search.fit(X, Y, sensitive_features=A)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.label_proba(X).shape == (600, 2)


def test_wrappers_that_leave_decisions_alone():
    model = fitted()
    frozen = FrozenEstimator(model)
    np.testing.assert_array_equal(frozen.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(frozen.predict_proba(X), model.predict_proba(X))
    vote = VotingClassifier([("model", frozen)], voting="soft").fit(X, Y)
    np.testing.assert_array_equal(vote.predict_proba(X), model.predict_proba(X))
    piped = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))
    inside = fitted(piped)
    outside = make_pipeline(StandardScaler(), FairClassifier(LogisticRegression(tol=1e-8), RULE))
    outside.fit(X, Y, fairclassifier__sensitive_features=A)
    np.testing.assert_allclose(outside.predict_proba(X), inside.predict_proba(X), atol=1e-4)
    calibrated = fitted(CalibratedClassifierCV(LogisticRegression()), oracle=Plugin(cv=2))
    assert calibrated.label_proba(X).shape == (600, 2)


# The margin


@pytest.mark.parametrize("oracle", ["refit", "plugin", Refit(threshold="learner")])
@pytest.mark.parametrize("learner", [LogisticRegression(), DecisionTreeClassifier(max_depth=3)])
def test_the_margin_of_one_member_has_the_sign_of_the_decision(oracle, learner):
    grid = fitted(learner, DemographicParity(eps=0.1), GridSearch, oracle=oracle, tradeoff=0.5)
    np.testing.assert_array_equal(grid.margin(X) > 0, grid.predict(X) == 1)


def test_the_margin_is_the_mean_of_the_members():
    model = fitted()
    assert len(model.classifier_.members) == 2
    expected = np.zeros(600)
    for weight, member in zip(model.classifier_.weights, model.classifier_.members, strict=True):
        expected += weight * (member.classifier.decision_function(X) - member.threshold)
    np.testing.assert_allclose(model.margin(X), expected)


# Files


@pytest.mark.parametrize("oracle", ["refit", "plugin", "best_of"])
def test_files_keep_all_of_it(oracle, tmp_path):
    pytest.importorskip("skops")
    model = fitted(oracle=oracle)
    equipoise.save(model, tmp_path / "m")
    again = equipoise.load(tmp_path / "m")
    for method in ("label_proba", "decision_function", "margin"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    here, there = (m.select(X, 77, sensitive_features=A) for m in (model, again))
    assert here.u == there.u
    np.testing.assert_array_equal(here.selected, there.selected)
    assert str(again.explain(X)) == str(model.explain(X))


def test_wrappers_with_a_cut_of_their_own_are_refused(tmp_path):
    pytest.importorskip("skops")
    frozen = FrozenEstimator(fitted())
    cut = FixedThresholdClassifier(frozen, threshold=0.4)
    for wrapper in (cut, CalibratedClassifierCV(frozen)):
        with pytest.raises(TypeError, match="nothing keeps its decisions within the bounds"):
            equipoise.save(wrapper.fit(X, Y), tmp_path / "m")


def test_files_of_frontiers_and_grids(tmp_path):
    pytest.importorskip("skops")
    frontier = Frontier(LogisticRegression(), RULE, bounds=[0.02]).fit(X, Y, sensitive_features=A)
    equipoise.save(frontier, tmp_path / "f")
    again = equipoise.load(tmp_path / "f").at(0.05)
    np.testing.assert_array_equal(again.label_proba(X), frontier.at(0.05).label_proba(X))
    grid = fitted(rule=DemographicParity(eps=0.2), kind=GridSearch, grid_size=3)
    equipoise.save(grid, tmp_path / "g")
    found = equipoise.load(tmp_path / "g").decision_function(X)
    np.testing.assert_array_equal(found, grid.decision_function(X))


def test_made_up_data_of_many_kinds():
    """The sign holds at any seed, learner and oracle."""
    for seed in range(4):
        X, y = make_classification(300, random_state=seed, flip_y=0.2)
        group = (X[:, 0] > 0).astype(int)
        for learner in (LogisticRegression(), DecisionTreeClassifier(max_depth=4)):
            model = FairClassifier(learner, EqualizedOdds(eps=0.05))
            model.fit(X, y, sensitive_features=group)
            found = model.decision_function(X)
            np.testing.assert_array_equal(found > 0, model.predict(X) == 1)
