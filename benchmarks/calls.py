"""How many calls of the learner it takes to reach a certified gap, on the Adult data.

All 48,842 rows, scaled one-hot features, LogisticRegression(C=0.01), groups by sex. Every method
runs with its own defaults and is given the same bound: no group's rate differs from everybody's
by more than eps (selection rate for demographic parity; true- and false-positive rate for
equalized odds).

- Calls are counted by the learner itself: every ``fit`` of logistic regression.
- Error and violation are computed from the expected predictions on the same rows, without either
  library's metrics.
- The gap is the one that the method itself reports, and nu the gap that it was to reach.

Run ``python benchmarks/calls.py``; ``--quick`` for a small version.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import _raw
import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

CONSTRAINTS = ("DemographicParity", "EqualizedOdds")
METHODS = ("FairClassifier", "ExponentiatedGradient, polished", "fairlearn")
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


def make(method: str, constraint: str, eps: float) -> Any:
    """Return an unfitted classifier, with its own defaults for everything but the bound."""
    import fairlearn.reductions as fairlearn

    import equipoise

    learner = CountedRegression(C=0.01, max_iter=1000)
    if method == "fairlearn":
        bound = getattr(fairlearn, constraint)(difference_bound=eps)
        return fairlearn.ExponentiatedGradient(learner, bound, eps=eps)
    reduction = getattr(equipoise, method.partition(",")[0])
    return reduction(learner, getattr(equipoise, constraint)(eps=eps))


def measure(method: str, constraint: str, eps: float, examples: Examples) -> Measured:
    """Fit once; count, and compute from raw arrays."""
    X, y, group = examples
    classifier = make(method, constraint, eps)
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
    theirs = method == "fairlearn"
    return Measured(
        calls=calls,
        error=_raw.error(expected, y),
        violation=violation(expected, y, group),
        gap=classifier.best_gap_ if theirs else classifier.certificate_.gap,
        nu=classifier.nu if theirs else classifier.nu_,
        seconds=seconds,
    )


Results = dict[tuple[str, float, str], Measured]


def benchmark(
    examples: Examples, eps: Sequence[float], report: Callable[[str], object] = lambda _: None
) -> Results:
    """Run every method for every constraint and bound."""
    results = {}
    for constraint in CONSTRAINTS:
        for bound in eps:
            for method in METHODS:
                report(f"{constraint} {bound} {method}")
                results[constraint, bound, method] = measure(method, constraint, bound, examples)
    return results


def each_table(results: Results) -> str:
    return markdown_table(
        ["constraint", "eps", "method", "calls", "error", "violation", "gap", "nu", "CPU s"],
        [
            [
                *(constraint, eps, method, run.calls, f"{run.error:.5f}", f"{run.violation:.5f}"),
                *(f"{run.gap:.6f}", f"{run.nu:.6f}", f"{run.seconds:.1f}"),
            ]
            for (constraint, eps, method), run in results.items()
        ],
    )


def ratio_table(results: Results) -> str:
    ours, polished, theirs = METHODS
    rows = []
    for constraint, eps in dict.fromkeys(key[:2] for key in results):
        fair, gradient, other = (results[constraint, eps, name] for name in METHODS)
        rows.append(
            [
                *(constraint, eps, fair.calls, gradient.calls, other.calls),
                *(f"{other.calls / fair.calls:.1f}", f"{1e4 * (fair.error - other.error):+.1f}"),
            ]
        )
    return markdown_table(
        [
            *("constraint", "eps", f"calls, {ours}", f"calls, {polished}", f"calls, {theirs}"),
            *(f"{theirs} / {ours}", f"error, {ours} - {theirs} (1e-4)"),
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
