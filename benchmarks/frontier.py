"""Twenty bounds: `Frontier` against fairlearn's ExponentiatedGradient in a loop, in one run.

    python benchmarks/frontier.py [--quick] [--learner logistic|lightgbm] [--problems adult law ...]

Adult comes with the package; the others are read from EQUIPOISE_DATA and left out without it.
Errors and violations are computed here from expected decisions, for both sides alike.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _machine import machine
from fairlearn.reductions import DemographicParity as TheirParity
from fairlearn.reductions import EqualizedOdds as TheirOdds
from fairlearn.reductions import ExponentiatedGradient as TheirReduction
from sklearn.linear_model import LogisticRegression
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

    return LGBMClassifier(n_estimators=100, verbose=-1)


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


def compare(problem: str, notion: str, learner: str, bounds: np.ndarray) -> dict[str, Any]:
    load, attribute = PROBLEMS[problem]
    data = load()
    X = StandardScaler().fit_transform(data.data)
    y, A = np.asarray(data.target), np.asarray(data.sensitive[attribute])
    ours, theirs, labels = NOTIONS[notion]
    start = time.perf_counter()
    frontier = Frontier(make_learner(learner), ours(), bounds=bounds)
    frontier.fit(X, y, sensitive_features=A)
    our_seconds = time.perf_counter() - start
    results = {e: measure(frontier.at(e).predict_pmf(X)[:, 1], y, A, labels) for e in bounds}
    base, fits = counting(make_learner(learner))
    seconds, differences = 0.0, []
    for eps in bounds:
        start = time.perf_counter()
        model = TheirReduction(base, theirs(difference_bound=eps))
        model.fit(X, y, sensitive_features=A)
        seconds += time.perf_counter() - start
        error, _ = measure(model._pmf_predict(X)[:, 1], y, A, labels)
        differences.append(results[eps][0] - error)
    return {
        "problem": f"{problem} {notion}",
        "fits": frontier.n_calls_,
        "theirs": fits[0],
        "seconds": our_seconds,
        "their seconds": seconds,
        "ratio": seconds / our_seconds,
        "error difference, mean": np.mean(differences),
        "largest": np.max(differences),
        "over a bound, largest": max(results[e][1] - e for e in bounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three bounds on Adult, DP")
    parser.add_argument("--learner", default="logistic", choices=["logistic", "lightgbm"])
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--bounds", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    problems = ["adult"] if options.quick else options.problems
    bounds = np.geomspace(0.001, 0.1, 3 if options.quick else options.bounds)
    print(f"{machine()}\n\n{options.learner}, {len(bounds)} bounds from 0.001 to 0.1, train data\n")
    print(
        "| problem | fits | fairlearn's | seconds | fairlearn's | ratio | error minus fairlearn's, "
        "mean | largest | over a bound, largest |\n|---|---|---|---|---|---|---|---|---|"
    )
    for problem in problems:
        for notion in ["DP"] if options.quick else NOTIONS:
            try:
                row = compare(problem, notion, options.learner, bounds)
            except OSError as error:
                print(f"| {problem} {notion} | left out: {str(error).splitlines()[0]} |")
                continue
            print(
                "| {problem} | {fits} | {theirs} | {seconds:.2f} | {their seconds:.1f} | "
                "{ratio:.0f} | {error difference, mean:+.5f} | {largest:+.5f} | "
                "{over a bound, largest:.1e} |".format(**row),
                flush=True,
            )


if __name__ == "__main__":
    main()
