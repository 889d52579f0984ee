"""People whose group is unknown: what three ways of treating them cost, where the truth is known.

    python benchmarks/unknown_groups.py             30,000 people of Adult, a minute of one core

The sex of 30 % of the people of Adult is hidden: at random, more often of those with a high income,
or more often still of men with a high income. Logistic regression is fitted within demographic
parity between women and men, on the features other than sex, with the unknown

    as a group     of their own, called "unknown", which the bound then holds for too;
    ignored        ``fit(..., missing="ignore")``: they count in the error and in no group;
    guessed        `equipoise.Probabilities` of a second model, learned from those whose sex is
                   known, out of their features and label.

The true difference is measured on the same people, with the sex of everybody. The cost is the error
beyond that of a fit that knows everybody's sex and has the same true difference.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _machine import markdown_table, parse
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from equipoise import DemographicParity, FairClassifier, Frontier, Probabilities
from equipoise.datasets import load_adult

HEADER = ["hidden", "the unknown are", "error", "true difference", "cost"]
#: How much more often they hide: those of high income, and men of high income.
HIDING = {"at random": (1.0, 1.0), "by income": (3.0, 1.0), "by income and sex": (3.0, 2.0)}
BOUNDS = np.geomspace(0.002, 0.2, 25)


def hide(y: NDArray, sex: NDArray, factors: tuple[float, float], share: float) -> NDArray:
    """Return who hides: this share of all, some kinds of people more often than others."""
    of_income, of_men = factors
    odds = np.where(y == 1, of_income, 1.0) * np.where((y == 1) & (sex == "Male"), of_men, 1.0)
    return np.random.default_rng(0).random(len(y)) < share * odds / odds.mean()


def guess(X: NDArray, y: NDArray, sex: NDArray, hidden: NDArray) -> Probabilities:
    """Return what a model that learned from those known says of the others."""
    seen = np.column_stack([X, y, X * y[:, None]])
    model = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=200))
    model.fit(seen[~hidden], sex[~hidden])
    table = np.equal.outer(sex, model.classes_).astype(float)
    table[hidden] = model.predict_proba(seen[hidden])
    return Probabilities(table, groups=model.classes_, name="sex")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--eps", type=float, default=0.01)
    parser.add_argument("--people", type=int, default=30_000)
    options = parse(parser, people=3000)
    warnings.simplefilter("ignore")
    adult = load_adult()
    others = [not name.startswith("sex") for name in adult.feature_names]
    rows = np.random.default_rng(1).permutation(len(adult.target))[: options.people]
    X, y = adult.data[rows][:, others], adult.target[rows]
    sex = np.asarray(adult.sensitive["sex"], dtype=str)[rows]
    X = MaxAbsScaler().fit_transform(X)
    parity = DemographicParity(options.eps, reference="pairwise")
    learner = LogisticRegression(max_iter=200)

    def truth(model: Any) -> tuple[float, float]:
        h = model.predict_proba(X)[:, 1]
        return float(np.abs(h - y).mean()), abs(
            float(h[sex == "Female"].mean() - h[sex == "Male"].mean())
        )

    frontier = Frontier(learner, parity, bounds=BOUNDS).fit(X, y, sensitive_features=sex)
    known = truth(frontier.at(options.eps))
    print(
        markdown_table(HEADER, [["nobody", "", *(f"{v:.3f}" for v in known), "0.000"]]), flush=True
    )
    for name, factors in HIDING.items():
        hidden = hide(y, sex, factors, options.share)
        partly = np.where(hidden, None, sex)
        groups = {
            "a group": {"sensitive_features": np.where(hidden, "unknown", sex)},
            "ignored": {"sensitive_features": partly, "missing": "ignore"},
            "guessed": {"sensitive_features": guess(X, y, sex, hidden)},
        }
        for how, given in groups.items():
            error, gap = truth(FairClassifier(learner, parity).fit(X, y, **given))
            alike = frontier.at(max(gap, BOUNDS[0])).certificate_.error
            numbers = (error, gap, error - alike)
            row = [
                f"{hidden.mean():.0%} {name}",
                how,
                *(f"{round(v, 3) + 0.0:.3f}" for v in numbers),
            ]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
