"""How often does the test of a row prove what does not hold? Exactly, over all nuisance rates.

    python benchmarks/row_test_size.py            about a minute on one core
    python benchmarks/row_test_size.py --quick    the smallest groups only

Two groups, and rates at which the row is exactly at its bound: every table of counts is tried, and
its probability added up where the test calls the bound proven at 5 %. The nuisance is the rate of
the second group; "worst" is the largest over it. score: `equipoise.guarantees.exact_test.score_p`,
what a proof uses where all groups have 200 people or more; exact: `exact_p`, where they have fewer.
wald: the same difference with the standard error of the rates observed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from scipy.stats import binom, norm

from equipoise.guarantees.exact_test import exact_p, score_p

SIZES = [(20, 60), (50, 100), (100, 400), (300, 300)]
ROWS = {
    "difference, 0.05": (1.0, -1.0, 0.05),
    "difference, 0.10": (1.0, -1.0, 0.10),
    "four fifths": (0.8, -1.0, 0.0),
}
LEVEL = 0.05


def wald_p(x: NDArray, n: NDArray, a: NDArray, c: float) -> NDArray:
    """Return the p-value with the standard error of the rates observed."""
    p = x / n
    error = np.sqrt((a**2 * p * (1 - p) / n).sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(norm.sf((c - (a * p).sum(axis=-1)) / error), nan=1.0)


def exact_where_near(x: NDArray, n: NDArray, a: NDArray, c: float) -> NDArray:
    """Return exact p-values where the score test is near 5 %: elsewhere both tests agree."""
    p = np.array(score_p(x, n, a, c))
    for at in np.argwhere((p > 0.02) & (p < 0.12)):
        p[tuple(at)] = exact_p(x[tuple(at)], n, a, c)
    return p


def sizes(reject: NDArray, n: tuple[int, int], a: NDArray, c: float) -> NDArray:
    """Return the chance of a false proof at each nuisance rate."""
    first, second = (np.arange(m + 1) for m in n)
    found = []
    for rate in np.linspace(0.005, 0.995, 199):
        other = (c - a[1] * rate) / a[0]
        if 0 <= other <= 1:
            found.append(binom.pmf(first, n[0], other) @ reject @ binom.pmf(second, n[1], rate))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the smallest groups only")
    options = parser.parse_args()
    tests: dict[str, Callable] = {"score": score_p, "wald": wald_p, "exact": exact_where_near}
    lines = []
    for n in SIZES[:1] if options.quick else SIZES:
        grid = np.meshgrid(*(np.arange(m + 1.0) for m in n), indexing="ij")
        x = np.stack(grid, axis=-1)
        for name, (one, other, c) in ROWS.items():
            a, line = np.array([one, other]), [f"{n[0]} and {n[1]}", name]
            for test, p_value in tests.items():
                if test == "exact" and min(n) >= 200:
                    line.append("")
                    continue
                found = sizes(p_value(x, np.array(n), a, c) <= LEVEL, n, a, c)
                line.append(f"{found.max():.4f} ({found.mean():.4f})")
            lines.append(line)
    print(machine())
    print(markdown_table(["people", "row", *(f"{name}: worst (mean)" for name in tests)], lines))


if __name__ == "__main__":
    main()
