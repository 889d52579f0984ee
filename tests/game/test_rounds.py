"""The driver of solvers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from finite_problems import (
    FiniteProblem,
    random_problem,
)
from games import game_of

from equipoise.game.exponentiated_gradient import exponentiated_gradient
from equipoise.game.rounds import Limits, Pool, Reason, Response, Round, run


def endless():
    _, _, lagrangian, oracle = game_of(random_problem(1), B=3.0)
    return exponentiated_gradient(lagrangian, oracle, Pool(), nu=1e-9)


def test_a_solver_stops_after_max_iter() -> None:
    outcome = run(endless(), Limits(max_iter=7))
    assert (outcome.last.iteration, outcome.n_rounds, outcome.reason) == (7, 7, Reason.MAX_ITER)


def test_a_callback_stops_a_solver_by_true_alone() -> None:
    seen: list[Round] = []

    def third(found: Round) -> bool:
        seen.append(found)
        return len(seen) == 3

    outcome = run(endless(), Limits(7, third))
    assert (outcome.last.iteration, outcome.reason) == (3, Reason.CALLBACK)
    # A callback that returns something else by accident does not stop it.
    assert run(endless(), Limits(4, lambda found: "carry on")).reason is Reason.MAX_ITER


def test_a_solver_that_ends_is_finished() -> None:
    _, _, lagrangian, oracle = game_of(random_problem(1), B=3.0)
    outcome = run(exponentiated_gradient(lagrangian, oracle, Pool(), nu=0.5), Limits(1000))
    assert outcome.reason is Reason.FINISHED
    assert outcome.last.gap <= 0.5


def test_an_interrupt_keeps_the_rounds_before_it() -> None:
    def interrupted(after: int):
        for found in endless():
            if found.iteration > after:
                raise KeyboardInterrupt
            yield found

    outcome = run(interrupted(after=2), Limits(9))
    assert (outcome.last.iteration, outcome.reason) == (2, Reason.INTERRUPT)
    with pytest.raises(KeyboardInterrupt):  # there is nothing to keep
        run(interrupted(after=0), Limits(9))


def test_an_interrupt_is_told_at_once(capsys) -> None:
    def interrupted():
        yield next(iter(endless()))
        raise KeyboardInterrupt

    assert run(interrupted(), Limits(9, verbose=True)).reason is Reason.INTERRUPT
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "interrupted: the best so far is measured"


def test_progress_is_a_line_for_each_round(capsys) -> None:
    run(endless(), Limits(2, verbose=True))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "[optimality] round 1",
        "[optimality] round 2",
    ]


def test_how_near_the_gap_is_never_goes_back(monkeypatch) -> None:
    told: list[float | None] = []

    @contextmanager
    def telling(verbose: bool):
        yield lambda share, words, line: told.append(share)

    monkeypatch.setattr("equipoise.game.rounds.telling", telling)
    gaps = [np.inf, 0.4, 0.8, 0.1, 0.05]
    rounds = [replace(found, gap=gap) for found, gap in zip(endless(), gaps, strict=False)]
    run(rounds, Limits(9, verbose=True), nu=0.1)
    assert told == pytest.approx([0.0, 0.25, 0.25, 1.0, 1.0])
    told.clear()
    run([rounds[1:4]], Limits(9, verbose=True), nu=0.1)
    assert told == pytest.approx([(0.25 + 0.125 + 1) / 3])
    told.clear()
    run(rounds[:1], Limits(9, verbose=True))  # nothing says how far there is to go
    assert told == [None]


@pytest.mark.parametrize("verbose", ["tqdm", 0.5, [1]])
def test_progress_that_cannot_be_shown_is_refused(verbose) -> None:
    with pytest.raises(ValueError, match="expected False, True"):
        Limits(9, verbose=verbose)
    assert Limits(9, verbose=2).verbose == 2


def test_a_pool_names_the_answer_to_the_most_similar_costs() -> None:
    class Starting:
        exact, out_of_fold, started = False, False, None

        def start_from(self, classifier: str) -> None:
            self.started = classifier

        def best_response(self, costs: np.ndarray) -> Response:
            return Response(f"asked {costs.tolist()} from {self.started}", costs)

    pool, oracle = Pool(), Starting()
    for costs in ([1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.2, 2.0]):
        pool.ask(oracle, np.array(costs))
    starts = [name.split(" from ", 1)[1].split(" from ")[0] for name in pool.classifiers]
    assert starts == ["None", "asked [1.0, 0.0]", "asked [1.0, 0.0]", "asked [0.0, 1.0]"]


class CountingOracle:
    exact, out_of_fold = True, False

    def __init__(self, problem: FiniteProblem) -> None:
        self.oracle, self.asked = game_of(problem).oracle, 0

    def best_response(self, costs: np.ndarray) -> object:
        self.asked += 1
        return self.oracle.best_response(costs)

    def start_from(self, classifier: object) -> None:
        pass


def test_pool_asks_once_for_costs_that_differ_in_scale_only() -> None:
    problem = random_problem(0)
    oracle, pool = CountingOracle(problem), Pool()
    costs = game_of(problem).lagrangian.costs(np.zeros(len(problem.keys)))
    for scale in (1.0, 3.0, 0.1):
        pool.ask(oracle, scale * costs)
    assert (oracle.asked, pool.n_calls, len(pool)) == (1, 1, 1)
    pool.ask(oracle, -costs)
    assert (oracle.asked, pool.n_calls, len(pool)) == (2, 2, 2)


def test_pool_keeps_one_of_two_classifiers_with_equal_shares() -> None:
    pool = Pool()
    assert pool.add("first", np.array([0.1, 0.2])) == 0
    assert pool.add("second", np.array([0.1, 0.3])) == 1
    assert pool.add("like the first", np.array([0.1, 0.2])) == 0
    assert pool.classifiers == ["first", "second"]
    assert pool.s.tolist() == [[0.1, 0.2], [0.1, 0.3]]
