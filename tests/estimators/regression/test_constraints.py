"""Strata, several attributes and weights of a regressor, against programs from raw arrays."""

from __future__ import annotations

import numpy as np
import pytest
from finite_regression import Finite
from regression_problems import LOSSES, FiniteRegression, least_bound, least_loss

from equipoise import BoundedGroupLoss, DemographicParity
from equipoise.cells import Cells
from equipoise.cells.threshold_table import ThresholdCells
from equipoise.constraints.regression import for_numbers
from equipoise.estimators.regression.problem import game_of
from equipoise.game.column_generation import column_generation
from equipoise.game.rounds import Pool


class Crowd:
    """People of a random problem with a second attribute and a stratum."""

    def __init__(self, seed):
        self.problem = FiniteRegression.random(seed)
        n = len(self.problem.y)
        rng = np.random.default_rng(seed)
        self.sex, self.race = self.problem.group % 2, rng.integers(0, 2, n)
        self.stratum = rng.integers(0, 2, n)
        self.everybody = np.ones(n, dtype=bool)

    def members(self, groups, stratum):
        """Who is in each group that is compared, stratum by stratum, with whom beside them."""
        strata = [self.stratum == s for s in (0, 1)] if stratum else [self.everybody]
        margins = [each == a for each in (self.sex, self.race) for a in (0, 1)]
        both = [(self.sex == a) & (self.race == b) for a in (0, 1) for b in (0, 1)]
        named = {"margins": margins, "intersections": both}[groups]
        return [(group & inside, inside) for inside in strata for group in named]

    def rows(self, which, groups, stratum):
        """Signed differences from everybody, or losses of groups, a column for each predictor."""
        problem, found = self.problem, []
        for f in problem.predictors:
            above, values = f[:, None] >= problem.thresholds, []
            for inside, beside in self.members(groups, stratum):
                if which == "losses":
                    values.append([problem.mean_loss(f, inside)])
                    continue
                shares = [
                    np.average(above[some], axis=0, weights=problem.weight[some])
                    for some in (inside, beside)
                ]
                values += [shares[0] - shares[1], shares[1] - shares[0]]
            found.append(np.concatenate(values))
        return np.column_stack(found)

    def play(self, constraint, stratum):
        problem, zeros = self.problem, np.zeros(len(self.sex), dtype=int)
        named = {"sex": self.sex, "race": self.race}
        control = {"stratum": self.stratum} if stratum else {}
        cells = Cells.from_columns(zeros, named, control, problem.weight).as_kind(
            ThresholdCells,
            target=problem.y,
            thresholds=problem.thresholds,
            loss=LOSSES[problem.loss],
            scale=1.0,
        )
        game, oracle = game_of(for_numbers(constraint), cells), Finite(cells, problem.predictors)
        *_, last = column_generation(game, oracle, Pool(), nu=1e-6)
        return last


@pytest.mark.parametrize("groups", ["intersections", "margins"])
@pytest.mark.parametrize("stratum", [False, True])
@pytest.mark.parametrize("which", ["parity", "losses"])
@pytest.mark.parametrize("seed", [1, 2])
def test_strata_attributes_and_weights_are_those_of_the_program(seed, which, groups, stratum):
    crowd = Crowd(seed)
    rows, errors = crowd.rows(which, groups, stratum), crowd.problem.errors()
    least = least_bound(rows)
    for bound in (1.1 * least + 0.01, 0.5 * least):
        kind = DemographicParity if which == "parity" else BoundedGroupLoss
        found = crowd.play(kind(bound, groups=groups), stratum)
        best = least_loss(errors, rows, bound)
        if best is None:
            assert found.least_slack == pytest.approx(least - bound, abs=2e-6)
        else:
            assert (found.error, found.violation) == pytest.approx((best, 0.0), abs=2e-6)
