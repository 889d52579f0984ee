"""What tests of the experiments share: made-up people, and their rates from raw arrays."""

import numpy as np

from equipoise.experiments.panels import Part

QUIET = {"echo": lambda line: None}
ROWS = 1200


def violation_of(decided, y, A, notion):
    events = [y == 0, y == 1] if notion == "EO" else [np.ones(len(y), bool)]
    return max(
        abs(decided[event & (a == A)].mean() - decided[event].mean())
        for event in events
        for a in np.unique(A)
    )


def crowd(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return Part(np.empty((n, 0)), rng.integers(0, 2, n), rng.integers(0, 2, n))
