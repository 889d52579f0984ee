"""Draw docs/constraints.png: what each constraint of the catalogue does to Adult, by sex.

    python docs/constraints_plot.py            all rows; about a minute on one core
    python docs/constraints_plot.py --quick    4,000 rows

Every rate is computed here from the expected decisions on the training data.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equipoise as eq
from equipoise.constraints import (
    Constraint,
    ErrorRateBalance,
    FalseNegativeRateParity,
    TreatmentEquality,
    UtilityParity,
)
from equipoise.datasets import load_adult

PAIRS = {"reference": "pairwise"}
CONSTRAINTS: dict[str, Constraint] = {
    "no constraint": eq.SelectionRate(at_most=1.0),
    "DemographicParity(0.01)": eq.DemographicParity(0.01, **PAIRS),
    "FourFifthsRule()": eq.FourFifthsRule(),
    "EqualizedOdds(0.01)": eq.EqualizedOdds(0.01, **PAIRS),
    "EqualOpportunity(0.01)": eq.EqualOpportunity(0.01, **PAIRS),
    "FalsePositiveRateParity(0.01)": eq.FalsePositiveRateParity(0.01, **PAIRS),
    "FalseNegativeRateParity(0, ratio=0.95)": FalseNegativeRateParity(0, ratio=0.95, **PAIRS),
    "ErrorRateBalance(0, ratio=0.9)": ErrorRateBalance(0, ratio=0.9, **PAIRS),
    "AccuracyEquality(0.01)": eq.AccuracyEquality(0.01, **PAIRS),
    "TreatmentEquality(0.005)": TreatmentEquality(0.005),
    "BoundedGroupError(0.185)": eq.BoundedGroupError(0.185),
    "MinimaxGroupError()": eq.MinimaxGroupError(),
    "SelectionRate(at_most=0.1)": eq.SelectionRate(at_most=0.1),
    'UtilityParity(0.01, utility="hours")': UtilityParity(0.01, utility="hours", **PAIRS),
    "DemographicParity(0.05) & EqualOpportunity(0.05)": (
        eq.DemographicParity(0.05, **PAIRS) & eq.EqualOpportunity(0.05, **PAIRS)
    ),
}
RATES = ("selection rate", "true-positive rate", "false-positive rate", "error rate")
COLOURS = {"Female": "#d1495b", "Male": "#00798c"}


def rates(h: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the four rates of some people."""
    return [h.mean(), h[y == 1].mean(), h[y == 0].mean(), np.abs(h - y).mean()]


def fit_all(quick: bool) -> tuple[dict[str, dict[str, list[float]]], dict[str, float]]:
    """Return the rates of either sex and the overall error, for every constraint."""
    adult = load_adult(as_frame=True)
    X, y, sex = load_adult().data, np.asarray(adult.target), np.asarray(adult.sensitive["sex"])
    hours = np.asarray(adult.data["hours_per_week"], dtype=float) / 99
    keep = np.random.default_rng(0).permutation(len(y))[: 4000 if quick else len(y)]
    X, y, sex = X[keep], y[keep], sex[keep]
    # Who is selected gets work by the hour: a utility that differs from person to person.
    utilities: dict[str, Any] = {"hours_0": np.zeros(len(y)), "hours_1": hours[keep]}
    by_sex: dict[str, dict[str, list[float]]] = {}
    errors: dict[str, float] = {}
    learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    for name, constraint in CONSTRAINTS.items():
        clf = eq.FairClassifier(learner, constraint, max_iter=500)
        clf.fit(X, y, sensitive_features=sex, utilities=utilities)
        h = clf.predict_proba(X)[:, 1]
        by_sex[name] = {group: rates(h[sex == group], y[sex == group]) for group in COLOURS}
        errors[name] = float(np.abs(h - y).mean())
        print(f"{name}: error {errors[name]:.4f}, {clf.n_calls_} fits", flush=True)
    return by_sex, errors


def draw(by_sex: dict[str, dict[str, list[float]]], errors: dict[str, float], path: Path) -> None:
    """One row for each constraint, one panel for each rate, one dot for each sex."""
    names = list(by_sex)
    at = np.arange(len(names))[::-1]
    figure, axes = plt.subplots(1, 5, figsize=(13, 6.2), sharey=True, width_ratios=[4, 4, 4, 4, 3])
    for panel, (axis, rate) in enumerate(zip(axes, RATES, strict=False)):
        pairs = np.array([[by_sex[name][group][panel] for group in COLOURS] for name in names])
        axis.hlines(at, pairs.min(axis=1), pairs.max(axis=1), color="#bbbbbb", lw=3, zorder=1)
        for values, (group, colour) in zip(pairs.T, COLOURS.items(), strict=True):
            axis.scatter(values, at, color=colour, s=34, label=group, zorder=2)
        axis.set_title(rate, fontsize=10)
        axis.set_xlim(left=0)
    axes[4].barh(at, [errors[name] for name in names], color="#8d96a3", height=0.5)
    for height, name in zip(at, names, strict=True):
        axes[4].text(errors[name] + 0.003, height, f"{errors[name]:.3f}", va="center", fontsize=8)
    axes[4].set_title("error rate of all", fontsize=10)
    axes[4].set_xlim(0, 1.25 * max(errors.values()))
    axes[0].set_yticks(at, names, fontsize=9)
    for axis in axes:
        axis.grid(axis="x", color="#e6e6e6", lw=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
        axis.tick_params(axis="x", labelsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", ncols=2, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(path, dpi=110)


def main(argv: list[str] | None = None) -> None:
    """Fit, print the errors, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4,000 rows")
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("constraints.png"))
    options = parser.parse_args(argv)
    draw(*fit_all(options.quick), options.to)


if __name__ == "__main__":
    main()
