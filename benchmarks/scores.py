"""AUC of the scores of fair models, on people who were not learned from.

    python benchmarks/scores.py            four data sets; about five minutes on one core
    python benchmarks/scores.py --quick    3,000 rows of each

Half of the people are learned from, the figures are those of the others. Logistic regression on
scaled features, bounds of 0.02 between groups. ``label_proba`` is the chance of the label,
``predict_proba`` that of the decision, ``margin`` the distance from the cut. The calibration is
the largest difference between the mean chance and the share of labels in ten bins of equally many
people.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, EqualizedOdds, FairClassifier
from equipoise.datasets import load_adult, load_compas, load_dutch_census, load_law_school

SETS = {
    "Adult": (load_adult, "sex"),
    "COMPAS": (load_compas, "race"),
    "law school": (load_law_school, "race"),
    "Dutch census": (load_dutch_census, "gender"),
}
RULES = {
    "DP": DemographicParity(eps=0.02, reference="pairwise"),
    "EO": EqualizedOdds(eps=0.02, reference="pairwise"),
}
HEADER = [
    "data",
    "rule",
    "oracle",
    "decision_function",
    "label_proba",
    "plain learner",
    "margin",
    "predict_proba",
    "drawn",
    "sign is predict's",
    "calibration",
]


def miscalibration(chance: NDArray, y: NDArray, bins: int = 10) -> float:
    """Return the largest difference between chance and share, in bins of equally many people."""
    parts = np.array_split(np.argsort(chance, kind="stable"), bins)
    return max(abs(float(chance[part].mean() - y[part].mean())) for part in parts)


def measure(learner: Any, rule: Any, oracle: str, train: tuple, test: tuple) -> list[Any]:
    """Fit, and return the figures on the other people."""
    model = FairClassifier(learner, rule, oracle=oracle)
    model.fit(train[0], train[1], sensitive_features=train[2])
    X, y, _ = test
    score, chance = model.decision_function(X), model.label_proba(X)[:, 1]
    pmf = model.predict_proba(X)[:, 1]
    agree = ((score > 0) == (model.predict(X) == model.classes_[1])).all()
    plain = learner.fit(train[0], train[1]).predict_proba(X)[:, 1]
    ranked = (score, chance, plain, model.margin(X), pmf)
    return [
        *(f"{roc_auc_score(y, values):.3f}" for values in ranked),
        f"{np.mean((pmf > 1e-12) & (pmf < 1 - 1e-12)):.1%}",
        "yes" if agree else "no",
        f"{miscalibration(chance, y):.3f}",
    ]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small version of the same")
    options = parser.parse_args(argv)
    table = []
    for name, (load, group) in SETS.items():
        data = load()
        rows = np.random.default_rng(0).permutation(len(data.target))
        if options.quick:
            rows = rows[:3000]
        arrays = (np.asarray(data.data), np.asarray(data.target), np.asarray(data.sensitive[group]))
        train, test = (tuple(a[part] for a in arrays) for part in np.array_split(rows, 2))
        learner = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        for rule in RULES:
            for oracle in ("plugin", "refit"):
                found = measure(learner, RULES[rule], oracle, train, test)
                table.append([name, rule, oracle, *found])
    print(f"AUC on the half that was not learned from. {machine()}\n")
    print(markdown_table(HEADER, table))


if __name__ == "__main__":
    main()
