"""More than two labels: random problems against a linear program, and two data sets.

    python benchmarks/multiclass.py --problems 1000
    python benchmarks/multiclass.py --data communities --learner logistic
    python benchmarks/multiclass.py --data diabetes130 --learner lightgbm --seeds 5

The first compares the game with the linear program over the whole class, for problems of 2 to 6
labels and 2 to 5 groups, impossible ones included. The others bound the rate of every decision
between every pair of groups: accuracy and the largest such difference on people set apart, in
expectation over the draw, computed from raw arrays. Beside them the class that is most frequent,
and the chord: what mixing the unconstrained model with that class would do at the same difference.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _machine import machine, markdown_table
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from equipoise import DemographicParity, Frontier
from equipoise.oracles import Plugin, Refit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

BOUNDS = (0.001, 0.02, 0.05, 0.1, 0.2, 0.4)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=0)
    parser.add_argument("--data", choices=["communities", "diabetes130"])
    parser.add_argument("--learner", choices=["logistic", "lightgbm"], default="logistic")
    parser.add_argument("--oracle", choices=["plugin", "refit"], default="plugin")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("EQUIPOISE_DATA", ".")))
    options = parser.parse_args()
    print(machine(), flush=True)
    if options.problems:
        random_problems(options.problems)
    if options.data:
        data_set(options)


def random_problems(n: int) -> None:
    """Compare the game with the program over the whole class."""
    from labelled_problems import LabelledProblem

    start, worst, slack, impossible = time.process_time(), 0.0, 0.0, 0
    labels = np.zeros(7, dtype=int)
    for seed in range(n):
        problem = LabelledProblem(seed)
        best, least = problem.optimum()
        found = problem.solved()
        labels[problem.V] += 1
        slack = max(slack, abs(found.least_slack - max(least, 0.0)))
        if best is None:
            impossible += 1
        else:
            worst = max(worst, abs(found.error - best), abs(found.lower - best), found.violation)
        if (seed + 1) % 100 == 0:
            print(f"{seed + 1}: worst {worst:.1e}, slack {slack:.1e}", flush=True)
    print(
        f"{n} problems of {', '.join(f'{v} labels ({labels[v]})' for v in range(2, 7))}: error, "
        f"lower value and violation within {worst:.1e} of the program; {impossible} impossible "
        f"ones, least slack within {slack:.1e}; {time.process_time() - start:.0f} CPU seconds."
    )


def communities(folder: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Return features without race, five labels, four groups, and the number of each row."""
    table = pd.read_parquet(folder / "communities.parquet")
    race = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]
    left_out = [*race, "ViolentCrimesPerPop", "label5", "group4", "majority_white"]
    X = table.drop(columns=left_out)
    X = X.loc[:, X.isna().mean() < 0.5]
    return X.fillna(X.mean()), *_arrays(table, "label5", "group4"), np.arange(len(X))


def diabetes130(folder: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Return features without race, three labels, four groups of race, and each row's patient."""
    table = pd.read_parquet(folder / "diabetes130.parquet")
    table["race"] = table["race"].astype(object).fillna("Other").replace("Asian", "Other")
    left_out = ["encounter_id", "patient_nbr", "race", "readmitted", "label", "weight"]
    X = table.drop(columns=[*left_out, "diag_1", "diag_2", "diag_3", "examide", "citoglipton"])
    for name in X.select_dtypes("category"):
        X[name] = X[name].astype(str)
    return X, *_arrays(table, "readmitted", "race"), table["patient_nbr"].to_numpy()


def _arrays(table: pd.DataFrame, label: str, group: str) -> tuple[np.ndarray, np.ndarray]:
    return table[label].to_numpy(), table[group].astype(object).to_numpy()


def learner(name: str) -> Any:
    """Return the learner, behind an encoder of text."""
    text = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=100)
    encoder = make_column_transformer(
        (text, make_column_selector(dtype_include=object)),
        remainder=StandardScaler(),
        sparse_threshold=0.0,
    )
    encoder.set_output(transform="default")
    last: Any = LogisticRegression(max_iter=200)
    if name == "lightgbm":
        last = LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1)
    return make_pipeline(encoder, last)


def data_set(options: argparse.Namespace) -> None:
    """Trace a frontier on each split, and print means over the splits."""
    X, y, A, unit = {"communities": communities, "diabetes130": diabetes130}[options.data](
        options.folder
    )
    found: dict[float, list[tuple[float, float, float]]] = {}
    plain, majority, seconds = [], [], []
    for seed in range(33, 33 + options.seeds):
        fit, test = _split(options.data, y, unit, seed)
        start = time.process_time()
        oracle = Plugin(cv=3) if options.oracle == "plugin" else Refit(cv=3)
        frontier = Frontier(
            learner(options.learner),
            DemographicParity(reference="pairwise"),
            bounds=BOUNDS,
            oracle=oracle,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frontier.fit(X.iloc[fit], y[fit], sensitive_features=A[fit])
        seconds.append(time.process_time() - start)
        free = frontier.at(1.0)
        plain.append(measured(free, X.iloc[test], y[test], A[test]))
        values, counts = np.unique(y[fit], return_counts=True)
        majority.append(float((y[test] == values[counts.argmax()]).mean()))
        for eps in BOUNDS:
            accuracy, gap = measured(frontier.at(eps), X.iloc[test], y[test], A[test])
            share = min(gap / plain[-1][1], 1.0)
            chord = majority[-1] + share * (plain[-1][0] - majority[-1])
            found.setdefault(eps, []).append((accuracy, gap, chord))
        print(f"split {seed}: {seconds[-1]:.0f} CPU s, {frontier.n_calls_} calls", flush=True)
    _print(options, found, np.array(plain), np.array(majority), len(fit), len(test), seconds)


def _split(name: str, y: np.ndarray, unit: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.arange(len(y))
    if name == "communities":
        return tuple(train_test_split(rows, train_size=0.7, random_state=seed))  # type: ignore
    fit, test = next(
        GroupShuffleSplit(1, train_size=0.2, random_state=seed).split(rows, groups=unit)
    )
    return fit, test


def measured(model: Any, X: Any, y: np.ndarray, A: np.ndarray) -> tuple[float, float]:
    """Return accuracy and the largest difference of a decision's rate between two groups."""
    pmf = model.predict_pmf(X)
    right = pmf[np.arange(len(y)), np.searchsorted(model.classes_.astype(str), y.astype(str))]
    rates = np.array([pmf[group == A].mean(axis=0) for group in np.unique(A)])
    return float(right.mean()), float(np.ptp(rates, axis=0).max())


def _print(
    options: argparse.Namespace,
    found: dict[float, list[tuple[float, float, float]]],
    plain: np.ndarray,
    majority: np.ndarray,
    n_fit: int,
    n_test: int,
    seconds: list[float],
) -> None:
    print(
        f"\n{options.data}, {options.learner}, {options.oracle}, {options.seeds} splits: {n_fit:,} "
        f"to fit and {n_test:,} to test; {np.mean(seconds):.0f} CPU seconds a frontier of "
        f"{len(BOUNDS)} bounds. Majority class {majority.mean():.4f} at 0; without constraint "
        f"{plain[:, 0].mean():.4f} at {plain[:, 1].mean():.3f}."
    )
    rows = []
    for eps, each in found.items():
        accuracy, gap, chord = np.array(each).T
        rows.append(
            [
                f"{eps:g}",
                f"{gap.mean():.3f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.3f}",
                f"{accuracy.mean():.4f} ± {accuracy.std(ddof=1) / np.sqrt(len(gap)):.4f}",
                f"{chord.mean():.4f}",
            ]
        )
    print(markdown_table(["asked", "difference on test", "accuracy", "chord there"], rows))


if __name__ == "__main__":
    main()
