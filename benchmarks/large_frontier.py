"""A frontier of LightGBM over 1.33 million people: how many fits, and where the time goes.

    python benchmarks/large_frontier.py [--copies 2] [--threads 1] [--trees 100] [--bounds 20]
        [--nu 0.1]

ACSIncome of 2018, the 40 % of it that is in ``../shared/data`` (or where EQUIPOISE_SHARED_DATA
points; without it there is nothing to do), each column but the label as a number: 13 of them, the
row's own number included. A tenth of the people are set apart; the others are repeated until there
are as many rows as people in ``--copies`` tables. Equalized odds by sex, 20 bounds from 0.005 to
0.1, ``LGBMClassifier(n_estimators=100)``; the gap asked for is ``--nu`` over the root of the number
of rows, by default what equipoise asks for by default. Seconds are CPU seconds, of all threads
together, but for "wall", which is for an idle machine:

- "training" is inside ``lightgbm.train``, "scores" the booster's scores of its own rows,
- "labels, sums" are labels and weights for the learner and decisions added up by cell,
- "LP" is linear programs,
- "asked again" is every classifier asked once more before the fit returns, predictions included,
- "rest" is everything else: reading, bins, trees as text, fingerprint.

Errors and violations are means over the bounds, of expected decisions, without the library's own
metrics; "apart" on the people set apart.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import _raw
import numpy as np
from _clock import Clock
from _machine import machine, markdown_table, parse
from numpy.typing import NDArray

PARTS = (
    ("lightgbm:train", "training"),
    ("equipoise.oracles.trainers.lightgbm_bins:_training_scores", "scores"),
    ("equipoise.cells.rows:Cells.relabel_rows", "labels, sums"),
    ("equipoise.cells.rows:Cells.sum", "labels, sums"),
    ("equipoise.game.mixture:_solve", "LP"),
    ("equipoise.engines.memory:MemoryEngine.compare", "asked again"),
)
COLUMNS = tuple(dict.fromkeys(name for _, name in PARTS))


def read_people() -> tuple[NDArray, NDArray, NDArray] | None:
    """Return features, labels and sex; None without the data."""
    shared = os.environ.get("EQUIPOISE_SHARED_DATA", Path(__file__).parents[2] / "shared/data")
    if not (file := Path(shared) / "acs_income_2018.parquet").exists():
        return None
    import pandas

    table = pandas.read_parquet(file)
    label, sex = table.pop("label").to_numpy(dtype=np.int64), table["SEX"].to_numpy(dtype=str)
    numbers = [
        table[name].cat.codes
        if isinstance(table[name].dtype, pandas.CategoricalDtype)
        else table[name]
        for name in table
    ]
    return np.column_stack(numbers).astype(float), label, sex


def measure(asked: argparse.Namespace, people: tuple[NDArray, NDArray, NDArray]) -> list[object]:
    from lightgbm import LGBMClassifier

    from equipoise import EqualizedOdds, Frontier

    n = len(people[1])
    order = np.random.default_rng(0).permutation(n)
    apart, rest = order[: n // 10], order[n // 10 :]
    X, y, A = (values[np.resize(rest, round(asked.copies * n))] for values in people)
    learner = LGBMClassifier(n_estimators=asked.trees, n_jobs=asked.threads, verbose=-1)
    start = time.process_time()
    learner.fit(X, y)
    one_fit, clock = time.process_time() - start, Clock()
    bounds, nu = np.geomspace(0.005, 0.1, asked.bounds), asked.nu / np.sqrt(len(y))
    frontier = Frontier(learner, EqualizedOdds(), bounds=bounds, nu=nu)
    with clock.watching(PARTS):
        start, began = time.process_time(), time.perf_counter()
        frontier.fit(X, y, sensitive_features=A)
        total, wall = time.process_time() - start, time.perf_counter() - began
    each = [clock.seconds.get(name, 0.0) for name in COLUMNS]
    errors = []
    for rows in (rest, apart):
        X, y, A = (values[rows] for values in people)
        expected = frontier_decisions(frontier, X)
        errors.append(np.mean([_raw.error(h, y) for h in expected]))
        errors.append(np.mean([_raw.equalized_odds(h, y, A) for h in expected]))
    return [
        *(frontier.n_calls_, f"{one_fit:.1f}", f"{wall:.1f}", f"{total:.1f}"),
        *(f"{s:.2f}" for s in each),
        *(f"{total - sum(each):.2f}", f"{total / one_fit:.1f}", *(f"{e:.5f}" for e in errors)),
    ]


def frontier_decisions(frontier: object, X: NDArray) -> list[NDArray]:
    """Return the expected decisions at each bound; each classifier predicts once."""
    known: dict[int, NDArray] = {}
    found = []
    for point in frontier.points_:
        members = _raw.members(frontier.at(point.eps))
        for _, classifier in members:
            if id(classifier) not in known:
                known[id(classifier)] = np.asarray(classifier.predict(X), dtype=float)
        found.append(sum(weight * known[id(classifier)] for weight, classifier in members))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", type=float, default=2.0, help="rows for each person there is")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--bounds", type=int, default=20)
    parser.add_argument("--nu", type=float, default=0.1, help="the gap, times sqrt(rows)")
    asked = parse(parser, copies=0.005, trees=5, bounds=2)
    warnings.simplefilter("ignore")
    people = read_people()
    if people is None:
        print("skipped: acs_income_2018.parquet is not there; see the first lines of this file.")
        return
    print(f"{machine()}\n")
    print(f"{round(asked.copies * len(people[1])):,} rows, {asked.threads} threads.\n")
    header = ["calls", "one fit, s", "wall, s", "all, s", *COLUMNS, "rest", "all / one fit"]
    header += ["error", "violation", "error apart", "violation apart"]
    print(markdown_table(header, [measure(asked, people)]))


if __name__ == "__main__":
    main()
