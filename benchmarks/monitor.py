"""How often does the monitor raise a false alarm, and how soon does it find a drift?

    python benchmarks/monitor.py            1,000 runs of 100 looks; half a minute on one core
    python benchmarks/monitor.py --quick    100 runs, 5 with certify; some seconds

People of each day are drawn with a group and a label; decisions have the rates of the setting.
Counts of cells go through the code of `equipoise.Monitor`: its strata and its e-process.

False alarms: rates are at the bound all the time, and the alarm is any among 100 daily looks.
"certify" looks every day too: at the people of that day, or at all so far. It counts where its 95 %
interval is above the bound in a group of at least 30 people, as its exit code does.

Drifts: from some day on one row is exceeded by 0.05. Told are the people from that day to the
alarm, such that so many of the runs have it by then; in brackets, as a multiple of the people of
one test of that power, one-sided at 5 %, of one row and on one day that are known beforehand. Runs
with an alarm before the drift are left out.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from scipy.stats import norm

from equipoise.cells.table import CellTable
from equipoise.constraints import (
    BoundedGroupError,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    FourFifthsRule,
)
from equipoise.estimators.guarantees.monitor import excess_to_find
from equipoise.estimators.guarantees.strata import RowStrata
from equipoise.guarantees.e_process import EProcess
from equipoise.metrics.audit import Tally
from equipoise.metrics.violations import Meter

Array = NDArray[np.float64]
DELTA, DAYS, LEAST_PEOPLE = 0.05, 100, 30
#: Shares of F with label 0, F with label 1, M with label 0, M with label 1, as in ACSIncome.
SHARES = np.array([0.341, 0.138, 0.291, 0.230])
LABEL, GROUP = np.array([0, 1, 0, 1]), np.array(["F", "F", "M", "M"])
POWERS = (0.5, 0.8, 0.9)


@dataclass(frozen=True)
class Setting:
    """What is asked, of how many people a day, and the rates of the four cells on a day."""

    name: str
    constraint: Constraint
    people: int
    rates: Callable[[int], Array]
    drift: tuple[float, ...] = (0.0, 0.0, 0.05, 0.05)

    def table(self, count: Array) -> CellTable:
        return CellTable.from_sums(LABEL, {"sex": GROUP}, {}, count)[0]

    def strata(self) -> RowStrata:
        table = self.table(SHARES * 1e6)
        return RowStrata.of_fit(self.constraint, Tally.of_shares(table, table.mass * self.rates(1)))

    def days(self, runs: int, number: int, start: int | None) -> tuple[Array, Array]:
        """Return people and decisions of each cell on each day, shape (days, runs, 4)."""
        rng = np.random.default_rng(0)
        count = rng.multinomial(self.people, SHARES, size=(number, runs))
        rates = np.array([self.rates(day) for day in range(1, number + 1)])
        if start is not None:
            rates[start - 1 :] += self.drift
        return count, rng.binomial(count, rates[:, None, :])


def constant(*rates: float) -> Callable[[int], Array]:
    return lambda day: np.array(rates)


def moving(day: int) -> Array:
    """Levels that go up and down by the week and by the season; the gap stays."""
    level = 0.3 + 0.1 * (day % 7 > 4) + 0.1 * np.cos(2 * np.pi * day / DAYS)
    return np.array([level, level, level + 0.05, level + 0.05])


def by_error(wrong: float) -> Callable[[int], Array]:
    return constant(wrong, 1 - wrong, 0.1, 0.9)


DP = DemographicParity(0.05, reference="pairwise")
EO = EqualizedOdds(0.05, reference="pairwise")
SETTINGS = [
    Setting("DP 0.05", DP, 500, constant(0.33, 0.33, 0.38, 0.38)),
    Setting("DP 0.05, rare", DP, 20, constant(0.03, 0.03, 0.08, 0.08)),
    Setting("DP 0.05, moving rates", DP, 500, moving),
    Setting(
        "DP 0.05 from overall",
        DemographicParity(0.05),
        500,
        constant(0.33, 0.33, *2 * [0.33 + 0.05 / 0.521]),
    ),
    Setting("EO 0.05, both rows", EO, 500, constant(0.15, 0.70, 0.20, 0.75)),
    Setting("four fifths", FourFifthsRule(), 500, constant(0.32, 0.32, 0.40, 0.40)),
    Setting("group error 0.2", BoundedGroupError(0.2), 500, by_error(0.2)),
]
DRIFTS = [
    SETTINGS[0],
    *(
        replace(setting, people=100, drift=drift)
        for setting, drift in (
            (SETTINGS[0], (0.0, 0.0, 0.05, 0.05)),
            (SETTINGS[2], (0.0, 0.0, 0.05, 0.05)),
            (SETTINGS[4], (0.0, 0.0, 0.0, 0.05)),
            (SETTINGS[5], (0.0, 0.0, 0.0625, 0.0625)),
            (SETTINGS[6], (0.05, -0.05, 0.0, 0.0)),
        )
    ),
]


def first_alarms(setting: Setting, count: Array, chosen: Array) -> Array:
    """Return the day of each run's alarm; infinity for none."""
    strata = setting.strata()
    rates = strata.rates[strata.strata]
    process = EProcess(strata.a, strata.c, rates, excess_to_find(strata.c + strata.shift))
    first = np.full(count.shape[1], np.inf)
    for day in range(len(count)):
        people, selected = (each[day].astype(float) for each in (count, chosen))
        process.update(*strata.sums_of_cells(people, [selected]))
        alarm = process.log_value() >= -np.log(DELTA)
        first[alarm & np.isinf(first)] = day + 1
    return first


def suspicious_days(setting: Setting, count: Array, chosen: Array) -> NDArray[np.intp]:
    """Return the days with a row 1.7 standard errors above its bound, the most suspicious first.

    An interval of certify reaches at least 1.96 of them, so that other days need no look.
    """
    strata = setting.strata()
    successes, people = strata.sums_of_cells(count.astype(float), [chosen.astype(float)])
    p, n = (successes + 1) / (people + 2), np.maximum(people, 1)
    error = np.sqrt((strata.a**2 * p * (1 - p) / n).sum(axis=-1))
    z = (((strata.a * successes / n).sum(axis=-1) - strata.c) / error).max(axis=-1)
    z[(count == 0).any(axis=-1)] = -np.inf
    order = np.argsort(-z)
    return order[z[order] > 1.7]


def certify_alarms(setting: Setting, count: Array, chosen: Array) -> bool:
    """Return whether certify finds an excess on any day, in one run of shape (days, 4)."""
    looks = suspicious_days(setting, count, chosen)
    for people, selected in zip(count[looks], chosen[looks], strict=True):
        table = setting.table(people.astype(float))
        meter = Meter(table, setting.constraint, None)
        used = meter.moments.M.toarray() != 0
        enough = np.where(used, meter.moments.event_count, np.inf).min(axis=1) >= LEAST_PEOPLE
        shares = table.mass * selected / people
        measured = meter.measure("test", Tally.of_shares(table, shares))
        if any(row[1].low > 0 for row, large in zip(measured.rows, enough, strict=True) if large):
            return True
    return False


def share(alarms: Array) -> str:
    found = float(np.mean(alarms))
    error = np.sqrt(max(found * (1 - found), 1e-4) / len(alarms))
    return f"{100 * found:.1f} ± {100 * error:.1f} %"


def false_alarms(setting: Setting, runs: int, certify_runs: int) -> list[str]:
    count, chosen = setting.days(runs, DAYS, None)
    line = [
        setting.name,
        str(setting.people),
        share(np.isfinite(first_alarms(setting, count, chosen))),
    ]
    for some, decided in ((count, chosen), (count.cumsum(axis=0), chosen.cumsum(axis=0))):
        found = [
            certify_alarms(setting, some[:, run], decided[:, run]) for run in range(certify_runs)
        ]
        line.append(share(np.array(found)))
    return line


def planned_people(setting: Setting, power: float) -> float:
    """Return how many people one planned test of the row that drifts needs for this power."""
    strata = setting.strata()
    rates = np.mean([setting.rates(day) for day in range(DAYS)], axis=0) + setting.drift
    successes, people = strata.sums_of_cells(SHARES, [SHARES * rates])  # of one person in all
    p = np.divide(successes, people, out=np.zeros_like(people), where=people > 0)
    excess = (strata.a * p).sum(axis=1) - strata.c
    row = int(excess.argmax())
    used = strata.a[row] != 0
    a, q, n = strata.a[row, used], p[row, used], people[row, used]
    variance = float((a**2 * q * (1 - q) / n).sum())
    return ((norm.ppf(1 - DELTA) + norm.ppf(power)) / float(excess[row])) ** 2 * variance


def delays(setting: Setting, runs: int, start: int) -> list[str]:
    longest = start + 60_000 // setting.people
    first = first_alarms(setting, *setting.days(runs, longest, start))
    waited = (first[first >= start] - start + 1) * setting.people
    line = [setting.name, str(setting.people), str(start)]
    for power in POWERS:
        people = float(np.quantile(waited, power, method="inverted_cdf"))
        line.append(f"{people:,.0f} ({people / planned_people(setting, power):.2f})")
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--certify-runs", type=int)
    chosen = parser.parse_args()
    runs = chosen.runs or (100 if chosen.quick else 1000)
    some = chosen.certify_runs or (5 if chosen.quick else 100)
    warnings.simplefilter("ignore")
    print(machine(), f"{runs} runs, {some} with certify; ± one standard error.\n", sep="\n")
    header = ["at the bound", "people a day", "monitor", "certify, each day", "certify, all so far"]
    lines = [false_alarms(setting, runs, some) for setting in SETTINGS]
    print(markdown_table(header, lines))
    header = [
        "drift of 0.05",
        "people a day",
        "from day",
        *(f"{power:.0%} found" for power in POWERS),
    ]
    lines = [delays(setting, runs, start) for setting in DRIFTS for start in (1, 51)]
    print("", markdown_table(header, lines), sep="\n")


if __name__ == "__main__":
    main()
