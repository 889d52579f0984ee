"""Many groups: what the reduction costs beside the learner with 50 groups and 200 constraints.

    python benchmarks/many_groups.py [--rows 1000000] [--groups 50] [--features 10] [--pairs]
        [--quick]

A million made-up people in 50 groups; equalized odds compares each group with everybody, given
either label and in either direction: 200 constraints, each to be met at 20 bounds. With ``--pairs``
each two groups are compared with each other instead. One frontier with logistic regression and one
with LightGBM. Seconds are CPU seconds of one thread and add up: "learner" is inside ``fit`` and the
predictions of the learner, "LP" inside linear programs, "rest" is everything else: reading,
relabelling, thresholds, moments, multipliers. Where ``--rounds`` ends the game early, gaps are
still open, and costs a call are what they are. "one fit" is a fit of the learner by itself, and
"all / plain fits" compares the whole with as many of these as there were calls. "MiB" is by how
much the fit raises the peak of the resident set, on Linux.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import numpy as np
from _clock import Clock
from _machine import machine, markdown_table
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from equipoise import EqualizedOdds, Frontier

HEADER = [
    *("learner", "bounds", "calls", "one fit, s", "all, s", "learner, s", "LPs", "LP, s"),
    *("rest, s", "LP, ms a call", "rest, ms a call", "all / plain fits", "(LP + rest) / learner"),
    *("excess", "MiB"),
]
PARTS = (
    ("equipoise.oracles.trainers.logistic:LogisticTrainer.fit", "learner"),
    ("equipoise.oracles.trainers.lightgbm_bins:LightGBMTrainer.fit", "learner"),
    ("sklearn.linear_model:LogisticRegression.decision_function", "learner"),
    ("sklearn.linear_model:LogisticRegression.predict", "learner"),
    ("equipoise.game.mixture:_solve", "LP"),
)


def make_people(rows: int, groups: int, features: int) -> tuple[np.ndarray, ...]:
    """Groups of unequal size, which the first feature and the base rate tell apart."""
    rng = np.random.default_rng(0)
    share = rng.uniform(0.2, 1.0, groups)
    A = rng.choice(groups, size=rows, p=share / share.sum())
    X = rng.normal(size=(rows, features))
    X[:, 0] += np.linspace(-0.7, 0.7, groups)[A]
    y = (X[:, :3].sum(axis=1) + 1.5 * rng.logistic(size=rows) > 0.5).astype(int)
    return X, y, A


def learners() -> dict[str, Any]:
    from lightgbm import LGBMClassifier

    return {
        "logistic": LogisticRegression(C=0.01, max_iter=1000),
        "LightGBM": LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1),
    }


def peak() -> float:
    """Return the peak of the resident set so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def excess(
    frontier: Frontier, X: np.ndarray, y: np.ndarray, A: np.ndarray, reference: str
) -> float:
    """By how much the tightest and the loosest bound are exceeded, from the decisions."""
    worst = -np.inf
    for point in (frontier.points_[0], frontier.points_[-1]):
        selected = frontier.at(point.eps).predict_proba(X)[:, 1]
        for label in (0, 1):
            given = y == label
            rates = np.bincount(A[given], selected[given]) / np.bincount(A[given])
            gap = np.nanmax(np.abs(rates - selected[given].mean()))  # some have none of a label
            if reference == "pairwise":
                gap = np.nanmax(rates) - np.nanmin(rates)
            worst = max(worst, gap - point.eps - point.certificate.least_slack)
    return float(worst)


def plain_fit(learner: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the CPU seconds of a fit of the learner alone, the median of three."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        learner.fit(X, y, sample_weight=np.ones(len(y)))
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def measure(
    name: str, people: tuple[np.ndarray, ...], bounds: np.ndarray, rounds: int, reference: str
) -> list[object]:
    X, y, A = people
    learner, clock = learners()[name], Clock()
    one_fit, before = plain_fit(learner, X, y), peak()
    frontier = Frontier(learner, EqualizedOdds(reference=reference), bounds=bounds, max_iter=rounds)
    with clock.watching(PARTS):
        start = time.process_time()
        frontier.fit(X, y, sensitive_features=A)
        total = time.process_time() - start
    memory = peak() - before
    inside, lp, calls = clock.seconds["learner"], clock.seconds.get("LP", 0.0), frontier.n_calls_
    rest = total - inside - lp
    return [
        *(name, len(bounds), calls, f"{one_fit:.3f}", f"{total:.1f}", f"{inside:.1f}"),
        *(clock.calls.get("LP", 0), f"{lp:.2f}", f"{rest:.2f}"),
        *(f"{1e3 * lp / calls:.1f}", f"{1e3 * rest / calls:.1f}"),
        *(f"{total / calls / one_fit:.2f}", f"{(lp + rest) / inside:.3f}"),
        f"{excess(frontier, X, y, A, reference):.1e}",
        f"{memory:.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--bounds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=200, help="the most to play")
    parser.add_argument("--learners", nargs="+", choices=["logistic", "LightGBM"])
    parser.add_argument("--pairs", action="store_true", help="compare each two groups")
    parser.add_argument("--quick", action="store_true", help="20,000 rows, 3 bounds, logistic")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, bounds = (20_000, 3) if asked.quick else (asked.rows, asked.bounds)
    names = asked.learners or (["logistic"] if asked.quick else ["logistic", "LightGBM"])
    people = make_people(rows, asked.groups, asked.features)
    print(f"{machine()}\n")
    reference = "pairwise" if asked.pairs else "overall"
    print(
        f"{rows:,} rows, {asked.groups} groups, reference={reference!r}, {bounds} bounds, "
        f"{asked.features} features, one thread.\n"
    )
    print(markdown_table(HEADER, []))
    for name in names:
        with threadpool_limits(1):
            row = measure(name, people, np.geomspace(0.005, 0.1, bounds), asked.rounds, reference)
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
