"""The driver of solvers."""

from __future__ import annotations

import pytest
from finite_problems import (
    random_problem,
)
from games import game_of

from equipoise.game.exponentiated_gradient import exponentiated_gradient
from equipoise.game.pool import Pool
from equipoise.game.rounds import Limits, Reason, Round, run


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


def test_progress_is_a_line_for_each_round(capsys) -> None:
    run(endless(), Limits(2, verbose=True))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "[optimality] round 1",
        "[optimality] round 2",
    ]
