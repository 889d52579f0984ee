"""Bounded group loss against fairlearn in the same run, and our own cost at a million rows.

    python benchmarks/group_losses.py --data communities
    python benchmarks/group_losses.py --rows 1000000 --groups 20

The first traces 20 bounds between the least that can be met and what linear regression does, and
fits one of them with fairlearn's ExponentiatedGradient and BoundedGroupLoss (eps=0.01, else its
defaults), beside ours at the group loss that it reached, which may exceed its bound: losses are
recomputed from raw predictions. The second traces 20 bounds over made-up rows
and splits CPU time into what the learner takes and what is left.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _machine import machine, parse
from fairlearn.reductions import BoundedGroupLoss as TheirBound
from fairlearn.reductions import ExponentiatedGradient, SquareLoss
from regression_tradeoff import communities, law
from sklearn.linear_model import LinearRegression

from equipoise import BoundedGroupLoss, FairRegressor, Frontier, MinimaxGroupLoss


def group_losses(each: np.ndarray, weights: Any, y: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the mean squared error of each group, and of everybody, of a mixture (n, m)."""
    lost = (each - y[:, None]) ** 2 @ np.asarray(weights)
    return np.array([*(lost[group == a].mean() for a in np.unique(group)), lost.mean()])


def against_fairlearn(X: np.ndarray, group: np.ndarray, y: np.ndarray) -> None:
    """Print losses and CPU seconds of both."""
    plain = LinearRegression().fit(X, y).predict(X)[:, None]
    worst = group_losses(plain, [1.0], y, group)[:-1].max()
    start = time.process_time()
    least = FairRegressor(LinearRegression(), MinimaxGroupLoss(), nu=1e-6)
    least.fit(X, y, sensitive_features=group)
    low, high = least.certificate_.worst_rate
    seconds = time.process_time() - start
    print(
        f"largest group loss: plain {worst:.5f}, least {high:.5f}, proven not below {low:.5f}; "
        f"{least.n_calls_} fits, {seconds:.2f} CPU s"
    )
    bounds = high + (worst - high) * np.linspace(0.02, 0.95, 20)
    start = time.process_time()
    frontier = Frontier(LinearRegression(), BoundedGroupLoss(1.0), bounds=bounds, nu=1e-6)
    frontier.fit(X, y, sensitive_features=group)
    seconds = time.process_time() - start
    excess = 0.0
    for bound in bounds:
        model = frontier.at(bound)
        found = group_losses(model.predict_members(X), model.regressor_.weights, y, group)
        excess = max(excess, found[:-1].max() - bound)
    gap = max(point.gap for point in frontier.points_)
    print(
        f"equipoise, 20 bounds: {frontier.n_calls_} fits, {seconds:.2f} CPU s; largest gap "
        f"{gap:.1e}, largest excess {excess:.1e}"
    )
    bound = bounds[9]
    start = time.process_time()
    theirs = ExponentiatedGradient(
        LinearRegression(), TheirBound(SquareLoss(0, 1), upper_bound=bound), eps=0.01
    )
    theirs.fit(X, y, sensitive_features=group)
    seconds = time.process_time() - start
    each = np.column_stack([member.predict(X) for member in theirs.predictors_])
    found = group_losses(each, theirs.weights_, y, group)
    print(
        f"fairlearn, 1 bound: {theirs.n_oracle_calls_} fits, {seconds:.2f} CPU s\n"
        f"  asked {bound:.6f}: loss {found[-1]:.6f}, largest of a group {found[:-1].max():.6f}"
    )
    for asked in (bound, found[:-1].max()):
        model = frontier.at(asked)
        ours = group_losses(model.predict_members(X), model.regressor_.weights, y, group)
        print(
            f"equipoise asked {asked:.6f}: loss {ours[-1]:.6f}, largest of a group "
            f"{ours[:-1].max():.6f}"
        )


class Timed(LinearRegression):
    """Linear regression that adds up the CPU time of its fits and predictions."""

    spent = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        start = time.process_time()
        super().fit(X, y, sample_weight)
        Timed.spent += time.process_time() - start
        return self

    def predict(self, X: Any) -> Any:
        start = time.process_time()
        found = super().predict(X)
        Timed.spent += time.process_time() - start
        return found


def own_cost(rows: int, groups: int) -> None:
    """Print our own share of CPU time."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, groups, rows)
    X = rng.normal(size=(rows, 10))
    y = X[:, 0] * (1 + group / groups) + rng.normal(size=rows) * (0.5 + group / groups)
    plain = LinearRegression().fit(X, y).predict(X)[:, None]
    worst = group_losses(plain, [1.0], y, group)[:-1].max()
    bounds = worst * np.linspace(0.97, 0.999, 20)
    start = time.process_time()
    frontier = Frontier(Timed(), BoundedGroupLoss(1.0), bounds=bounds)
    frontier.fit(X, y, sensitive_features=group)
    seconds = time.process_time() - start
    print(
        f"{rows:,} rows, {groups} groups, 20 bounds: {frontier.n_calls_} fits, {seconds:.1f} CPU "
        f"s, of which the learner {Timed.spent:.1f} s and the rest {seconds - Timed.spent:.1f} s"
    )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", choices=["communities", "law"])
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("EQUIPOISE_DATA", ".")))
    given = parse(parser, rows=3000, groups=3)
    print(machine(), flush=True)
    warnings.simplefilter("ignore")
    if given.data:
        read = {"communities": communities, "law": law}[given.data]
        print(f"{given.data}, linear regression")
        against_fairlearn(*read(given.folder))
    if given.rows:
        own_cost(given.rows, given.groups)


if __name__ == "__main__":
    main()
