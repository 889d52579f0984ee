"""How a fit of the reductions is kept, runs, stops and is interrupted, and how weights count."""

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
from fitting import RANDOMIZED, REDUCTIONS, A, X, Y, fitted, make
from people import make_people, selection_gap
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
)
from equipoise.game.evidence import Status
from equipoise.rows.hashing import draw_uniform

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


@pytest.mark.processes
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


# Decisions


def test_predictions_pass_through():
    fair = fitted()
    np.testing.assert_array_equal(fair.predict(X), fair.classifier_.predict(X))
    key = np.arange(len(Y))
    np.testing.assert_array_equal(fair.predict(X, key=key), fair.classifier_.predict(X, key=key))
    fresh = fair.predict(X, random_state=3)
    np.testing.assert_array_equal(fresh, fair.classifier_.predict(X, random_state=3))
    weight = np.arange(len(Y)) + 1.0
    pmf = fair.predict_proba(X)
    expected = np.average(pmf[np.arange(len(Y)), Y], weights=weight)
    assert fair.score(X, Y, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_salt():
    seven, eight = fitted(random_state=7, nu=1e-4), fitted(random_state=8, nu=1e-4)
    np.testing.assert_array_equal(seven.predict_proba(X), eight.predict_proba(X))
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
    found = []
    fair = fitted(reduction, callback=found.append)
    rounds = [each.iteration for each in found]
    assert rounds[0] == 1
    assert rounds[-1] == fair.n_iter_ > 1
    assert rounds == sorted(set(rounds))
    assert found[-1].n_calls == fair.n_calls_
    # Of mixtures within nu of the best, the least random one is the result.
    assert found[-1].gap <= fair.certificate_.gap + 1e-12 <= fair.nu_ + 1e-12
    assert found[-1].lower == fair.certificate_.lower
    assert all(np.isclose(each.mixture.weights.sum(), 1) for each in found)


@pytest.mark.parametrize("answer", [True, np.True_])
@pytest.mark.parametrize("reduction", RANDOMIZED)
def test_callback_stops(reduction, answer):
    seen = []

    def stop_at_once(each):
        seen.append(each)
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
    assert fitted(callback=lambda each: answer).n_iter_ == fitted().n_iter_ > 1


@pytest.mark.parametrize("reduction", RANDOMIZED)
def test_verbose(reduction, capsys):
    found = []
    fair = fitted(reduction, verbose=True, callback=found.append)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(found) > 1
    assert f"round {fair.n_iter_}:" in lines[-1]
    for line, each in zip(lines, found, strict=True):
        assert f"{each.n_calls} calls" in line
        assert f"error {each.error:.4f}" in line
        assert f"violation {each.violation:.4f}" in line
        assert "gap" in line
    assert f"{found[-1].gap:.6f}" in lines[-1]
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
    kept = make(reduction, interrupting(spy, at=4 if reduction is GridSearch else 3))
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
    np.testing.assert_allclose(by_weight.predict_proba(X), by_rows.predict_proba(X), atol=1e-6)
    error = [f.certificate_.error for f in (by_weight, by_rows)]
    assert error[0] == pytest.approx(error[1], abs=1e-9)


def test_weights_count_in_error_and_bound():
    weight = np.where((A == 1) & (X[:, 0] > 0.5), 1.0, 5.0)
    fair = make().fit(X, Y, sensitive_features=A, sample_weight=weight)
    selected = fair.predict_proba(X)[:, 1]
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
