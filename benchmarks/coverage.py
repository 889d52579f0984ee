"""Do 95 % intervals of disparities contain the truth in 95 % of all samples?

    python benchmarks/coverage.py            2,000 samples a setting; about 25 minutes on one core
    python benchmarks/coverage.py --quick    20 samples of 200 people; some seconds
    python benchmarks/coverage.py --people 200 --rates "rare, apart" --groups 5
    python benchmarks/coverage.py --weights  400 samples a setting; some minutes on one core
    python benchmarks/coverage.py --losses   400 samples a setting; some minutes on one core

People are drawn with a group, a label (1 with probability 0.5) and a decision, whose probability
depends on both. The truth is computed from these probabilities. "equal": every group has a false
positive rate of 0.3 and a true positive rate of 0.6, so that the truth is 0, where intervals of a
maximum fail most easily. "rare": all are 0.03. "rare, apart": they rise from 0.02 to 0.1 over the
groups. Groups are of one size, or as unequal as SHARES says. "report" is what a report says of the
violation of EqualizedOdds; the other columns are `metrics.confidence_interval`. In brackets is the
mean width. Samples in which a group has nobody of some label are left out.

``--weights``: the same with weights that have nothing to do with decisions, and the selection rate
of everybody besides. "one in 50": one person in 50 weighs 100 and the others 1, so that 1,000
people count as 41 of equal weight (Kish's number). "lognormal": logarithms have a standard
deviation of 1.5, and 1,000 people count as 139 on average.

``--losses``: the largest mean squared error of a group, by `FairRegressor.measure`. Errors are
normal or Laplace, whose squares have a skewness of 2.8 and 8.4, and of one size, or up to twice as
large in the last group ("apart"). A group of fewer than 30 people makes an interval unbounded
above: such samples are left out, and the share of them is printed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from sklearn.dummy import DummyRegressor

from equipoise import BoundedGroupLoss, FairRegressor, metrics
from equipoise.cells import Cells
from equipoise.constraints import EqualizedOdds
from equipoise.metrics.audit import Tally
from equipoise.metrics.violations import Meter

Array = NDArray[np.float64]
SHARES = {2: [0.9, 0.1], 3: [0.6, 0.3, 0.1], 5: [0.4, 0.3, 0.15, 0.1, 0.05]}
#: From the number of groups to P[h = 1 | group, label], shape (groups, 2).
RATES: dict[str, Callable[[int], Array]] = {
    "equal": lambda groups: np.tile([0.3, 0.6], (groups, 1)),
    "rare": lambda groups: np.full((groups, 2), 0.03),
    "apart": lambda groups: np.linspace([0.2, 0.5], [0.4, 0.8], groups),
    "rare, apart": lambda groups: np.linspace([0.02, 0.02], [0.1, 0.1], groups),
}
#: From the number of people to their weights.
WEIGHTS: dict[str, Callable[[np.random.Generator, int], Array | None]] = {
    "equal": lambda rng, people: None,
    "one in 50": lambda rng, people: np.where(rng.random(people) < 0.02, 100.0, 1.0),
    "lognormal": lambda rng, people: rng.lognormal(sigma=1.5, size=people),
}
COLUMNS = ("DP difference", "DP violation", "EO difference", "EO violation", "report")
#: Measured where weights differ, too.
RATE = "selection rate"


class Setting(NamedTuple):
    people: int
    groups: int
    sizes: str
    rates: str
    weights: str = "equal"

    @property
    def columns(self) -> tuple[str, ...]:
        """What is measured: the rate of equal weights is Wilson's, which is well known."""
        return COLUMNS if self.weights == "equal" else (RATE, *COLUMNS)

    @property
    def shares(self) -> Array:
        even = np.full(self.groups, 1 / self.groups)
        return even if self.sizes == "even" else np.array(SHARES[self.groups])

    def truths(self) -> dict[str, float]:
        """Return the disparities of the population that samples are from."""
        by_label = RATES[self.rates](self.groups)
        selection = by_label.mean(axis=1)
        overall = float(np.abs(by_label - self.shares @ by_label).max())
        return {
            "DP difference": float(np.ptp(selection)),
            "DP violation": float(np.abs(selection - self.shares @ selection).max()),
            "EO difference": float(np.ptp(by_label, axis=0).max()),
            "EO violation": overall,
            "report": overall,
            RATE: float(self.shares @ selection),
        }

    def sample(self, rng: np.random.Generator) -> tuple[NDArray, NDArray, NDArray, Array | None]:
        A = rng.choice(self.groups, self.people, p=self.shares)
        y = rng.integers(0, 2, self.people)
        h = rng.random(self.people) < RATES[self.rates](self.groups)[A, y]
        return y, h.astype(int), A, WEIGHTS[self.weights](rng, self.people)


def intervals(
    y: NDArray, h: NDArray, A: NDArray, weight: Array | None
) -> dict[str, metrics.Interval]:
    functions = {
        "DP difference": metrics.demographic_parity_difference,
        "DP violation": metrics.demographic_parity_violation,
        "EO difference": metrics.equalized_odds_difference,
        "EO violation": metrics.equalized_odds_violation,
    }
    interval = partial(metrics.confidence_interval, y_true=y, y_pred=h, sample_weight=weight)
    by_name = {
        name: interval(function, sensitive_features=A) for name, function in functions.items()
    }
    if weight is not None:
        by_name[RATE] = interval(metrics.selection_rate)
    cells = Cells.from_columns(y, {"group": A}, weight=weight)
    meter = Meter(cells, EqualizedOdds(eps=0.0), None)
    measured = meter.measure("test", Tally.of_people(cells, h.astype(float)))
    return by_name | {"report": measured.violation}


def measure(setting: Setting, samples: int) -> list[str]:
    """Return a line of the table."""
    rng, truths = np.random.default_rng(0), setting.truths()
    caught: dict[str, list[bool]] = {name: [] for name in setting.columns}
    width: dict[str, list[float]] = {name: [] for name in setting.columns}
    for _ in range(samples):
        y, h, A, weight = setting.sample(rng)
        if len(np.unique(2 * A + y)) < 2 * setting.groups:
            continue
        for name, interval in intervals(y, h, A, weight).items():
            caught[name].append(interval.low - 1e-9 <= truths[name] <= interval.high + 1e-9)
            width[name].append(interval.high - interval.low)
    line = [str(field) for field in setting]
    if setting.weights == "equal":
        line.pop()
    for name in setting.columns:
        share = float(np.mean(caught[name]))
        error = np.sqrt(max(share * (1 - share), 1e-4) / len(caught[name]))
        line.append(f"{share:.3f} ± {error:.3f} ({np.mean(width[name]):.2f})")
    return line


def measure_losses(people: int, groups: int, sizes: str, errors: str, samples: int) -> list[str]:
    """Return a line of the table of losses."""
    rng, setting = np.random.default_rng(0), Setting(people, groups, sizes, "equal")
    sigma = np.linspace(1.0, 2.0 if "apart" in errors else 1.0, groups)
    draw = rng.normal if "normal" in errors else lambda size: rng.laplace(size=size) / np.sqrt(2)

    def sample(n: int) -> tuple[NDArray, NDArray]:
        A = rng.choice(groups, n, p=setting.shares)
        return sigma[A] * draw(size=n), A

    y, A = sample(1000)
    model = FairRegressor(DummyRegressor(), BoundedGroupLoss(100.0))
    model.fit(np.zeros((1000, 1)), y, sensitive_features=A)
    truth = float((sigma**2).max()) + model.constant_**2  # the same number for everybody
    caught, above, width = list[bool](), list[bool](), list[float]()
    for _ in range(samples):
        y, A = sample(people)
        if np.bincount(A, minlength=groups).min() < 30:
            continue
        told = model.measure(np.zeros((people, 1)), y, sensitive_features=A, level=0.95)
        caught.append(told.low <= truth <= told.high)
        above.append(truth > told.high)
        width.append(told.high - told.low)
    line = [str(people), str(groups), sizes, errors, f"{1 - len(caught) / samples:.2f}"]
    if not caught:
        return [*line, "", "", ""]
    share = float(np.mean(caught))
    error = np.sqrt(max(share * (1 - share), 1e-4) / len(caught))
    shown = f"{share:.3f} ± {error:.3f}", f"{np.mean(above):.3f}", f"{np.mean(width) / truth:.2f}"
    return [*line, *shown]


def losses(samples: int, people: list[int], groups: list[int]) -> None:
    """Print the table of losses."""
    errors = ("normal", "normal, apart", "Laplace")
    columns = ["left out", "covered", "truth above", "width / truth"]
    print(markdown_table(["people", "groups", "sizes", "errors", *columns], []), flush=True)
    for setting in product(people, groups, ("even", "unequal"), errors):
        print(f"| {' | '.join(measure_losses(*setting, samples))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--people", type=int, nargs="+")
    parser.add_argument("--groups", type=int, nargs="+", choices=list(SHARES), default=[2, 3, 5])
    parser.add_argument("--rates", nargs="+", choices=list(RATES))
    chosen = parser.parse_args()
    few = chosen.losses or chosen.weights
    samples = chosen.samples or (20 if chosen.quick else 400 if few else 2000)
    people = chosen.people or ([200] if chosen.quick else [200, 1000])
    rates = chosen.rates or (["equal"] if chosen.quick else list(RATES))
    settings = product(people, chosen.groups, ("even", "unequal"), rates)
    print(machine(), f"{samples} samples a setting.\n", sep="\n")
    warnings.simplefilter("ignore")
    if chosen.losses:
        losses(samples, people, chosen.groups)
        return
    header = ["people", "groups", "sizes", "rates"]
    if chosen.weights:
        weighted = product(settings, ("one in 50", "lognormal"))
        lines = [measure(Setting(*setting, weights), samples) for setting, weights in weighted]
        print(markdown_table([*header, "weights", RATE, *COLUMNS], lines))
        return
    lines = [measure(Setting(*setting), samples) for setting in settings]
    print(markdown_table([*header, *COLUMNS], lines))


if __name__ == "__main__":
    main()
