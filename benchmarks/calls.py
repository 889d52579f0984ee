"""How many calls of the learner it takes to close the search gap, on the Adult data.

All 48,842 rows, scaled one-hot features, LogisticRegression(C=0.01), groups by sex. Every method
is given the same bound: no group's rate differs from everybody's by more than eps (selection rate
for demographic parity; true- and false-positive rate for equalized odds). Every method is to reach
the same gap nu, which is fairlearn's default; all else is its own default. FairClassifier also
runs with its own default of nu, which is tighter.

- Calls are counted by the learner itself: every ``fit`` of logistic regression.
- Error and violation are computed from the expected predictions on the same rows, without either
  library's metrics.
- The gap is the one that the method itself reports.

Run ``python benchmarks/calls.py``; ``--quick`` for a small version.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import _raw
import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

CONSTRAINTS = ("DemographicParity", "EqualizedOdds")
THEIRS, OURS = "fairlearn", "FairClassifier"
POLISHED, TIGHTER = "ExponentiatedGradient", "FairClassifier, own nu"
METHODS = (THEIRS, OURS, POLISHED, TIGHTER)  # the first one decides what gap the others reach
EPS = (0.005, 0.01, 0.02, 0.05)


class CountedRegression(LogisticRegression):
    """Logistic regression that counts how often it is fitted."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CountedRegression:
        CountedRegression.fits += 1
        return super().fit(X, y, sample_weight)


class Examples(NamedTuple):
    X: NDArray
    y: NDArray
    group: NDArray


@dataclass(frozen=True)
class Measured:
    """What came of one fit."""

    calls: int
    error: float
    violation: float
    gap: float
    nu: float
    seconds: float


def load(n: int | None) -> Examples:
    """Return Adult, or ``n`` of its rows."""
    from equipoise.datasets import load_adult

    adult = load_adult()
    rows = np.random.default_rng(0).permutation(len(adult.target))[:n]
    X = StandardScaler().fit_transform(adult.data[rows])
    return Examples(X, adult.target[rows], np.asarray(adult.sensitive["sex"])[rows])


def make(method: str, constraint: str, eps: float, nu: float | None) -> Any:
    """Return an unfitted classifier; None leaves the gap to its default."""
    import fairlearn.reductions as fairlearn

    import equipoise

    learner = CountedRegression(C=0.01, max_iter=1000)
    if method == THEIRS:
        bound = getattr(fairlearn, constraint)(difference_bound=eps)
        return fairlearn.ExponentiatedGradient(learner, bound, eps=eps, nu=nu)
    reduction = getattr(equipoise, method.partition(",")[0])
    bound = getattr(equipoise, constraint)(eps=eps)
    return reduction(learner, bound, nu=None if method == TIGHTER else nu)


def measure(
    method: str, constraint: str, eps: float, nu: float | None, examples: Examples
) -> Measured:
    """Fit once; count, and compute from raw arrays."""
    X, y, group = examples
    classifier = make(method, constraint, eps, nu)
    CountedRegression.fits = 0
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters of them is in the table
        classifier.fit(X, y, sensitive_features=group)
    seconds, calls = time.process_time() - start, CountedRegression.fits
    expected = _raw.expected_predictions(_raw.members(classifier), X)
    violation = {
        "DemographicParity": _raw.demographic_parity,
        "EqualizedOdds": _raw.equalized_odds,
    }[constraint]
    return Measured(
        calls=calls,
        error=_raw.error(expected, y),
        violation=violation(expected, y, group),
        gap=classifier.best_gap_ if method == THEIRS else classifier.certificate_.gap,
        nu=classifier.nu if method == THEIRS else classifier.nu_,
        seconds=seconds,
    )


Results = dict[tuple[str, float, str], Measured]


def benchmark(examples: Examples, eps: Sequence[float]) -> Results:
    """Run every method for every constraint and bound."""
    results: Results = {}
    for constraint, bound in product(CONSTRAINTS, eps):
        nu = None
        for method in METHODS:
            run = measure(method, constraint, bound, nu, examples)
            results[constraint, bound, method], nu = run, run.nu if nu is None else nu
    return results


def each_table(results: Results) -> str:
    return markdown_table(
        ["constraint", "eps", "method", "calls", "error", "violation", "gap", "nu", "CPU s"],
        [
            [
                *(*key, run.calls, f"{run.error:.5f}", f"{run.violation:.5f}"),
                *(f"{run.gap:.6f}", f"{run.nu:.6f}", f"{run.seconds:.1f}"),
            ]
            for key, run in results.items()
        ],
    )


def ratio_table(results: Results) -> str:
    rows = []
    for case in dict.fromkeys(key[:2] for key in results):
        calls = [results[*case, method].calls for method in METHODS]
        theirs, ours = results[*case, THEIRS], results[*case, OURS]
        ratio = f"{theirs.calls / ours.calls:.1f}"
        rows.append([*case, *calls, ratio, f"{1e4 * (ours.error - theirs.error):+.1f}"])
    return markdown_table(
        [
            *("constraint", "eps", *(f"calls, {method}" for method in METHODS)),
            *(f"calls, {THEIRS} / {OURS}", f"error, {OURS} - {THEIRS}, in 1e-4"),
        ],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows of Adult; all by default")
    parser.add_argument("--eps", type=float, nargs="+", default=EPS)
    parser.add_argument("--quick", action="store_true", help="4,000 rows and one bound")
    asked = parser.parse_args()
    examples = load(4_000 if asked.quick else asked.rows)
    results = benchmark(examples, [0.02] if asked.quick else asked.eps)
    print(f"{machine()}\n\nAdult, {len(examples.y):,} rows, {examples.X.shape[1]} features.\n")
    print(f"{ratio_table(results)}\n\n{each_table(results)}")


if __name__ == "__main__":
    main()
