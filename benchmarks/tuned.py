"""What tuned thresholds gain on the people learned from, and on others.

    python benchmarks/tuned.py [--learner logistic|lightgbm] [--rows 16000] [--seeds 6] [--bounds 8]

`Frontier` with ``Refit(threshold="tuned")`` against ``Refit(threshold="learner")``, on the problems
of ``benchmarks/step.py``, on which nothing else is reported. Three quarters of the rows are learned
from. Errors on the rest are compared at equal violations there, as ``frontier.py --test`` does; the
standard error is the jackknife's, over the splits.

Real data are read from EQUIPOISE_DATA.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _machine import machine, markdown_table, parse
from frontier import NOTIONS, Rows, at_equal_violation, jackknife, make_learner, measure
from sklearn.model_selection import train_test_split
from step import problems

from equipoise import Frontier
from equipoise.oracles import Refit

HEADER = [
    *("problem", "fits, learner's own", "tuned", "training error, tuned minus own"),
    *("test error at equal violation", "standard error"),
]


def traced(
    threshold: str, fitted: Rows, judged: Rows, notion: str, learner: str, bounds: np.ndarray
) -> tuple[int, float, np.ndarray]:
    """Return fits, mean training error, and (error, violation) on other rows at each bound."""
    constraint, _, labels = NOTIONS[notion]
    frontier = Frontier(
        make_learner(learner), constraint(), bounds=bounds, oracle=Refit(threshold=threshold)
    )
    frontier.fit(*fitted[:2], sensitive_features=fitted[2])
    selected = [frontier.at(eps).predict_proba(judged[0])[:, 1] for eps in bounds]
    points = np.array([measure(each, *judged[1:], labels) for each in selected])
    return frontier.n_calls_, float(np.mean([p.error for p in frontier.points_])), points


def compare(name: str, rows: Rows, notion: str, asked: argparse.Namespace) -> list[str]:
    """Return a row of the table."""
    bounds = np.geomspace(0.001, 0.1, asked.bounds)
    sides = []
    for seed in range(asked.seeds):
        halves = train_test_split(*rows, test_size=0.25, random_state=seed, stratify=rows[1])
        parts = halves[::2], halves[1::2], notion, asked.learner, bounds
        sides.append([traced(threshold, *parts) for threshold in ("tuned", "learner")])
    calls, errors = (np.array([[one[k] for one in side] for side in sides]) for k in (0, 1))
    points = np.array([[one[2] for one in side] for side in sides])
    return [
        f"{name} {notion}",
        *(f"{fits:.1f}" for fits in calls.mean(axis=0)[::-1]),
        f"{np.subtract(*errors.mean(axis=0)):+.4f}",
        f"{at_equal_violation(*points.mean(axis=0)):+.4f}",
        f"{jackknife(points):.4f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learner", default="logistic", choices=["logistic", "lightgbm"])
    parser.add_argument("--rows", type=int, default=16_000, help="the most rows of a problem")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--bounds", type=int, default=8)
    asked = parse(parser, rows=1000, seeds=2, bounds=2)
    warnings.simplefilter("ignore")
    table = [
        compare(name, rows, notion, asked)
        for name, rows in problems(asked.rows)
        for notion in NOTIONS
    ]
    print(f"{machine()}\n\n{asked.learner}, {asked.seeds} splits, {asked.bounds} bounds\n")
    print(markdown_table(HEADER, table))


if __name__ == "__main__":
    main()
