"""How often does the monitor raise a false alarm, and how soon does it find a drift?

    python benchmarks/monitor.py            500 runs; about ten minutes on one core
    python benchmarks/monitor.py --quick    20 runs of fewer people; some seconds
    python benchmarks/monitor.py --mapie    the last table alone, with MAPIE 1.6 if it is installed

People are drawn with a group and a label; decisions have the rates of the setting. Counts of cells
go through the code of `equipoise.Monitor`: its strata and its detector.

False alarms: rates are at the bound all the time. Printed is the number of alarms in a run, which
is stated to be at most people / run length on average. "certify" looks every day at the people of
that day, and counts where its 95 % interval is above the bound in a group of at least 30 people;
printed is the share of runs with such a day.

Drifts: after some people one row is exceeded by 0.05. Printed are the people from then to the first
alarm, in the median and in 80 % of the runs.

Present value: the share of periods of 10,000 people in which any look, once a day, misses the
value, and the half-width at the end of a period beside that of a normal interval for one look.

Days apart: what the theorem leaves out. On every other day of 100 people most are F and all rates
are low; on the others most are M and all rates are high. Each day is at the bound, but people who
wait are compared with those of another day.

One rate: the error rate of one group, 0.2 and then 0.25, at a bound of 0.2, one person at a time.
The run length is 1,000,000: the chance of a false alarm within 50,000 people is at most 5 %;
MAPIE's `RiskMonitoring` with that bound as its threshold and a level of 5 % gets the same people.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray

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
from equipoise.guarantees.detector import Detector
from equipoise.metrics.audit import Tally
from equipoise.metrics.violations import Meter

Array = NDArray[np.float64]
RUN_LENGTH, PERIOD, SMALLEST_GROUP = 150_000, 10_000, 30
#: Shares of F with label 0, F with label 1, M with label 0, M with label 1, as in ACSIncome.
SHARES = (0.341, 0.138, 0.291, 0.230)
RARE = (0.49, 0.49, 0.01, 0.01)
LABEL, GROUP = np.array([0, 1, 0, 1]), np.array(["F", "F", "M", "M"])


@dataclass(frozen=True)
class Setting:
    """A constraint, the people of a day, and the rates of the four cells on a day."""

    name: str
    constraint: Constraint
    people: int
    rates: Callable[[int], Array]
    drift: tuple[float, ...] = (0.0, 0.0, 0.05, 0.05)
    shares: tuple[float, ...] = SHARES

    def table(self, count: Array) -> CellTable:
        return CellTable.from_sums(LABEL, {"sex": GROUP}, {}, count)[0]

    def strata(self) -> RowStrata:
        table = self.table(np.array(self.shares) * 1e6)
        return RowStrata.of_fit(self.constraint, Tally.of_shares(table, table.mass * self.rates(1)))

    def detector(self) -> tuple[RowStrata, Detector]:
        strata = self.strata()
        rates, detect = strata.rates[strata.strata], excess_to_find(strata.c + strata.shift)
        return strata, Detector(strata.a, strata.c, rates, detect, RUN_LENGTH, PERIOD)

    def alarms(self, runs: int, people: int, quiet: int) -> tuple[Array, Array]:
        """Return the alarms of each run before a drift after ``quiet`` people, and the delay."""
        rng = np.random.default_rng(0)
        strata, detector = self.detector()
        before, delay = np.zeros(runs), np.full(runs, np.inf)
        for day in range(people // self.people):
            seen = day * self.people
            rates = self.rates(day) + (np.array(self.drift) if seen >= quiet else 0.0)
            count = rng.multinomial(self.people, self.shares, size=runs)
            selected = rng.binomial(count, rates).astype(float)
            detector.update(*strata.sums_of_cells(count.astype(float), [selected]), self.people)
            alarms = detector.alarms().sum(axis=-1)
            if seen < quiet:
                before += alarms
                continue
            delay[(alarms > 0) & np.isinf(delay)] = seen + self.people - quiet
            if np.isfinite(delay).all():
                break
        return before, delay


def constant(*rates: float) -> Callable[[int], Array]:
    return lambda day: np.array(rates)


def moving(day: int) -> Array:
    """Return levels that go up and down by the week and by the season; the gap stays."""
    level = 0.3 + 0.1 * (day % 7 > 4) + 0.1 * np.cos(2 * np.pi * day / 100)
    return np.array([level, level, level + 0.05, level + 0.05])


def by_error(wrong: float) -> Callable[[int], Array]:
    return constant(wrong, 1 - wrong, 0.1, 0.9)


DP = DemographicParity(0.05, reference="pairwise")
EO = EqualizedOdds(0.05, reference="pairwise")
COMMON = Setting("DP 0.05", DP, 500, constant(0.30, 0.30, 0.35, 0.35))
ARRIVALS = [
    COMMON,
    replace(COMMON, name="DP 0.05, one by one", people=1),
    Setting("DP 0.05, 2 % group", DP, 5, constant(0.03, 0.03, 0.08, 0.08), shares=RARE),
]
SETTINGS = [
    *ARRIVALS,
    Setting("DP 0.05, moving rates", DP, 500, moving),
    Setting(
        "DP 0.05 from overall",
        DemographicParity(0.05),
        500,
        constant(0.33, 0.33, *2 * [0.33 + 0.05 / 0.521]),
    ),
    Setting(
        "EO 0.05, both rows",
        EO,
        500,
        constant(0.15, 0.70, 0.20, 0.75),
        drift=(0.0, 0.0, 0.0, 0.05),
    ),
    Setting(
        "four fifths",
        FourFifthsRule(),
        500,
        constant(0.32, 0.32, 0.40, 0.40),
        drift=(0.0, 0.0, 0.0625, 0.0625),
    ),
    Setting(
        "group error 0.2", BoundedGroupError(0.2), 500, by_error(0.2), drift=(0.05, -0.05, 0.0, 0.0)
    ),
]


def false_alarms(setting: Setting, runs: int, people: int, certify_runs: int) -> list[str]:
    before, _ = setting.alarms(runs, people, people)
    error = max(before.std(), 0.01) / np.sqrt(runs)
    line = [setting.name, str(setting.people), f"{before.mean():.3f} ± {error:.3f}"]
    if setting.people < 500:
        return [*line, ""]
    days = [certify_alarm(setting, run) for run in range(certify_runs)]
    return [*line, f"{100 * np.mean(days):.0f} %"]


def certify_alarm(setting: Setting, run: int) -> bool:
    """Return whether certify finds an excess on any of 100 days of one run."""
    rng = np.random.default_rng(run)
    for day in range(100):
        count = rng.multinomial(setting.people, setting.shares)
        selected = rng.binomial(count, setting.rates(day))
        table = setting.table(count.astype(float))
        meter = Meter(table, setting.constraint, None)
        used = meter.moments.M.toarray() != 0
        enough = np.where(used, meter.moments.event_count, np.inf).min(axis=1) >= SMALLEST_GROUP
        shares = table.mass * selected / np.maximum(count, 1)
        measured = meter.measure("test", Tally.of_shares(table, shares))
        if any(row[1].low > 0 for row, large in zip(measured.rows, enough, strict=True) if large):
            return True
    return False


def delays(setting: Setting, runs: int, quiet: int) -> list[str]:
    before, delay = setting.alarms(runs, quiet + 100_000, quiet)
    stated = quiet / RUN_LENGTH
    quantiles = np.quantile(delay, (0.5, 0.8), method="inverted_cdf")
    alarms = f"{before.mean():.2f} (at most {stated:.3g})" if quiet else ""
    people = [f"{number:,.0f}" for number in quantiles]
    return [setting.name, str(setting.people), f"{quiet:,}", *people, alarms]


def coverage(setting: Setting, runs: int) -> list[str]:
    """Return how often any look of a period misses the first row's value, and half-widths."""
    rng = np.random.default_rng(0)
    strata, detector = setting.detector()
    missed = np.zeros(runs, dtype=bool)
    used, a = strata.strata[0, strata.a[0] != 0], strata.a[0, strata.a[0] != 0]
    weight, target = np.zeros(runs), np.zeros(runs)
    for day in range(PERIOD // 500):
        rates = setting.rates(day)
        count = rng.multinomial(500, setting.shares, size=runs).astype(float)
        selected = rng.binomial(count.astype(int), rates).astype(float)
        detector.update(*strata.sums_of_cells(count, [selected]), 500)
        _, n = strata.sums_of_cells(count, [selected])
        table = setting.table(np.array(setting.shares) * 1e6)
        today = RowStrata.of_fit(setting.constraint, Tally.of_shares(table, table.mass * rates))
        m = n[:, 0, strata.a[0] != 0]
        share = np.where((m > 0).all(axis=1), 1 / (a**2 / np.maximum(m, 1)).sum(axis=1), 0.0)
        weight = weight + share
        target = target + share * float(a @ today.rates[used])
        value, radius = detector.present()
        off = np.abs(value[:, 0] - target / np.maximum(weight, 1e-9))
        missed |= (weight > 0) & (off > radius[:, 0])
    people = detector.state["people"][:, 0, strata.a[0] != 0].mean(axis=0)
    p = strata.rates[used]
    one_look = 1.96 * float(np.sqrt((a**2 * p * (1 - p) / people).sum()))
    width = f"{float(radius[:, 0].mean()):.3f}"
    return [setting.name, f"{100 * missed.mean():.1f} %", width, f"{one_look:.3f}"]


def days_apart(runs: int, people: int, batch: int) -> list[str]:
    """Return the alarms where groups come on different days, and rates swing with the days."""
    rng = np.random.default_rng(0)
    detector = Detector([[1.0, -1.0]], [0.05], [[0.35, 0.30]], [0.05], RUN_LENGTH, PERIOD)
    alarms = np.zeros(runs)
    for seen in range(0, people, batch):
        is_high = seen // 100 % 2 == 1
        first = rng.binomial(batch, 0.9 if is_high else 0.1, runs)
        n = np.stack([first, batch - first], axis=1)[:, None]
        x = rng.binomial(n, (0.50, 0.45) if is_high else (0.25, 0.20))
        detector.update(x, n, batch)
        alarms += detector.alarms()[:, 0]
    return [str(batch), f"{alarms.mean():.3f} (at most {people / RUN_LENGTH:g})"]


def one_rate(runs: int, quiet: int, longest: int) -> list[str]:
    """Return the delays of the detector and of MAPIE on the same people, one at a time."""
    rng = np.random.default_rng(0)
    p = np.where(np.arange(quiet + longest) < quiet, 0.2, 0.25)
    wrong = (rng.random((runs, len(p))) < p).astype(float)
    detector = Detector([[1.0]], [0.2], [[0.2]], [0.05], 1_000_000, PERIOD)
    ours = np.full(runs, np.inf)
    for person in range(len(p)):
        detector.update(wrong[:, person, None, None], np.ones((runs, 1, 1)), 1)
        if person >= quiet:
            ours[detector.alarms()[:, 0] & np.isinf(ours)] = person + 1 - quiet
    theirs = np.array([mapie_alarm(row) for row in wrong]) - quiet
    line = [f"{quiet:,}", str(runs)]
    for delay in (ours, theirs):
        late = delay[~(delay <= 0)]
        quantiles = np.quantile(late, (0.5, 0.8), method="inverted_cdf")
        line += [f"{v:,.0f}" if np.isfinite(v) else f"more than {longest:,}" for v in quantiles]
    return line


def mapie_alarm(wrong: Array) -> float:
    """Return the number of people to MAPIE's alarm; infinity where there is none."""
    from mapie.exchangeability_testing import RiskMonitoring

    monitoring = RiskMonitoring(risk="accuracy", threshold=0.2, test_level=0.05, warn=False)
    monitoring.update(np.zeros(len(wrong), dtype=int), wrong.astype(int))
    above = monitoring.online_risk_lower_bound_sequence_history > 0.2
    return float(above.argmax() + 1) if above.any() else np.inf


def print_one_rate(runs: int, longest: int, starts: tuple[int, ...]) -> None:
    try:
        import mapie
    except ImportError:
        print("MAPIE is not installed: no table of one rate.")
        return
    header = ["drift after", "runs", "median", "80 %", "MAPIE, median", "MAPIE, 80 %"]
    print(f"\nOne rate, MAPIE {mapie.__version__}\n")
    print(markdown_table(header, [one_rate(runs, quiet, longest) for quiet in starts]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--mapie", action="store_true")
    chosen = parser.parse_args()
    runs = chosen.runs or (20 if chosen.quick else 500)
    warnings.simplefilter("ignore")
    print(machine(), f"{runs} runs; ± one standard error.\n", sep="\n")
    if chosen.mapie:
        print_one_rate(*(5, 3000, (0,)) if chosen.quick else (100, 8000, (0, 25_000)))
        return
    people, starts = (2000, (0, 1000)) if chosen.quick else (50_000, (0, 25_000, 300_000))
    header = ["at the bound", "people a day", "alarms", "certify, each day"]
    print(f"{people:,} people: at most {people / RUN_LENGTH:g} alarms are stated.\n")
    lines = [false_alarms(s, runs, people, 1 if chosen.quick else 50) for s in SETTINGS]
    print(markdown_table(header, lines))
    header = ["drift of 0.05", "people a day", "after people", "median", "80 %", "alarms before"]
    lines = [delays(setting, runs, quiet) for setting in ARRIVALS for quiet in starts]
    lines += [delays(setting, runs, quiet) for setting in SETTINGS[3:] for quiet in starts[:2]]
    print("", markdown_table(header, lines), sep="\n")
    header = ["present value", "periods with a miss", "half-width", "one look"]
    lines = [coverage(setting, runs * 4) for setting in SETTINGS if setting.people != 1]
    print("", markdown_table(header, lines), sep="\n")
    people = 1000 if chosen.quick else 12_000
    lines = [days_apart(runs, people, batch) for batch in (1, 100)]
    print("", markdown_table(["days apart: people at a time", "alarms"], lines), sep="\n")


if __name__ == "__main__":
    main()
