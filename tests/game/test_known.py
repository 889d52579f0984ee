"""Lower values kept as the pool and the queries grow, against the whole table of them."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.game.known import DualBounds, Known


@pytest.mark.parametrize("seed", range(5))
def test_kept_values_are_those_of_the_whole_table(seed):
    rng = np.random.default_rng(seed)
    error, gamma, lams = rng.random(9), rng.normal(size=(9, 3)), rng.random((7, 3))
    duals, asked = DualBounds(3), 0
    for size in (1, 4, 4, 9):
        now = min(asked + 2, len(lams))
        duals.update(error[:size], gamma[:size], lams[asked:now])
        asked = now
        for c in rng.normal(size=(3, 3)):
            lower, lam = duals.lower(c)
            least = [
                min(e + one @ (g - c) for e, g in zip(error[:size], gamma[:size], strict=True))
                for one in lams[:asked]
            ]
            assert lower == pytest.approx(max(least))
            np.testing.assert_array_equal(lam, lams[int(np.argmax(least))])


def test_of_many_inequalities_tables_have_those_with_multipliers():
    rng = np.random.default_rng(0)
    error, gamma, lams = rng.random(6), rng.normal(size=(6, 5000)), np.zeros((4, 5000))
    for lam in lams:
        lam[rng.integers(0, 5000, 3)] = rng.random(3)
    duals = DualBounds(5000)
    duals.update(error[:3], gamma[:3], lams[:2])
    duals.update(error, gamma, lams[2:])
    assert duals._table.shape[1] <= 12
    c = rng.random(5000)
    least = (error + lams @ (gamma - c).T).min(axis=1)
    assert duals.lower(c)[0] == pytest.approx(least.max())
    assert all(duals.knows(lam) for lam in lams)
    assert not duals.knows(lams[0] + lams[1])
    assert not duals.knows(np.ones(5000))


@pytest.mark.parametrize(("n_multipliers", "step"), [(1, 0.4), (8, 0.4), (9, 0.7)])
def test_queries_go_further_where_a_program_has_many_multipliers(n_multipliers, step):
    known, multipliers = Known.__new__(Known), np.zeros(12)
    multipliers[:n_multipliers] = 0.5
    known.grew = True
    assert known.step_towards(multipliers) == step
    known.grew = False  # nothing new was found on the way
    assert known.step_towards(multipliers) == 1.0
