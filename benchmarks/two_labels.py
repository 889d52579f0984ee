"""Fits of two labels, as digests: whether another state of the code fits the same.

    python benchmarks/two_labels.py --write before.json     (with the other state installed)
    python benchmarks/two_labels.py --compare before.json

6,000 rows of Adult; twenty fits of the four estimators: constraints, oracles, weights, costs,
learners. A digest is that of expected decisions, error, lower value and violation, bit by bit. CPU
seconds and calls of the learner stand beside each; the peak of memory is that of all together.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equipoise as eq
from equipoise.constraints import AccuracyEquality, FalsePositiveRateParity
from equipoise.datasets import load_adult
from equipoise.oracles import Plugin, Refit

#: Error, digest, calls and CPU seconds of a fit.
Found = tuple[float | None, str, int | None, float]


def main() -> None:
    """Fit, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--rows", type=int, default=6000)
    options = parser.parse_args()
    print(machine(), flush=True)
    warnings.simplefilter("ignore")
    found = dict(fits(options.rows))
    if options.write is not None:
        options.write.write_text(json.dumps(found))
    before: dict[str, Any] = json.loads(options.compare.read_text()) if options.compare else found
    names = ["fit", "same", "calls before", "calls", "CPU s before", "CPU s"]
    rows = [
        [name, "yes" if before[name][1] == digest else "no", before[name][2], n, before[name][3], t]
        for name, (_, digest, n, t) in found.items()
    ]
    print(markdown_table(names, [[str(cell) for cell in row] for row in rows]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    same = sum(row[1] == "yes" for row in rows)
    seconds = [sum(row[at] for row in rows) for at in (4, 5)]
    print(
        f"{same} of {len(rows)} the same; {seconds[0]:.1f} and {seconds[1]:.1f} CPU seconds in "
        f"all; peak {peak:.0f} MiB."
    )


def fits(n: int) -> Iterator[tuple[str, Found]]:
    """Yield the name of each fit and what came of it."""
    adult, rng = load_adult(), np.random.default_rng(0)
    rows = rng.permutation(len(adult.target))[:n]
    X = np.asarray(adult.data, dtype=float)[rows]
    X, y = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), np.asarray(adult.target)[rows]
    sex, race = (np.asarray(adult.sensitive[name])[rows] for name in list(adult.sensitive)[:2])
    weight = rng.uniform(0.5, 2.0, n)
    for name, model, more in models():
        given: dict[str, Any] = {"sensitive_features": race if "pairs" in name else sex}
        if more:
            given["sample_weight"] = weight
        start = time.process_time()
        model.fit(X, y, **given)
        yield name, _found(model, X, round(time.process_time() - start, 2))


def models() -> Iterator[tuple[str, Any, bool]]:
    """Yield the name of each fit, its estimator, and whether rows are weighted."""
    one, boosted = LogisticRegression(C=0.01), LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
    parity, odds, fair = eq.DemographicParity(0.02), eq.EqualizedOdds(0.03), eq.FairClassifier
    tree, bounds = DecisionTreeClassifier(max_depth=4, random_state=0), [0.005, 0.02, 0.05, 0.1]
    for constraint in (parity, odds, eq.EqualOpportunity(0.02), AccuracyEquality(0.02)):
        yield type(constraint).__name__, fair(one, constraint), False
    yield "FalsePositiveRateParity", fair(one, FalsePositiveRateParity(0.02)), False
    yield "four fifths", fair(one, eq.FourFifthsRule()), False
    yield "group bounds", fair(one, eq.BoundedGroupError(0.2)), False
    yield "pairs", fair(one, eq.DemographicParity(0.02, reference="pairwise")), False
    yield "weights", fair(one, odds), True
    yield "costs", fair(one, parity, objective=eq.Costs(false_negative=3)), False
    yield "plug-in", fair(one, odds, oracle=Plugin(cv=3)), False
    yield "out of fold", fair(one, parity, oracle=Refit(cv=3)), False
    yield "LightGBM", fair(boosted, parity), False
    yield "tree", fair(tree, odds), False
    yield "ExponentiatedGradient", eq.ExponentiatedGradient(one, parity), False
    yield "ExponentiatedGradient, odds", eq.ExponentiatedGradient(one, odds), False
    yield "GridSearch", eq.GridSearch(one, parity, grid_size=9), False
    yield "Frontier", eq.Frontier(one, eq.DemographicParity(), bounds=bounds), False
    yield "Frontier, odds", eq.Frontier(one, eq.EqualizedOdds(), bounds=bounds), False
    plugin = eq.Frontier(one, eq.DemographicParity(), bounds=bounds, oracle=Plugin(cv=2))
    yield "Frontier, plug-in", plugin, False


def _found(model: Any, X: Any, seconds: float) -> Found:
    if isinstance(model, eq.Frontier):
        told = [point.error for point in model.points_]
        decided = model.at(model.points_[0].eps).predict_proba(X)
    elif isinstance(model, eq.GridSearch):
        told, decided = [], model.predict(X)
    else:
        certificate, decided = model.certificate_, model.predict_proba(X)
        told = [certificate.error, certificate.lower, certificate.violation]
    arrays = (np.asarray(decided, dtype=float), np.asarray(told, dtype=float))
    digest = hashlib.sha1(b"".join(array.tobytes() for array in arrays)).hexdigest()
    return (told[0] if told else None), digest, getattr(model, "n_calls_", None), seconds


if __name__ == "__main__":
    main()
