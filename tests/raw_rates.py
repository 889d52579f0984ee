"""People with decisions about them, and what metrics should say, from raw arrays."""

from __future__ import annotations

import numpy as np

SEEDS = range(8)


def people(seed: int, n: int = 300, groups: int = 3, randomized: bool = False):
    """Labels, predictions, groups and weights, with everybody in every cell."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, groups, n)
    y = (rng.random(n) < 0.3 + 0.1 * A).astype(int)
    chance = np.clip(0.2 + 0.4 * y + 0.1 * A, 0, 1)
    h = rng.choice([0.0, 0.25, 1.0], n) if randomized else (rng.random(n) < chance).astype(int)
    return y, h, A, rng.integers(1, 4, n).astype(float)


def mean(values, where, weight):
    return np.sum(values[where] * weight[where]) / np.sum(weight[where])


def violation(y, h, A, weight, labels):
    """max over groups and labels of |E[h | A=a, Y=y] - E[h | Y=y]|, as printed in section 4."""
    worst = 0.0
    for label in labels:
        event = np.ones(len(y), bool) if label is None else y == label
        for a in np.unique(A):
            worst = max(worst, abs(mean(h, event & (a == A), weight) - mean(h, event, weight)))
    return worst
