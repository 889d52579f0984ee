"""Lower values kept as the pool and the queries grow, against the whole table of them."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.game.known import DualBounds


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
