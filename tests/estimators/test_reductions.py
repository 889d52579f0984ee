"""The reductions as citizens of scikit-learn, and how a fit runs, stops and is interrupted."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pytest
from people import make_people, selection_gap
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
)
from equipoise.game.certificate import Status
from equipoise.rows.hashing import draw_uniform

X, Y, A = make_people(400)
REDUCTIONS = [FairClassifier, ExponentiatedGradient, GridSearch]
RANDOMIZED = REDUCTIONS[:2]


def make(reduction=FairClassifier, learner=None, constraint=None, **parameters):
    learner = LogisticRegression() if learner is None else learner
    constraint = DemographicParity(eps=0.05) if constraint is None else constraint
    if reduction is GridSearch:
        parameters.setdefault("grid_size", 5)
    return reduction(learner, constraint, **parameters)


def fitted(reduction=FairClassifier, **parameters):
    return make(reduction, **parameters).fit(X, Y, sensitive_features=A)


# Parameters


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_parameters_of_the_parts(reduction):
    fair = make(reduction, make_pipeline(StandardScaler(), LogisticRegression()))
    assert fair.get_params()["constraint__eps"] == 0.05
    assert fair.get_params()["estimator__logisticregression__C"] == 1.0
    assert "constraint__eps" not in fair.get_params(deep=False)
    fair.set_params(constraint__eps=0.1, estimator__logisticregression__C=3.0, nu=0.01)
    assert (fair.constraint.eps, fair.estimator[-1].C, fair.nu) == (0.1, 3.0, 0.01)
    with pytest.raises(ValueError, match="epsilon"):
        fair.set_params(constraint__epsilon=0.1)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_parameters_of_both_constraints(reduction):
    fair = make(reduction, constraint=DemographicParity(eps=0.1) & EqualizedOdds(eps=0.2))
    assert fair.get_params()["constraint__0__eps"] == 0.1
    assert fair.get_params()["constraint__1__eps"] == 0.2
    fair.set_params(constraint__0__eps=0.3, constraint__1__reference="pairwise")
    copy = clone(fair)
    assert [part.eps for part in copy.constraint.parts] == [0.3, 0.2]
    assert copy.constraint.parts[1].reference == "pairwise"
    copy.set_params(constraint__1__eps=0.9)
    assert fair.constraint.parts[1].eps == 0.2  # the copy shares nothing
    fair.fit(X, Y, sensitive_features=A)
    if reduction is FairClassifier:
        assert selection_gap(fair.predict_pmf(X)[:, 1], A) <= 0.3 + 1e-7


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_clone_is_unfitted_and_its_own(reduction):
    fair = fitted(reduction)
    copy = clone(fair)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    copy.set_params(constraint__eps=0.4)
    assert fair.constraint.eps == 0.05
    copy.set_params(constraint__eps=0.05).fit(X, Y, sensitive_features=A)
    np.testing.assert_array_equal(copy.predict(X), fair.predict(X))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_fit_writes_no_parameter(reduction):
    fair = make(
        reduction,
        make_pipeline(StandardScaler(), LogisticRegression()),
        DemographicParity(eps=0.1) & EqualizedOdds(eps=0.1),
        sampling_slack=0.01,
        **({"B": None, "callback": lambda play: None} if reduction in RANDOMIZED else {}),
    )
    before = fair.get_params(deep=True)
    frozen = pickle.dumps({k: v for k, v in before.items() if k != "callback"})
    fair.fit(X, Y, sensitive_features=A, sample_weight=np.arange(len(Y)) + 1.0)
    after = fair.get_params(deep=True)
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
    assert pickle.dumps({k: v for k, v in after.items() if k != "callback"}) == frozen
    for name in ("X", "y", "A"):
        assert not hasattr(fair, name)


def test_defaults_are_resolved_into_attributes():
    fair = fitted()
    assert fair.nu_ == pytest.approx(0.1 / np.sqrt(len(Y)))
    assert np.isinf(fair.B_)
    eg = fitted(ExponentiatedGradient)
    assert (eg.nu_, eg.B_) == pytest.approx((0.1 / np.sqrt(len(Y)), np.sqrt(len(Y))))
    given = fitted(nu=0.02, B=7)
    assert (given.nu_, given.B_) == (0.02, 7.0)
    weight = np.where(np.arange(len(Y)) < 100, 1.0, 0.0)
    sparse = make().fit(X, Y, sensitive_features=A, sample_weight=weight)
    assert sparse.nu_ == pytest.approx(0.1 / np.sqrt(100))


# Copies on disk


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_pickle_and_joblib(reduction, tmp_path):
    fair = fitted(reduction)
    joblib.dump(fair, tmp_path / "fair.joblib")
    for copy in (pickle.loads(pickle.dumps(fair)), joblib.load(tmp_path / "fair.joblib")):
        np.testing.assert_array_equal(copy.predict(X), fair.predict(X))
        assert copy.get_params()["constraint__eps"] == 0.05
        if reduction in RANDOMIZED:
            assert str(copy.certificate_) == str(fair.certificate_)
            assert copy.certificate_.error == fair.certificate_.error


def test_another_process_decides_alike(tmp_path):
    fair = fitted(nu=1e-4)
    assert len(fair.classifier_.members) > 1
    joblib.dump((fair, X[::-1]), tmp_path / "fair.joblib")
    code = (
        f"import joblib; fair, X = joblib.load({str(tmp_path / 'fair.joblib')!r});"
        "print(*fair.predict(X))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "99"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(d) for d in fair.predict(X)[::-1]]


class ArrayWatcher(pickle.Pickler):
    """Pickles, and notes the length of every array on the way."""

    def __init__(self) -> None:
        self.file = io.BytesIO()
        self.longest = 0
        super().__init__(self.file, protocol=5)

    def reducer_override(self, obj):
        if isinstance(obj, np.ndarray):
            self.longest = max(self.longest, obj.size)
        if isinstance(obj, (list, tuple)):
            self.longest = max(self.longest, len(obj))
        return NotImplemented


@pytest.mark.parametrize("n", [1_000, 50_000])
@pytest.mark.parametrize("reduction", RANDOMIZED)
@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.02), EqualizedOdds(eps=0.02)])
def test_no_training_data_inside(constraint, reduction, n):
    X, y, A = make_people(n, groups=3)
    weight = np.random.default_rng(0).random(n)
    # A pipeline, and an X of a kind that is easily kept by accident.
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    fair = make(reduction, learner, constraint, nu=0.01)
    fair.fit(X, y, sensitive_features=A, sample_weight=weight)
    members = fair.classifier_.members
    assert 1 < len(members) <= len(fair.certificate_.rows) + 1
    assert len(fair.people_.sketch) == min(n, 4096)  # hashes of rows, and no more with more rows
    fair.people_ = None
    watcher = ArrayWatcher()
    watcher.dump(fair)
    assert watcher.longest < 100
    alone = sum(len(pickle.dumps(member)) for member in members)
    assert len(watcher.file.getvalue()) <= alone + 20_000


# Pipelines and searches


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.usefixtures("routing")
def test_last_step_of_a_pipeline(reduction):
    loose = DemographicParity(eps=0.3)
    fair = make(reduction, constraint=loose).set_fit_request(
        sensitive_features=True, sample_weight=True
    )
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    outer = Pipeline([("scale", scaler), ("fair", fair)])
    weight = np.random.default_rng(0).integers(1, 3, len(Y))
    outer.fit(X, Y, sensitive_features=A, sample_weight=weight)
    alone = make(reduction, constraint=loose).fit(
        StandardScaler().fit_transform(X), Y, sensitive_features=A, sample_weight=weight
    )
    np.testing.assert_array_equal(
        outer.predict(X), alone.predict(StandardScaler().fit_transform(X))
    )
    assert outer.set_params(fair__constraint__eps=0.5)[-1].constraint.eps == 0.5


def test_last_step_of_a_pipeline_without_routing():
    outer = make_pipeline(StandardScaler(), make())
    outer.fit(X, Y, fairclassifier__sensitive_features=A)
    assert selection_gap(outer[-1].predict_pmf(outer[0].transform(X))[:, 1], A) <= 0.05 + 1e-7
    with pytest.raises(ValueError, match="set_fit_request"):
        make_pipeline(StandardScaler(), make()).fit(X, Y)


@pytest.mark.usefixtures("routing")
def test_pipeline_passes_the_key_on():
    fair = make(nu=1e-4).set_fit_request(sensitive_features=True).set_predict_request(key=True)
    outer = make_pipeline(StandardScaler(), fair).fit(X, Y, sensitive_features=A)
    key = np.arange(len(Y))
    inner = outer[-1].predict(outer[0].transform(X), key=key)
    np.testing.assert_array_equal(outer.predict(X, key=key), inner)
    assert (outer.predict(X, key=key) != outer.predict(X, key=key + 1)).any()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.usefixtures("routing")
def test_search_over_the_bound(reduction):
    fair = make(reduction).set_fit_request(sensitive_features=True)
    search = GridSearchCV(fair, {"constraint__eps": [0.02, 0.3]}, cv=2, error_score="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a grid of 5 need not meet 0.02
        search.fit(X, Y, sensitive_features=A)
    assert search.best_params_ == {"constraint__eps": 0.3}  # accuracy alone prefers no bound
    assert search.best_estimator_.constraint.eps == 0.3
    assert fair.constraint.eps == 0.05
    assert len(search.cv_results_["params"]) == 2


@pytest.mark.usefixtures("routing")
def test_search_through_a_pipeline():
    fair = make().set_fit_request(sensitive_features=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), fair),
        {"fairclassifier__constraint__eps": [0.05, 0.3], "fairclassifier__estimator__C": [1.0]},
        cv=2,
        error_score="raise",
    ).fit(X, Y, sensitive_features=A)
    assert set(search.best_params_) == {
        "fairclassifier__constraint__eps",
        "fairclassifier__estimator__C",
    }


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.usefixtures("routing")
def test_cross_validate(reduction):
    fair = make(reduction, constraint=DemographicParity(eps=0.3))
    fair.set_fit_request(sensitive_features=True)
    params = {"sensitive_features": A}
    result = cross_validate(
        fair, X, Y, params=params, cv=3, return_estimator=True, error_score="raise"
    )
    assert (result["test_score"] > 0.6).all()
    for part in result["estimator"]:
        check_is_fitted(part)
    scores = cross_val_score(fair, X, Y, params=params, cv=3)
    np.testing.assert_allclose(scores, result["test_score"])


@pytest.mark.usefixtures("routing")
def test_search_without_a_request_says_what_to_do():
    with pytest.raises(Exception, match=r"sensitive_features"):
        cross_validate(make(), X, Y, params={"sensitive_features": A}, error_score="raise")
    # Not passing A at all is caught by the estimator itself.
    fair = make().set_fit_request(sensitive_features=True)
    with pytest.raises(ValueError, match="set_fit_request"):
        cross_validate(fair, X, Y, cv=2, error_score="raise")


@pytest.mark.usefixtures("routing")
def test_requests():
    fair = make().set_fit_request(sensitive_features=True, sample_weight="weight")
    requests = fair.get_metadata_routing().fit.requests
    assert requests["sensitive_features"] is True
    assert requests["sample_weight"] == "weight"
    assert requests["control_features"] is None
    assert clone(fair).get_metadata_routing().fit.requests == requests


# Looks


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_html(reduction):
    fair = make(reduction, make_pipeline(StandardScaler(), LogisticRegression()))
    for state in (fair, fair.fit(X, Y, sensitive_features=A)):
        html = state._repr_html_()
        for part in (reduction.__name__, "StandardScaler", "LogisticRegression"):
            assert part in html
    assert "DemographicParity(eps=0.05)" in repr(fair)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_feature_names(reduction):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(X, columns=["age", "income", "debt"])
    fair = make(reduction).fit(frame, Y, sensitive_features=A)
    assert fair.feature_names_in_.tolist() == ["age", "income", "debt"]
    with pytest.raises(ValueError, match="feature names should match"):
        fair.predict(frame[["debt", "age", "income"]])
    with pytest.raises(ValueError, match=r"2 features.*expecting 3"):
        fitted(reduction).predict(X[:, :2])
    fair.fit(X, Y, sensitive_features=A)
    assert not hasattr(fair, "feature_names_in_")


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_unfitted(reduction):
    methods = ["predict", "predict_pmf", "score"] if reduction in RANDOMIZED else ["predict"]
    for method in methods:
        arguments = (X, Y) if method == "score" else (X,)
        with pytest.raises(NotFittedError):
            getattr(make(reduction), method)(*arguments)


def test_predictions_pass_through():
    fair = fitted()
    np.testing.assert_array_equal(fair.predict(X), fair.classifier_.predict(X))
    key = np.arange(len(Y))
    np.testing.assert_array_equal(fair.predict(X, key=key), fair.classifier_.predict(X, key=key))
    fresh = fair.predict(X, random_state=3)
    np.testing.assert_array_equal(fresh, fair.classifier_.predict(X, random_state=3))
    weight = np.arange(len(Y)) + 1.0
    pmf = fair.predict_pmf(X)
    expected = np.average(pmf[np.arange(len(Y)), Y], weights=weight)
    assert fair.score(X, Y, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_salt():
    seven, eight = fitted(random_state=7, nu=1e-4), fitted(random_state=8, nu=1e-4)
    np.testing.assert_array_equal(seven.predict_pmf(X), eight.predict_pmf(X))
    assert (seven.predict(X) != eight.predict(X)).any()
    np.testing.assert_array_equal(seven.predict(X), fitted(random_state=7, nu=1e-4).predict(X))


def test_salt_of_a_problem():
    """The same people and labels share a salt at any bound; another problem has its own."""
    fair = fitted()
    salt = fair.classifier_.random_state
    np.testing.assert_array_equal(fair.predict(X), fitted().predict(X))
    assert fitted(max_iter=3).classifier_.random_state == salt
    rule = DemographicParity(eps=0.07)
    other = FairClassifier(LogisticRegression(C=0.1), rule).fit(X, Y, sensitive_features=A)
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.01, 0.05])
    frontier.fit(X, Y, sensitive_features=A)
    gradient = ExponentiatedGradient(LogisticRegression(), rule, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient.fit(X, Y, sensitive_features=A)
    same = [other, frontier.at(0.01), frontier.at(0.05), frontier.at(0.03), gradient]
    order = np.random.default_rng(0).permutation(len(Y))
    same.append(clone(other).fit(X[order], Y[order], sensitive_features=A[order]))
    assert {model.classifier_.random_state for model in same} == {salt}
    changed = Y.copy()
    changed[:3] = 1 - changed[:3]
    hired = FairClassifier(LogisticRegression(), rule).fit(X, changed, sensitive_features=A)
    assert hired.classifier_.random_state != salt
    people = np.arange(20_000)
    u, v = (draw_uniform(people, salt=m.classifier_.random_state) for m in (fair, hired))
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.03


# Progress


@pytest.mark.parametrize("reduction", RANDOMIZED)
def test_callback_receives_every_round(reduction):
    plays = []
    fair = fitted(reduction, callback=plays.append)
    rounds = [play.iteration for play in plays]
    assert rounds[0] == 1
    assert rounds[-1] == fair.n_iter_ > 1
    assert rounds == sorted(set(rounds))
    assert plays[-1].n_calls == fair.n_calls_
    # Of mixtures within nu of the best, the least random one is the result.
    assert plays[-1].gap <= fair.certificate_.gap + 1e-12 <= fair.nu_ + 1e-12
    assert plays[-1].lower == fair.certificate_.lower
    assert all(np.isclose(play.mixture.weights.sum(), 1) for play in plays)


@pytest.mark.parametrize("answer", [True, np.True_])
@pytest.mark.parametrize("reduction", RANDOMIZED)
def test_callback_stops(reduction, answer):
    seen = []

    def stop_at_once(play):
        seen.append(play)
        return answer

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no word about convergence: the user wanted it
        fair = fitted(reduction, callback=stop_at_once, nu=1e-9)
    assert len(seen) == fair.n_iter_ == 1
    assert fair.predict(X).shape == Y.shape
    assert fair.certificate_.gap > 1e-9
    assert "search gap NOT closed" in str(fair.certificate_)


@pytest.mark.parametrize("answer", [None, False, 1, "go on"])
def test_other_answers_do_not_stop(answer):
    assert fitted(callback=lambda play: answer).n_iter_ == fitted().n_iter_ > 1


@pytest.mark.parametrize("reduction", RANDOMIZED)
def test_verbose(reduction, capsys):
    plays = []
    fair = fitted(reduction, verbose=True, callback=plays.append)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(plays) > 1
    assert f"round {fair.n_iter_}:" in lines[-1]
    for line, play in zip(lines, plays, strict=True):
        assert f"{play.n_calls} fits" in line
        assert f"error {play.error:.4f}" in line
        assert f"violation {play.violation:.4f}" in line
        assert "gap" in line
    assert f"{plays[-1].gap:.6f}" in lines[-1]
    fitted(reduction)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("reduction", RANDOMIZED)
def test_warning_when_rounds_run_out(reduction):
    with pytest.warns(ConvergenceWarning) as caught:
        fair = fitted(reduction, nu=1e-7, max_iter=2)
    [message] = [str(w.message) for w in caught]
    assert "stopped by max_iter after 2 rounds" in message
    assert f"gap is {fair.certificate_.gap:.3g}" in message
    assert f"the bounds are {fair.certificate_.status.value}" in message
    assert "nu=1e-07" in message
    assert "Raise max_iter" in message
    assert fair.n_iter_ == 2
    assert fair.certificate_.gap > 1e-7


@pytest.mark.parametrize("reduction", RANDOMIZED)
def test_no_warning_when_converged(reduction):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fair = fitted(reduction)
    assert fair.certificate_.is_optimal()


def test_one_fit_when_nothing_needs_to_change(spy):
    fair = make(learner=spy(), constraint=DemographicParity(eps=0.4))
    fair.fit(X, Y, sensitive_features=A)
    assert len(spy.seen) == fair.n_calls_ == 1
    np.testing.assert_array_equal(fair.predict(X), LogisticRegression().fit(X, Y).predict(X))


# Interruption


def interrupting(spy, at):
    class Interrupted(spy):
        def fit(self, X, y, sample_weight=None):
            if len(self.seen) == at - 1:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    return Interrupted()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_interrupt_before_the_first_round_leaves_no_half_fitted_object(reduction, spy):
    new = make(reduction, interrupting(spy, at=1))
    before = dict(vars(new))
    with pytest.raises(KeyboardInterrupt):
        new.fit(X, Y, sensitive_features=A)
    assert vars(new) == before
    with pytest.raises(NotFittedError):
        new.predict(X)

    old = fitted(reduction)
    decisions, before = old.predict(X), dict(vars(old))
    spy.seen.clear()
    old.estimator = interrupting(spy, at=1)
    with pytest.raises(KeyboardInterrupt):
        old.fit(X[:300, :2], Y[:300], sensitive_features=A[:300])
    assert {k: v for k, v in vars(old).items() if k != "estimator"} == {
        k: v for k, v in before.items() if k != "estimator"
    }
    np.testing.assert_array_equal(old.predict(X), decisions)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_interrupt_keeps_what_was_found(reduction, spy):
    kept = make(reduction, interrupting(spy, at=3))
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard"):
        kept.fit(X, Y, sensitive_features=A)
    assert kept.predict(X).shape == Y.shape
    if reduction is FairClassifier:
        # Whether the bound can be met is not known, and nothing says otherwise.
        assert kept.certificate_.status is Status.NOT_YET
        assert "impossible" not in str(kept.certificate_)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_error_leaves_the_old_fit(reduction):
    fair = fitted(reduction)
    decisions = fair.predict(X)
    with pytest.raises(ValueError, match="sensitive_features"):
        fair.fit(X[:, :2], Y)
    np.testing.assert_array_equal(fair.predict(X), decisions)


# Weights of examples


@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.03), EqualizedOdds(eps=0.03)])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", ["tree", "logistic regression"])
def test_weight_two_is_the_row_twice(weighted, reduction, constraint):
    # More rows than before: the weights that learners get sum to as much as those of the rows, so
    # that a penalty of their own weighs the same against them.
    times = np.random.default_rng(5).permutation(np.repeat([0, 1, 2], [50, 200, 150]))
    rows = np.repeat(np.arange(len(Y)), times)
    learner = (
        DecisionTreeClassifier(max_depth=3, random_state=0)
        if weighted == "tree"
        else LogisticRegression(tol=1e-10, max_iter=10_000)
    )
    # The defaults of nu and B follow the effective sample size, which is not the sum of weights.
    options = {"grid_size": 3} if reduction is GridSearch else {"nu": 1e-3, "B": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a grid of 3 need not meet the bound
        by_weight = make(reduction, learner, constraint, **options).fit(
            X, Y, sensitive_features=A, sample_weight=times
        )
        by_rows = make(reduction, learner, constraint, **options).fit(
            X[rows], Y[rows], sensitive_features=A[rows]
        )
    if reduction is GridSearch:
        np.testing.assert_array_equal(by_weight.predict(X), by_rows.predict(X))
        assert by_weight.best_index_ == by_rows.best_index_
        return
    np.testing.assert_allclose(by_weight.predict_pmf(X), by_rows.predict_pmf(X), atol=1e-6)
    error = [f.certificate_.error for f in (by_weight, by_rows)]
    assert error[0] == pytest.approx(error[1], abs=1e-9)


def test_weights_count_in_error_and_bound():
    weight = np.where((A == 1) & (X[:, 0] > 0.5), 1.0, 5.0)
    fair = make().fit(X, Y, sensitive_features=A, sample_weight=weight)
    selected = fair.predict_pmf(X)[:, 1]
    overall = np.average(selected, weights=weight)
    for a in (0, 1):
        rate = np.average(selected[a == A], weights=weight[a == A])
        assert abs(rate - overall) <= 0.05 + 1e-7
    wrong = np.where(Y == 1, 1 - selected, selected)
    assert fair.certificate_.error == pytest.approx(np.average(wrong, weights=weight))
    # Without their weights the same people are outside the bound: the weights did count.
    assert selection_gap(selected, A) > 0.05


@pytest.mark.parametrize(("eta", "resolved"), [(None, None), (0.5, 0.5)])
def test_the_step_is_resolved_into_eta(eta, resolved):
    people = make_people(200)
    reduction = ExponentiatedGradient(LogisticRegression(), DemographicParity(0.1), eta=eta)
    reduction.fit(people.X, people.y, sensitive_features=people.A)
    assert reduction.eta_ == resolved
    assert reduction.eta == eta


class CountedTree(DecisionTreeClassifier):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        CountedTree.fits += 1
        return super().fit(X, y, sample_weight)


def test_checkpoint_of_a_grid_is_read_again(people, tmp_path):
    tree = CountedTree(max_depth=2, random_state=0)
    plain = GridSearch(tree, DemographicParity(eps=0.3), grid_size=5)
    kept = clone(plain).set_params(checkpoint=tmp_path)
    for grid in (plain, kept):
        grid.fit(people.X, people.y, sensitive_features=people.A)
    fits = CountedTree.fits
    again = clone(kept).fit(people.X, people.y, sensitive_features=people.A)
    assert CountedTree.fits == fits
    assert [c.error for c in again.candidates_] == [c.error for c in plain.candidates_]
    assert again.predict(people.X).tolist() == plain.predict(people.X).tolist()


@pytest.mark.parametrize("kind", [FairClassifier, ExponentiatedGradient])
def test_checkpoint_keeps_what_was_trained(people, tmp_path, kind):
    def fitted(**more):
        tree = CountedTree(max_depth=2, random_state=0)
        clf = kind(tree, DemographicParity(eps=0.02), max_iter=8, **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clf.fit(people.X, people.y, sensitive_features=people.A)

    plain = fitted()
    fitted(checkpoint=tmp_path, callback=lambda play: play.iteration == 2)
    kept, fits = len(list(tmp_path.glob("answer-*.joblib"))), CountedTree.fits
    assert kept > 0
    again = fitted(checkpoint=tmp_path)
    written = len(list(tmp_path.glob("answer-*.joblib")))
    assert CountedTree.fits - fits <= written - kept  # what is there is not trained again
    assert again.certificate_.error == plain.certificate_.error
    assert again.predict(people.X).tolist() == plain.predict(people.X).tolist()
