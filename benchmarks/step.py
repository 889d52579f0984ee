"""How far a query goes towards the multipliers of the LP: fits, on problems for choosing alone.

    python benchmarks/step.py [--rows 8000] [--steps 0.3 0.4 ...]
    python benchmarks/step.py --many --steps 0.4 0.7 1

The step is a constant of the solver. It is chosen here, on German credit, credit default,
diabetes readmission and three made-up populations, and reported on other problems, those of
``benchmarks/frontier.py``. Each entry is the number of fits of a frontier of twenty bounds with
logistic regression, under demographic parity and equalized odds, to the default gap. ``--many``:
the step where the LP has many multipliers, on made-up populations of 5, 10 and 30 groups,
three each; the mean error over bounds is shown as well, minus that of the first step.

The data are read from EQUIPOISE_DATA.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from _machine import machine, markdown_table, parse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, EqualizedOdds, Frontier, datasets

KNOWN = importlib.import_module("equipoise.game.known")
REAL = {
    "german": (datasets.load_german_credit, "sex"),
    "credit default": (datasets.load_credit_default, "gender"),
    "diabetes130": (datasets.load_diabetes130, "race"),
}


def made_up(seed: int, groups: int, rows: int) -> tuple[np.ndarray, ...]:
    """Return people whose groups differ in one feature and in their base rate."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, groups, rows)
    X = rng.normal(size=(rows, 6))
    X[:, 0] += 0.8 * A / max(groups - 1, 1)
    y = (X[:, :3].sum(axis=1) + 0.5 * A + 1.5 * rng.logistic(size=rows) > 0.8).astype(int)
    return X, y, A


def problems(rows: int) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    for name, (load, attribute) in REAL.items():
        data: Any = load()
        some = np.random.default_rng(0).permutation(len(data.target))[:rows]
        X = StandardScaler().fit_transform(np.asarray(data.data, dtype=float)[some])
        y, A = np.asarray(data.target)[some], np.asarray(data.sensitive[attribute])[some]
        yield name, (X, y, A)
    for seed, groups in enumerate((2, 3, 5)):
        yield f"made up, {groups} groups", made_up(seed, groups, rows)


def traced(people: tuple[np.ndarray, ...], constraint: Any) -> Frontier:
    X, y, A = people
    learner, bounds = LogisticRegression(C=0.01, max_iter=1000), np.geomspace(0.001, 0.1, 20)
    return Frontier(learner, constraint, bounds=bounds).fit(X, y, sensitive_features=A)


def fits(people: tuple[np.ndarray, ...], constraint: Any, step: float) -> int:
    KNOWN.TOWARDS_LP = step
    return traced(people, constraint).n_calls_


def many(rows: int, steps: list[float]) -> None:
    """Print the table of the step where the LP has many multipliers."""
    table = []
    for groups, constraint in product((5, 10, 30), (DemographicParity(), EqualizedOdds())):
        found, errors = np.zeros(len(steps), dtype=int), np.zeros(len(steps))
        for seed, (i, step) in product(range(3), enumerate(steps)):
            KNOWN.TOWARDS_MANY = step
            frontier = traced(made_up(100 + 10 * seed + groups, groups, rows), constraint)
            found[i] += frontier.n_calls_
            errors[i] += np.mean([point.error for point in frontier.points_]) / 3
        changes = [f"{error:+.5f}" for error in errors[1:] - errors[0]]
        table.append([f"{groups} groups, {type(constraint).__name__}", *found, *changes])
    header = ["three populations", *(f"{step:g}" for step in steps)]
    print(markdown_table([*header, *(f"error, {step:g}" for step in steps[1:])], table))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8000, help="the most rows of a problem")
    parser.add_argument("--steps", type=float, nargs="+", default=[0.3, 0.4, 0.5, 0.6, 0.7])
    parser.add_argument("--many", action="store_true", help="the step of many multipliers")
    asked = parse(parser, rows=300, steps=[0.7], many=True)
    warnings.simplefilter("ignore")
    if asked.many:
        print(f"{machine()}\n")
        many(asked.rows, asked.steps)
        return
    table, total = [], np.zeros(len(asked.steps), dtype=int)
    for name, people in problems(asked.rows):
        for short, constraint in (("DP", DemographicParity()), ("EO", EqualizedOdds())):
            found = [fits(people, constraint, step) for step in asked.steps]
            table.append([f"{name} {short}", *found])
            total += found
    print(f"{machine()}\n")
    header = ["problem", *(f"{step:g}" for step in asked.steps)]
    each = np.array([row[1:] for row in table], dtype=float)
    means = [f"{mean:.2f}" for mean in np.exp(np.log(each).mean(axis=0))]
    print(markdown_table(header, [*table, ["all", *total], ["geometric mean", *means]]))


if __name__ == "__main__":
    main()
