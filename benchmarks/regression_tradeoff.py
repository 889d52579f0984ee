"""Squared error against unfairness of regressors, with the constant and the chord beside them.

    python benchmarks/regression_tradeoff.py --data communities --splits 10

Data are read from EQUIPOISE_DATA (communities.parquet, law_school.parquet, adult.parquet). The
protocol is that of github.com/taturyan/unaware-fair-reg: linear regression, logistic
regression for the groups, 80 % to learn from, 10 % to test on; law school and Adult are samples of
2,000. Unfairness is the largest difference between the distribution of predictions of the smaller
group and that of everybody: at 29 thresholds, as there, and at any threshold. Curves are means over
splits, read at the unfairness of the reference; below what the tightest bound measures, along the
line to the constant. The chord is the line from the model without constraints to the constant.
Behind each value stands its standard error, by the jackknife over splits. CPU seconds are for 20
bounds, probabilities included. "By chance" is what the mixture of the tightest bound measures when
the groups of the people tested are dealt by lot: less than that is not reached by fairness.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _machine import machine, parse
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split

from equipoise import DemographicParity, Frontier

BOUNDS = np.geomspace(0.005, 0.5, 20)
#: Data -> (unfairness, squared error) as printed by the reference.
REFERENCE = {
    "communities": [(0.075, 0.0424), (0.146, 0.0339), (0.301, 0.0267)],
    "law": [(0.045, 0.0119)],
    "adult": [(0.027, 0.0176)],
}


def communities(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, group (1: most people are white) and violent crime."""
    table = pd.read_parquet(folder / "communities.parquet")
    group = table.pop("majority_white").to_numpy()
    races = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]
    table = table.drop(columns=["label5", "group4", *races]).fillna(0)
    y = table.pop("ViolentCrimesPerPop").to_numpy()
    return table.to_numpy(float)[y != 0], group[y != 0], y[y != 0]


def law(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, group (1: white) and undergraduate grades, of 2,000 people."""
    table = pd.read_parquet(folder / "law_school.parquet")
    numbers = ["cluster", "lsat", "zfygpa", "zgpa", "fulltime", "fam_inc", "age"]
    table = table[[*numbers, "gender", "bar1", "race", "ugpa"]].dropna()
    X = table[numbers].astype(float)
    X["gender"], X["bar1"] = table.gender == "male", table.bar1 == "P"
    return _sample(X, table.race == "7", table.ugpa / 4)


def adult(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, group (1: men) and age, of 2,000 people."""
    table = pd.read_parquet(folder / "adult.parquet").dropna()
    names = ["fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    X = np.log1p(table[names].astype(float))
    X["income"] = table.label
    return _sample(X, table.sex == "Male", table.age / 100)


def _sample(
    X: pd.DataFrame, group: pd.Series, y: pd.Series
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arrays = X.to_numpy(float), group.to_numpy(int), y.to_numpy(float)
    kept = train_test_split(*arrays, train_size=2000, random_state=42)[::2]
    return kept[0], kept[1], kept[2]


def unfairness(each: np.ndarray, weights: np.ndarray, group: np.ndarray, grid: bool) -> float:
    """Return the largest difference of shares below a threshold, from raw predictions (n, m)."""
    z = np.linspace(0, 1, 29) if grid else np.unique(each)
    difference = np.zeros(len(z))
    for predicted, weight in zip(each.T, weights, strict=True):
        small = np.sort(predicted[group == 0])
        inside = np.searchsorted(small, z, side="right") / len(small)
        overall = np.searchsorted(np.sort(predicted), z, side="right") / len(predicted)
        difference += weight * (inside - overall)
    return float(np.abs(difference).max())


def one_split(
    X: np.ndarray, group: np.ndarray, y: np.ndarray, seed: int, thresholds: int, nu: float = 0.005
) -> tuple[np.ndarray, float, int, float]:
    """Return squared error and unfairness of the constant, every bound and no bound; CPU s."""
    train, rest = train_test_split(
        np.arange(len(y)), test_size=0.2, stratify=group, random_state=seed
    )
    _, test = train_test_split(rest, train_size=0.5, stratify=group[rest], random_state=seed)
    start = time.process_time()
    frontier = Frontier(
        LinearRegression(),
        DemographicParity(),
        bounds=BOUNDS,
        thresholds=thresholds,
        group_estimator=LogisticRegression(max_iter=1000),
        nu=nu * y[train].var(),
    ).fit(X[train], y[train], sensitive_features=group[train])
    seconds = time.process_time() - start
    curve = [(np.mean((frontier.constant_ - y[test]) ** 2), 0.0, 0.0)]
    lots = np.random.default_rng(seed)
    by_chance: list[float] = []
    for eps in BOUNDS:
        model = frontier.at(eps)
        each, weights = model.predict_members(X[test]), model.regressor_.weights
        loss = weights @ np.mean((each - y[test][:, None]) ** 2, axis=0)
        found = [unfairness(each, weights, group[test], grid) for grid in (True, False)]
        curve.append((loss, *found))
        if eps == BOUNDS[0]:
            dealt = [lots.permutation(group[test]) for _ in range(20)]
            by_chance = [unfairness(each, weights, other, True) for other in dealt]
    plain = LinearRegression().fit(X[train], y[train]).predict(X[test])[:, None]
    found = [unfairness(plain, np.ones(1), group[test], grid) for grid in (True, False)]
    curve.append((np.mean((plain[:, 0] - y[test]) ** 2), *found))
    return np.array(curve), seconds, frontier.n_calls_, float(np.mean(by_chance))


def read_off(curves: np.ndarray, at: float, column: int) -> str:
    """Return the squared error of the mean curve at an unfairness, and its standard error."""
    splits = len(curves)

    def value(some: np.ndarray) -> float:
        mean = some.mean(axis=0)
        return float(np.interp(at, mean[:, column], mean[:, 0]))

    left_out = [value(np.delete(curves, k, axis=0)) for k in range(splits)] if splits > 1 else [0.0]
    error = np.std(left_out) * np.sqrt(splits - 1)
    return f"{value(curves):.4f} ± {error:.4f}"


def main() -> None:
    """Print the curve of one data set, and its values at the unfairness of the reference."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", choices=list(REFERENCE), default="communities")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--thresholds", type=int, default=40)
    parser.add_argument("--nu", type=float, default=0.005, help="the gap, of the variance")
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("EQUIPOISE_DATA", ".")))
    given = parse(parser, splits=2, thresholds=8, nu=0.05)
    print(machine(), flush=True)
    rows = {"communities": communities, "law": law, "adult": adult}[given.data](given.folder)
    found = [
        one_split(*rows, seed, given.thresholds, given.nu) for seed in range(1, given.splits + 1)
    ]
    curves = np.array([each[0] for each in found])
    curve = curves.mean(axis=0)
    seconds, calls = ([each[k] for each in found] for k in (1, 2))
    print(
        f"{given.data}: {len(rows[2])} rows, {given.splits} splits, {given.thresholds} thresholds; "
        f"20 bounds in {np.mean(seconds):.2f} CPU s (least {min(seconds):.2f}, most "
        f"{max(seconds):.2f}), {np.mean(calls):.0f} questions"
    )
    print(
        f"constant {curve[0, 0]:.4f}; without constraints {curve[-1, 0]:.4f} at {curve[-1, 2]:.3f}"
    )
    print(f"by chance {np.mean([each[3] for each in found]):.3f}")
    print("unfairness  reference  here, 29 thresholds  here, any threshold   chord")
    for at, theirs in REFERENCE[given.data]:
        ours = [read_off(curves, at, k) for k in (1, 2)]
        chord = np.interp(at, curve[[0, -1], 2], curve[[0, -1], 0])
        print(f"{at:10.3f} {theirs:10.4f} {ours[0]:>20} {ours[1]:>20} {chord:7.4f}")
    print("asked -> squared error, unfairness at 29 thresholds, at any threshold")
    for eps, each in list(zip(BOUNDS, curve[1:-1], strict=True))[::3]:
        print(f"{eps:.3f} -> {each[0]:.4f} {each[1]:.3f} {each[2]:.3f}")


if __name__ == "__main__":
    main()
