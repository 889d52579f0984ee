"""What further draws of a learner are worth: errors on the people learned from, and on others.

    python benchmarks/draws.py [--learner lightgbm] [--problems compas law] [--bounds 5] [--seeds 5]

fairlearn trains hundreds of models where `Frontier` trains a few. All of them are kept here, and
some, drawn at random, are added to those of `Frontier`; a linear program finds the best mixture of
each bound. Three quarters of the rows are learned from. Training errors are compared bound by
bound, errors on the rest at equal violations there, as ``frontier.py --test`` does, both with those
of `Frontier` itself; the standard error is the jackknife's, over the splits.

A learner that answers well has nothing to gain. One that is noisy gains from every draw on the
people learned from; whether others see any of it is what the last columns tell.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from typing import Any

import numpy as np
from _machine import machine, parse
from fairlearn.reductions import ExponentiatedGradient
from frontier import (
    NOTIONS,
    PROBLEMS,
    Rows,
    at_equal_violation,
    jackknife,
    make_learner,
    measure,
    read,
)
from scipy.optimize import linprog
from sklearn.model_selection import train_test_split

from equipoise import Frontier

#: How many of fairlearn's models are added, and how often they are drawn.
DRAWN, DRAWS = (5, 10, 20, 40), 5
HEADER = [
    *("problem", "fits of Frontier", "more models", "training error, difference"),
    *("test error at equal violation, difference", "standard error"),
]


def keeping(learner: Any) -> tuple[Any, list[Any]]:
    """Return a learner of a subclass, and the list in which every trained one is kept."""
    trained: list[Any] = []

    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        trained.append(self)
        return type(learner).fit(self, *args, **kwargs)

    kind = type(type(learner).__name__, (type(learner),), {"fit": fit})
    return kind(**learner.get_params()), trained


def rates(decisions: np.ndarray, y: np.ndarray, A: np.ndarray, labels: tuple) -> tuple:
    """Return errors (P,) of decisions (P, n), and rates of groups less those of all (P, K)."""
    differences = []
    for label, a in product(labels, np.unique(A)):
        rows = np.ones(len(y), bool) if label is None else y == label
        overall = decisions[:, rows].mean(axis=1)
        differences.append(decisions[:, rows & (a == A)].mean(axis=1) - overall)
    return np.where(y == 1, 1 - decisions, decisions).mean(axis=1), np.array(differences).T


def best_mixtures(error: np.ndarray, difference: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the weights (bounds, P) of the mixtures of least error."""
    both = np.vstack([difference.T, -difference.T])
    one = np.ones((1, len(error)))
    return np.array([linprog(error, both, np.full(len(both), eps), one, [1.0]).x for eps in bounds])


def points(decisions: list[np.ndarray], parts: list[Rows], labels: tuple, bounds: Any) -> Any:
    """Return (error, violation) of the best mixtures on both parts: (2, bounds, 2)."""
    weights = best_mixtures(*rates(decisions[0], *parts[0][1:], labels), bounds)
    return np.array(
        [
            [measure(each @ decided, *part[1:], labels) for each in weights]
            for decided, part in zip(decisions, parts, strict=True)
        ]
    )


def one_split(parts: list[Rows], notion: str, learner: str, bounds: np.ndarray) -> Any:
    """Return fits of both sides, and points by how many more models: (sizes, 2, bounds, 2)."""
    (X, y, A), (ours, theirs, labels) = parts[0], NOTIONS[notion]
    base, trained = keeping(make_learner(learner))
    for eps in bounds:
        model = ExponentiatedGradient(base, theirs(difference_bound=eps))
        model.fit(X, y, sensitive_features=A)
    frontier = Frontier(make_learner(learner), ours(), bounds=bounds, nu=model.nu)
    frontier.fit(X, y, sensitive_features=A)
    pool = [np.array([h.predict(part[0]) for h in frontier.pool_.classifiers]) for part in parts]
    more = [np.array([h.predict(part[0]) for h in trained]) for part in parts]
    rng, found = np.random.default_rng(0), []
    for size in (0, *DRAWN, len(trained)):
        each = []
        for _ in range(DRAWS if 0 < size < len(trained) else 1):
            some = rng.choice(len(trained), min(size, len(trained)), replace=False)
            all_of = [np.vstack([p, m[some]]) for p, m in zip(pool, more, strict=True)]
            each.append(points(all_of, parts, labels, bounds))
        found.append(np.mean(each, axis=0))
    return frontier.n_calls_, len(trained), np.array(found)


def compare(problem: str, notion: str, asked: argparse.Namespace) -> list[list[str]]:
    """Return the rows of the table for a problem."""
    rows = [part[: asked.rows] for part in read(problem)]
    bounds = np.geomspace(0.001, 0.1, asked.bounds)
    splits = []
    for seed in range(asked.seeds):
        halves = train_test_split(*rows, test_size=0.25, random_state=seed, stratify=rows[1])
        splits.append(one_split([halves[::2], halves[1::2]], notion, asked.learner, bounds))
    fits, drawn = (np.mean([split[k] for split in splits]) for k in (0, 1))
    found, table = np.array([split[2] for split in splits]), []
    for k, size in enumerate((*DRAWN, drawn), 1):
        trained, judged = found[:, [k, 0]].transpose(2, 0, 1, 3, 4)  # split, side, bound, number
        table.append(
            [
                *(f"{problem} {notion}", f"{fits:.1f}", f"{size:.0f}"),
                f"{np.subtract(*trained.mean(axis=(0, 2))[:, 0]):+.4f}",
                f"{at_equal_violation(*judged.mean(axis=0)):+.4f}",
                f"{jackknife(judged):.4f}",
            ]
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learner", default="lightgbm", choices=["logistic", "lightgbm"])
    parser.add_argument("--problems", nargs="*", default=["compas", "law"], choices=list(PROBLEMS))
    parser.add_argument("--bounds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="the first rows of a problem; all by default")
    small = {"problems": ["adult"], "learner": "logistic", "bounds": 2, "seeds": 2, "rows": 2000}
    asked = parse(parser, **small)
    warnings.simplefilter("ignore")
    print(f"{machine()}\n\n{asked.learner}, {asked.seeds} splits, {asked.bounds} bounds\n")
    print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}", flush=True)
    for problem, notion in product(asked.problems, NOTIONS):
        for row in compare(problem, notion, asked):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
