"""Does a bound hold on people who were not there in training?

    python benchmarks/unseen_people.py            about ten minutes on one core; --cases forest: two
    python benchmarks/unseen_people.py --quick    one seed, made-up people only

Two cases. A forest of full-grown trees, which learns its 1,500 training examples by heart, on
made-up people, tested on 20,000 others. Boosted trees on Adult, one half for training and one for
the test. The gap of a test is the largest distance of a group's selection rate from everybody's,
from expected decisions, without the library's metrics. fairlearn's ExponentiatedGradient, with the
same bound, is run on the forest too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import _raw
import numpy as np
from _machine import machine, markdown_table
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

from equipoise import DemographicParity, FairClassifier
from equipoise.datasets import load_adult
from equipoise.oracles import Refit

HEADER = [
    *("case", "members", "bound", "training difference", "test difference"),
    *("claimed error", "test error", "seconds"),
]
KINDS: dict[str, dict[str, Any]] = {
    "refit": {},
    "refit, cv=5": {"oracle": Refit(cv=5)},
    "plug-in": {"oracle": "plugin"},
    "fairlearn": {},
}


def made_up(seed: int) -> _raw.Halves:
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 2, 21500)
    X = rng.normal(size=(21500, 3)) + np.array([1.0, 0.0, 0.0]) * A[:, None]
    y = (X @ [1.0, 1.0, 0.0] + rng.logistic(size=21500) > 0.5).astype(int)
    return _raw.Halves(*train_test_split(X, y, A, train_size=1500, random_state=seed))


def adult_halves(seed: int) -> _raw.Halves:
    adult = load_adult()
    columns = adult.data, adult.target, adult.sensitive["sex"]
    return _raw.Halves(*train_test_split(*columns, train_size=0.5, random_state=seed))


def measure(split: _raw.Halves, learner: Any, eps: float, kind: str) -> list[float]:
    """Return the gaps on either part, the error that is claimed and that of the test, seconds."""
    start = time.perf_counter()
    clf = (
        _fairlearn(learner, eps)
        if kind == "fairlearn"
        else FairClassifier(learner, DemographicParity(eps=eps), **KINDS[kind])
    )
    clf.fit(split.X, split.y, sensitive_features=split.A)
    seconds = time.perf_counter() - start
    seen, unseen = (
        _raw.expected_predictions(_raw.members(clf), X) for X in (split.X, split.X_test)
    )
    gaps = (
        _raw.demographic_parity(seen, split.y, split.A),
        _raw.demographic_parity(unseen, split.y_test, split.A_test),
    )
    # fairlearn makes no claim but what happens on its training data.
    certificate = getattr(clf, "certificate_", None)
    claimed = _raw.error(seen, split.y) if certificate is None else certificate.error
    return [*gaps, claimed, _raw.error(unseen, split.y_test), seconds]


def _fairlearn(learner: Any, eps: float) -> Any:
    import fairlearn.reductions as fairlearn

    return fairlearn.ExponentiatedGradient(
        learner, fairlearn.DemographicParity(difference_bound=eps), eps=eps
    )


FOREST = RandomForestClassifier(25, random_state=0)
TREES = HistGradientBoostingClassifier(max_iter=30, random_state=0)
CASES: dict[str, tuple[Any, Any, list[float], list[str]]] = {
    "forest": (made_up, FOREST, [0.02], list(KINDS)),
    "adult": (adult_halves, TREES, [0.02, 0.05], ["refit", "plug-in"]),
}


def rows_of(case: str, seeds: int) -> Iterator[list[object]]:
    make, learner, bounds, kinds = CASES[case]
    for eps in bounds:
        for kind in kinds:
            found = [measure(make(seed), learner, eps, kind) for seed in range(seeds)]
            mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
            gaps = (f"{mean[i]:.4f} ± {spread[i]:.4f}" for i in (0, 1))
            errors = f"{mean[2]:.4f}", f"{mean[3]:.4f}"
            yield [case, kind, eps, *gaps, *errors, f"{mean[4]:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    args = parser.parse_args()
    seeds, cases = (1, ["forest"]) if args.quick else (args.seeds, args.cases)
    warnings.simplefilter("ignore")  # fairlearn's own, about pandas
    print(f"Means over {seeds} seeds, ± their standard deviation. {machine()}\n")
    print(markdown_table(HEADER, []))
    for case in cases:
        for row in rows_of(case, seeds):
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
