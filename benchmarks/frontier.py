"""Twenty bounds: `Frontier` against fairlearn's ExponentiatedGradient in a loop, in one run.

    python benchmarks/frontier.py [--learner logistic|lightgbm] [--problems adult law ...] [--quick]
    python benchmarks/frontier.py --ours-only [--learner ...] [--problems ...]
    python benchmarks/frontier.py --learner lightgbm --test --bounds 5 --seeds 5

The first command fits all rows of a problem and compares errors on these at every bound. The second
fits `Frontier` alone, to the same gap, which fairlearn's first fit tells. The third fits three
quarters of the rows and compares errors on the rest, at equal violations there: each side has a
classifier at each bound, mixtures of two of these are classifiers as well, and the lower envelopes
of error against violation are compared over the violations that both sides reach. Errors and
violations are averaged over the splits first. The envelope of a single split chooses among bounds
by their errors on the test rows, which favours the side whose classifiers have less in common from
bound to bound; the mean of these is printed as well, under "envelope by envelope".

Both sides go on until they have certified the same gap, fairlearn's default for the problem
(``--own-gap``: until each has its own default; that of `Frontier` is about half as wide).

Adult comes with the package; the others are read from EQUIPOISE_DATA and left out without it.
Errors and violations are computed here from expected decisions, for both sides alike. Seconds are
those of the processor, and learners have one thread, so that other work on the machine counts
little.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from _machine import machine
from fairlearn.reductions import DemographicParity as TheirParity
from fairlearn.reductions import EqualizedOdds as TheirOdds
from fairlearn.reductions import ExponentiatedGradient as TheirReduction
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, EqualizedOdds, Frontier
from equipoise.datasets import load_adult, load_compas, load_dutch_census, load_law_school

PROBLEMS: dict[str, tuple[Callable[[], Any], str]] = {
    "adult": (load_adult, "sex"),
    "adult4": (load_adult, "sex_race4"),
    "compas": (load_compas, "race"),
    "law": (load_law_school, "race"),
    "dutch": (load_dutch_census, "gender"),
}
NOTIONS = {
    "DP": (DemographicParity, TheirParity, (None,)),
    "EO": (EqualizedOdds, TheirOdds, (0, 1)),
}


def make_learner(name: str) -> Any:
    if name == "logistic":
        return LogisticRegression(C=0.01, max_iter=1000)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)


def counting(learner: Any) -> tuple[Any, list[int]]:
    """Return a learner of a subclass that counts its fits (in-process)."""
    fits = [0]

    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        fits[0] += 1
        return type(learner).fit(self, *args, **kwargs)

    kind = type(type(learner).__name__, (type(learner),), {"fit": fit})
    return kind(**learner.get_params()), fits


def measure(selected: np.ndarray, y: np.ndarray, A: np.ndarray, labels: tuple) -> tuple:
    """Return the error and the violation of expected decisions, from raw arrays."""
    error = np.where(y == 1, 1 - selected, selected).mean()
    worst = 0.0
    for label in labels:
        rows = np.ones(len(y), bool) if label is None else y == label
        for a in np.unique(A):
            worst = max(worst, abs(selected[rows & (a == A)].mean() - selected[rows].mean()))
    return error, worst


@dataclass(frozen=True)
class Side:
    """What one library did: fits, seconds, and (error, violation) at each bound on given rows."""

    fits: int
    seconds: float
    points: np.ndarray
    nu: float


Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def read(problem: str) -> Rows:
    """Return features, labels and groups."""
    load, attribute = PROBLEMS[problem]
    data = load()
    X = StandardScaler().fit_transform(data.data)
    return X, np.asarray(data.target), np.asarray(data.sensitive[attribute])


def ours(
    fitted: Rows,
    judged: Rows,
    notion: str,
    learner: str,
    bounds: np.ndarray,
    nu: float | None = None,
) -> Side:
    X, y, A = fitted
    constraint, _, labels = NOTIONS[notion]
    start = time.process_time()
    frontier = Frontier(make_learner(learner), constraint(), bounds=bounds, nu=nu)
    frontier.fit(X, y, sensitive_features=A)
    models = [frontier.at(eps) for eps in bounds]
    seconds = time.process_time() - start
    points = [measure(m.predict_proba(judged[0])[:, 1], *judged[1:], labels) for m in models]
    return Side(frontier.n_calls_, seconds, np.array(points), frontier.nu_)


def theirs(fitted: Rows, judged: Rows, notion: str, learner: str, bounds: np.ndarray) -> Side:
    X, y, A = fitted
    _, constraint, labels = NOTIONS[notion]
    base, fits = counting(make_learner(learner))
    seconds, points = 0.0, []
    for eps in bounds:
        start = time.process_time()
        model = TheirReduction(base, constraint(difference_bound=eps))
        model.fit(X, y, sensitive_features=A)
        seconds += time.process_time() - start
        points.append(measure(model._pmf_predict(judged[0])[:, 1], *judged[1:], labels))
    return Side(fits[0], seconds, np.array(points), model.nu)


def gap_of_theirs(rows: Rows, notion: str, learner: str, eps: float) -> float:
    """Return fairlearn's default gap, which follows from its first fit."""
    model = TheirReduction(
        make_learner(learner), NOTIONS[notion][1](difference_bound=eps), max_iter=1
    )
    X, y, A = rows
    return model.fit(X, y, sensitive_features=A).nu


def alone(problem: str, notion: str, learner: str, bounds: np.ndarray, own_gap: bool) -> list[str]:
    """Return a row of the table of what `Frontier` does by itself."""
    rows = read(problem)
    nu = None if own_gap else gap_of_theirs(rows, notion, learner, bounds[-1])
    mine = ours(rows, rows, notion, learner, bounds, nu)
    return [
        f"{problem} {notion}",
        *(str(mine.fits), f"{mine.seconds:.2f}", f"{mine.nu:.6f}"),
        *(f"{mine.points[:, 0].mean():.5f}", f"{(mine.points[:, 1] - bounds).max():.1e}"),
    ]


def both(*problem: Any, own_gap: bool) -> tuple[Side, Side]:
    """Return what both sides do, ours and theirs."""
    other = theirs(*problem)
    return ours(*problem, nu=None if own_gap else other.nu), other


def compare_on_train(
    problem: str, notion: str, learner: str, bounds: np.ndarray, own_gap: bool
) -> list[str]:
    """Return a row of the table of fits, seconds and training errors."""
    rows = read(problem)
    mine, other = both(rows, rows, notion, learner, bounds, own_gap=own_gap)
    difference = mine.points[:, 0] - other.points[:, 0]
    return [
        f"{problem} {notion}",
        *(str(mine.fits), str(other.fits)),
        *(f"{mine.seconds:.2f}", f"{other.seconds:.1f}", f"{other.seconds / mine.seconds:.0f}"),
        *(f"{difference.mean():+.5f}", f"{difference.max():+.5f}"),
        f"{(mine.points[:, 1] - bounds).max():.1e}",
        f"{(other.points[:, 1] - bounds).max():.1e}",
    ]


def compare_on_test(
    problem: str, notion: str, learner: str, bounds: np.ndarray, own_gap: bool, seeds: int
) -> list[str]:
    """Return a row of the table of test errors at equal test violations."""
    X, y, A = read(problem)
    points = []
    for seed in range(seeds):
        halves = train_test_split(X, y, A, test_size=0.25, random_state=seed, stratify=y)
        fitted, judged = halves[::2], halves[1::2]
        sides = both(fitted, judged, notion, learner, bounds, own_gap=own_gap)
        points.append([side.points for side in sides])
    splits = np.array(points)  # split, side, bound, (error, violation)
    difference, spread = at_equal_violation(*splits.mean(axis=0)), jackknife(splits)
    by_split = np.array([at_equal_violation(*split) for split in splits])
    by_bound = np.subtract(*splits.mean(axis=0))
    return [
        f"{problem} {notion}",
        f"{difference:+.5f}",
        f"{spread:.5f}",
        "yes" if difference <= 2 * spread else "no",
        ", ".join(f"{error:+.4f}" for error in by_bound[:, 0]),
        ", ".join(f"{violation:+.4f}" for violation in by_bound[:, 1]),
        f"{by_split.mean():+.5f} ± {by_split.std(ddof=1) / np.sqrt(seeds):.5f}",
    ]


def jackknife(splits: np.ndarray) -> float:
    """Return the standard error of the difference, from leaving out one split at a time."""
    n = len(splits)
    without = [at_equal_violation(*np.delete(splits, i, axis=0).mean(axis=0)) for i in range(n)]
    return float(np.sqrt((n - 1) * np.var(without)))


def at_equal_violation(mine: np.ndarray, other: np.ndarray) -> float:
    """Return the mean difference of the lower envelopes over the violations both sides reach."""
    low = max(mine[:, 1].min(), other[:, 1].min())
    high = max(low, min(mine[:, 1].max(), other[:, 1].max()))
    grid = np.linspace(low, high, 50)
    return float(np.mean(envelope(mine, grid) - envelope(other, grid)))


def envelope(points: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return the least error of mixtures of two of the points within each violation."""
    least = np.full(len(grid), np.inf)
    for (e, v), (f, w) in product(points, points):
        if v <= w:
            share = np.clip((grid - v) / max(w - v, 1e-12), 0, 1)
            least = np.where(grid >= v - 1e-12, np.minimum(least, e + share * (f - e)), least)
    return least


ON_TRAIN = [
    *("problem", "fits", "fairlearn's", "seconds", "fairlearn's", "ratio"),
    *("error minus fairlearn's, mean", "largest", "over a bound, largest", "fairlearn's"),
]
ALONE = ["problem", "fits", "seconds", "gap asked", "mean error", "over a bound, largest"]
ON_TEST = [
    *("problem", "test error minus fairlearn's at equal violation", "standard error"),
    *("no worse beyond noise", "error, bound by bound", "violation, bound by bound"),
    "envelope by envelope",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three bounds on Adult, DP")
    parser.add_argument("--learner", default="logistic", choices=["logistic", "lightgbm"])
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--bounds", type=int, default=20)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--test", action="store_true", help="compare on rows held out")
    kind.add_argument("--ours-only", action="store_true", help="without fairlearn's side")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--own-gap", action="store_true", help="each side with its default gap")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    problems = ["adult"] if options.quick else options.problems
    bounds = np.geomspace(0.001, 0.1, 3 if options.quick else options.bounds)
    where = f"held-out rows, {options.seeds} splits" if options.test else "training rows"
    gap = "each side its own gap" if options.own_gap else "fairlearn's default gap"
    print(f"{machine()}\n")
    print(f"{options.learner}, {len(bounds)} bounds from 0.001 to 0.1, {where}, {gap}\n")
    header, row_of = (
        (ON_TEST, partial(compare_on_test, seeds=options.seeds))
        if options.test
        else ((ALONE, alone) if options.ours_only else (ON_TRAIN, compare_on_train))
    )
    print(f"| {' | '.join(header)} |\n|{' --- |' * len(header)}", flush=True)
    for problem, notion in product(problems, ["DP"] if options.quick else NOTIONS):
        try:
            row = row_of(problem, notion, options.learner, bounds, options.own_gap)
        except OSError as error:
            row = [f"{problem} {notion}", f"left out: {str(error).splitlines()[0]}"]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
