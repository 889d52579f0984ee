"""The pool: what it asks, and what it keeps."""

from __future__ import annotations

import numpy as np
from finite_problems import (
    FiniteProblem,
    random_problem,
)
from games import game_of

from equipoise.game.pool import Pool, Response


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
