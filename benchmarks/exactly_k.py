"""Exactly k of a batch: whether k is exact, how much rates of groups move, everybody's chance.

    python benchmarks/exactly_k.py            1,000 batches of each kind; about three minutes
    python benchmarks/exactly_k.py --quick    40 batches of each kind

Adult, groups by sex, the plug-in oracle on logistic regression, fitted to half of the people;
batches are drawn from the other half. k is what the model selects in expectation, rounded. Beside
``select`` stands an independent draw for everybody with the same probabilities. All figures are
computed from the raw arrays of decisions and probabilities.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, EqualizedOdds, FairClassifier
from equipoise.datasets import load_adult

RULES = {
    "demographic parity": DemographicParity(eps=0.02, reference="pairwise"),
    "equalized odds": EqualizedOdds(eps=0.02, reference="pairwise"),
}
SPREAD = ["rule", "batch", "draw", "k exact", "rate of women: sd", "worst", "their TPR: sd"]
CHANCE = ["rule", "batch", "k", "draws of u", "people", "within 4 standard errors", "largest"]


def deviations(selected: NDArray, p: NDArray, women: NDArray, y: NDArray) -> tuple[float, float]:
    """Return how far the women's selection rate and their TPR are from what p promises."""
    able = women & (y == 1)
    off = selected - p
    return float(off[women].mean()), float(off[able].mean()) if able.any() else np.nan


def spread(model: Any, data: tuple, size: int, batches: int, rng: Any) -> list[list[Any]]:
    """Return a row for independent draws and for either order of ``select``."""
    X, y, women = data
    found: dict[str, list[Any]] = {"independent": [], "hash": [], "chance": []}
    for _ in range(batches):
        rows = rng.choice(len(y), size, replace=False)
        k = round(model.predict_proba(X[rows])[:, 1].sum())
        how = {"sensitive_features": women[rows], "random_state": rng}
        chosen = {name: model.select(X[rows], k, order=name, **how) for name in ("hash", "chance")}
        p = chosen["hash"].probabilities
        drawn = {name: selection.selected for name, selection in chosen.items()}
        for name, selected in (drawn | {"independent": rng.random(size) < p}).items():
            exact = int(selected.sum()) == k
            found[name].append((exact, *deviations(selected, p, women[rows], y[rows])))
    table = []
    for name, each in found.items():
        exact, rate, tpr = np.array(each).T
        table.append(
            [
                name if name == "independent" else f"select, order={name!r}",
                f"{int(exact.sum()):,} of {batches:,}",
                f"{rate.std():.4f}",
                f"{np.abs(rate).max():.3f}",
                f"{np.nanstd(tpr):.3f}",
            ]
        )
    return table


def inclusion(model: Any, data: tuple, size: int, draws: int, rng: Any) -> list[Any]:
    """Return how far shares of selections over u are from everybody's probability."""
    X, y, women = data
    rows = rng.choice(len(y), size, replace=False)
    k = round(model.predict_proba(X[rows])[:, 1].sum() / 2)  # so that everybody is drawn
    counted = np.zeros(size)
    for u in rng.random(draws):
        chosen = model.select(X[rows], k, sensitive_features=women[rows], u=float(u))
        counted += chosen.selected
    p = chosen.probabilities
    drawn = (p > 0) & (p < 1)
    error = np.sqrt(p * (1 - p) / draws)[drawn]
    off = np.abs(counted / draws - p)[drawn] / error
    sure = (counted[~drawn] == draws * p[~drawn]).all()
    within = f"{int((off <= 4).sum())} of {drawn.sum()}" + ("" if sure else ", and some sure ones")
    return [k, f"{draws:,}", int(drawn.sum()), within, f"{off.max():.1f}"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small version of the same")
    options = parser.parse_args(argv)
    batches, draws = (40, 200) if options.quick else (1000, 2000)
    adult, rng = load_adult(), np.random.default_rng(0)
    rows = rng.permutation(len(adult.target))
    if options.quick:
        rows = rows[:6000]
    half = len(rows) // 2
    X, y = np.asarray(adult.data), np.asarray(adult.target)
    women = np.asarray(adult.sensitive["sex"]) == "Female"
    train, test = rows[:half], rows[half:]
    learner = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    spreads, chances = [], []
    for name, rule in RULES.items():
        model = FairClassifier(learner, rule, oracle="plugin")
        model.fit(X[train], y[train], sensitive_features=women[train])
        data = X[test], y[test], women[test]
        for size in (200, 1000):
            table = spread(model, data, size, batches, rng)
            spreads += [[name, f"{size:,}", *row] for row in table]
            chances.append([name, f"{size:,}", *inclusion(model, data, size, draws, rng)])
    print(f"Adult, {half} people to fit and {len(rows) - half} to select from. {machine()}\n")
    print(markdown_table(SPREAD, spreads))
    print()
    print(markdown_table(CHANCE, chances))


if __name__ == "__main__":
    main()
