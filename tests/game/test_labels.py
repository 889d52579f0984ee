"""More than two labels: the game over finite classes against a linear program of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from labelled_problems import LabelledProblem

from equipoise.cells import Cells
from equipoise.constraints import BoundedGroupError
from equipoise.game.objectives import BalancedError, Costs, loss_table


@pytest.mark.parametrize("seed", range(60))
def test_the_game_ends_at_the_optimum_of_the_whole_program(seed):
    problem = LabelledProblem(seed)
    best, slack = problem.optimum()
    last = problem.solved()
    assert last.least_slack == pytest.approx(max(slack, 0.0), abs=2e-7)
    if best is not None:
        assert last.error == pytest.approx(best, abs=2e-7)
        assert last.lower == pytest.approx(best, abs=2e-7)
        assert last.violation <= 1e-7


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_other_names_of_the_labels_change_nothing(seed):
    problem = LabelledProblem(seed)
    order = np.random.default_rng(seed).permutation(problem.V)
    plain, renamed = problem.solved(), problem.solved(order)
    if problem.V == 2 and order[0] == 1:
        return  # of two labels, many are about the second one
    assert renamed.least_slack == pytest.approx(plain.least_slack, abs=2e-7)
    assert renamed.lower == pytest.approx(plain.lower, abs=2e-7)
    assert renamed.upper == pytest.approx(plain.upper, abs=2e-7)


def three(seed: int = 0) -> tuple[Cells, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label, sex = rng.integers(0, 3, 200), rng.choice(["F", "M"], 200)
    cells = Cells.from_columns(label, {"sex": sex}, decisions=("high", "low", "none"))
    return cells, label, sex, rng.integers(0, 3, 200)


def test_objectives_of_three_labels_are_the_means_row_by_row():
    cells, label, sex, h = three()

    def mean(objective: Any) -> float:
        offset, slope = cells.total(loss_table(objective, cells))
        return float(offset + slope @ cells.sum(h))

    assert mean(None) == pytest.approx((label != h).mean())
    matrix = np.array([[0, 1, 5], [2, 0, 1], [3, 4, 0]])
    assert mean(Costs(matrix=matrix)) == pytest.approx(matrix[label, h].mean())
    each = [(h[label == y] != y).mean() for y in range(3)]
    assert mean(BalancedError()) == pytest.approx(np.mean(each))
    names = np.array(["high", "low", "none"])

    def loss(a: dict, y: str, v: str) -> float:
        return float(y != v) * (1.0 if a["sex"] == "F" else 0.5)

    by_hand = [loss({"sex": s}, names[y], names[v]) for s, y, v in zip(sex, label, h, strict=True)]
    assert mean(loss) == pytest.approx(np.mean(by_hand))


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (Costs(false_negative=5), "Costs.* is about two labels, but there are 3.*Costs.matrix"),
        (Costs(matrix=np.eye(2)), r"shape \(2, 2\) for 3 labels: 'high', 'low', 'none'"),
    ],
)
def test_costs_of_two_labels_are_refused_for_three(objective, says):
    with pytest.raises(ValueError, match=says):
        loss_table(objective, three()[0])


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ([[0, 1]], r"shape \(1, 2\); expected finite numbers"),
        ([[0, -1], [1, 0]], "expected finite numbers >= 0"),
        ([[1, 1], [2, 2]], "no decision costs more than another"),
    ],
)
def test_matrices_that_are_no_costs_are_refused(matrix, says):
    with pytest.raises(ValueError, match=says):
        Costs(matrix=matrix)
    with pytest.raises(ValueError, match="in place of false_positive"):
        Costs(false_negative=2, matrix=[[0, 1], [1, 0]])


def test_group_bounds_hold_the_error_of_decisions_of_every_kind():
    cells, label, sex, h = three()
    moments = BoundedGroupError(0.3).moments(cells)
    gamma = moments.M @ moments.mu(cells.sum(h))
    wrong = {row.group: (h != label)[sex == row.group].mean() for row in moments.rows}
    assert dict(zip((row.group for row in moments.rows), gamma, strict=True)) == pytest.approx(
        wrong
    )
