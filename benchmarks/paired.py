"""Is B proven to be no worse than A, or fairer, on the same people? Size and power.

    python benchmarks/paired.py            2,000 runs; about two minutes on one core
    python benchmarks/paired.py --quick    100 runs; some seconds

A and B differ on a share of the people. "error": B errs more than A by ``true``; the claim is that
it does so by at most ``tau``. "disparity": the difference between two groups falls by ``true``; the
claim is that it falls by at least ``delta``. Where both numbers are equal the share of runs with a
proof is the size, at most 5 %; elsewhere it is the power. Beside the goal bet of
`equipoise.prove_better`: the paired normal test, which is valid for many people only, and two
separate measurements of A and B, whose error is that of rates of 0.2 (errors) and 0.3 (selection).
"""

from __future__ import annotations

import argparse

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from scipy.stats import norm

from equipoise.estimators.guarantees.comparison import paired_p

Array = NDArray[np.float64]
ALPHA, BATCH = 0.05, 500
#: People, the share on whom A and B differ, the true difference of errors, and tau.
ERRORS = [
    (5_000, 0.05, 0.0, 0.01),
    (5_000, 0.05, 0.0, 0.005),
    (10_000, 0.05, 0.0, 0.005),
    (10_000, 0.10, 0.0, 0.01),
    (500, 0.05, 0.0, 0.03),
    (5_000, 0.05, 0.01, 0.01),
    (10_000, 0.10, 0.01, 0.01),
    (300, 0.02, 0.02, 0.02),
]
#: People, the share of the first group, how much the difference falls, and delta.
DISPARITIES = [
    (5_000, 0.5, 0.05, 0.02),
    (5_000, 0.2, 0.05, 0.02),
    (10_000, 0.1, 0.08, 0.04),
    (5_000, 0.5, 0.02, 0.02),
    (10_000, 0.1, 0.04, 0.04),
]


def changes(rng: np.random.Generator, up: float, down: float, runs: int, n: int) -> Array:
    """Return differences of 1 and -1 with these chances, and 0 otherwise."""
    u = rng.random((runs, n))
    return np.where(u < up, 1.0, np.where(u < up + down, -1.0, 0.0))


def proven(
    rng: np.random.Generator,
    strata: list[tuple[int, float, float]],
    bound: float,
    rate: float,
    runs: int,
) -> list[str]:
    """Return how often three tests find that the first mean less the second is below a bound."""
    a = np.array([1.0, -1.0][: len(strata)])
    counts = np.zeros(3)
    for start in range(0, runs, BATCH):
        size = min(BATCH, runs - start)
        outcomes = [changes(rng, up, down, size, n) for n, up, down in strata]
        room = bound - sum(f * x.mean(axis=1) for f, x in zip(a, outcomes, strict=True))
        paired = np.sqrt(sum(x.var(axis=1) / x.shape[1] for x in outcomes))
        separate = np.sqrt(sum(2 * rate * (1 - rate) / n for n, _, _ in strata))
        z = norm.isf(ALPHA)
        counts += [
            (paired_p(outcomes, a, bound, ALPHA) <= ALPHA).sum(),
            (room > z * paired).sum(),
            (room > z * separate).sum(),
        ]
    return [f"{share:.3f}" for share in counts / runs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int)
    chosen = parser.parse_args()
    runs = chosen.runs or (100 if chosen.quick else 2000)
    rng = np.random.default_rng(0)
    print(machine(), f"{runs} runs.\n", sep="\n")
    tests = ["goal bet", "paired normal", "separate"]
    lines = []
    for n, differ, true, tau in ERRORS:
        strata = [(n, (differ + true) / 2, (differ - true) / 2)]
        cells = [f"{n:,}", f"{differ:g}", f"{true:g}", f"{tau:g}"]
        lines.append([*cells, *proven(rng, strata, tau, 0.2, runs)])
    print(markdown_table(["error: people", "differ", "true", "tau", *tests], lines))
    lines = []
    for n, share, true, delta in DISPARITIES:
        first = int(n * share)
        strata = [(first, 0.02, 0.02 + true / 2), (n - first, 0.02 + true / 2, 0.02)]
        cells = [f"{n:,}", f"{share:g}", f"{true:g}", f"{delta:g}"]
        lines.append([*cells, *proven(rng, strata, -delta, 0.3, runs)])
    header = ["disparity: people", "first group", "true", "delta", *tests]
    print("", markdown_table(header, lines), sep="\n")


if __name__ == "__main__":
    main()
