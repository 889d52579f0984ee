"""Which constants of the monitor's e-process find drifts soon? On rows that nobody reports on.

    python benchmarks/monitor_constants.py      4,000 runs a number; about a minute on one core

The row is the limit of many small days: its value is normal, with variance v, and a look comes
with every 0.1 of I = detect^2 / (2 v), the growth of log E that the drift to be found would give.
So there are no rates, groups or sizes that could be those of `benchmarks/monitor.py`. The level is
log(1 / 0.05), and 0.15 more, as for a row that has 86 % of the weight.

Told is I from the start of the drift to the alarm of 80 % of the runs, as a multiple of 3.09, which
one planned test of that power needs. Columns are I before the drift begins, at the bound.

"known": whoever knows the row, the size of the drift and an I by which it has begun spreads all
capital evenly up to there. With a look for every 0.7 of I, as in days of 500 people.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from equipoise.guarantees import e_process

Array = NDArray[np.float64]
RUNS, LEVEL, POWER = 4000, np.log(1 / 0.05), 0.8
PLANNED = (norm.ppf(0.95) + norm.ppf(POWER)) ** 2 / 2
STARTS = (0.0, 2.0, 6.0, 12.0, 16.0, 35.0, 100.0)
NOW = (e_process.FIRST, e_process.LATER, e_process.DECAY)
DRIFTS = (tuple(e_process.DRIFTS), tuple(e_process.DRIFT_SHARES))
ONE_DRIFT = ((1.0,), (1.0,))


def unspent(first: float, later: float, decay: float) -> Callable[[float], float]:
    """Return the share of the capital that is left at I."""
    return lambda known: 1.0 if known <= 0 else (1 - first) * (1 + known / later) ** -decay


def delay(
    left: Callable[[float], float],
    drifts: tuple[ArrayLike, ArrayLike],
    start: float,
    true: float = 1.0,
    look: float = 0.1,
    dearer: float = 0.15,
) -> float:
    """Return I from the start to the alarm of 80 % of the runs, in planned tests."""
    rng, (bets, shares) = np.random.default_rng(0), map(np.asarray, drifts)
    quiet = round(start / look)
    capital, first = np.full((RUNS, len(bets)), -np.inf), np.full(RUNS, np.inf)
    for number in range(quiet + int(45 / true**2 / look)):
        known = number * look
        new = np.log(max(left(known) - left(known + look), 1e-300)) + np.log(shares)
        drift = true if number >= quiet else 0.0
        noise = rng.normal(size=(RUNS, 1)) * np.sqrt(2 * look)
        capital = np.logaddexp(capital, new) + bets * noise + (2 * bets * drift - bets**2) * look
        kept = np.log(max(left(known + look), 1e-300))
        value = np.logaddexp(np.logaddexp.reduce(capital, axis=1), kept)
        first[(value >= LEVEL + dearer) & np.isinf(first)] = number + 1
    waited = (first[first > quiet] - quiet) * look * true**2
    return float(np.quantile(waited, POWER, method="inverted_cdf")) / PLANNED


def line(name: str, left: Callable[[float], float], drifts: tuple = DRIFTS) -> list[str]:
    return [name, *(f"{delay(left, drifts, start):.2f}" for start in STARTS)]


def main() -> None:
    print(machine(), "\n")
    first, later, decay = NOW
    lines = [line(f"{first}, {later:g}, {decay} (used)", unspent(*NOW))]
    for other in ((0.0, 6.0, 1.0), (0.3, later, decay), (0.05, later, decay), (first, 12.0, 1.0)):
        lines.append(line(", ".join(f"{value:g}" for value in other), unspent(*other)))
    print(markdown_table(["first, later, decay", *(f"{s:g}" for s in STARTS)], lines))
    drifts = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
    lines = []
    for bets in (DRIFTS, ((0.6, 1.0), (0.5, 0.5)), ONE_DRIFT):
        told = [f"{delay(unspent(*NOW), bets, 6.0, true, 0.1 / true**1.5):.2f}" for true in drifts]
        lines.append([" ".join(f"{bet:g}: {share:g}" for bet, share in zip(*bets)), *told])  # noqa: B905
    print("", markdown_table(["drifts bet on: capital", *map(str, drifts)], lines), sep="\n")
    lines = []
    for end in (20.0, 45.0, 70.0):
        even = [
            f"{delay(lambda known: max(1 - known / end, 0.0), ONE_DRIFT, start, 1.0, 0.7, 0.0):.2f}"  # noqa: B023
            for start in (0.0, 16.0, 35.0)
            if start < end
        ]
        lines.append([f"known, within {end:g}", *even, *[""] * (3 - len(even))])
    print("", markdown_table(["looks of 0.7", "0", "16", "35"], lines), sep="\n")


if __name__ == "__main__":
    main()
