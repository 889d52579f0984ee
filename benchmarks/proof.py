"""How often is a bound proven, and kept by people who were not seen? ACSIncome is the truth.

    python benchmarks/proof.py                  an hour and more, on one core
    python benchmarks/proof.py --problems dp-sex --people 4000 --samples 100
    python benchmarks/proof.py --quick          one problem, two samples: seconds

Every sample is drawn from the 665,800 people, without repetition; the truth is that of all of them.
"found": a classifier was proven, without more than 5 % of decisions drawn regardless of who it is.
"broken": it was, and exceeds a bound in the population, as a share of all samples; a proof at 95 %
may break 5 %. "slack": bound less true value of the worst row. "error": of what was found.
split: 30 % to learn from, 70 % for the proof. halves: the same with proof_share=0.5. forward: four
models, each tested on the people after it. plain: a fit to the bound, with no proof. ± one
standard error.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from equipoise import BoundedGroupError, DemographicParity, EqualizedOdds, FairClassifier
from equipoise.constraints import Constraint
from equipoise.datasets import load_acs_income

PROBLEMS: dict[str, tuple[str, type[Constraint], float]] = {
    "dp-sex": ("sex", DemographicParity, 0.05),
    "eo-sex": ("sex", EqualizedOdds, 0.10),
    "dp-race": ("race", DemographicParity, 0.05),
    "error-sex": ("sex", BoundedGroupError, 0.25),
}
METHODS: dict[str, dict[str, Any]] = {
    "split": {"confidence": 0.95},
    "halves": {"confidence": 0.95, "proof_share": 0.5},
    "forward": {"confidence": 0.95, "proof": "forward"},
    "plain": {},
}


def population(by: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return features, labels and groups of everybody; the group is a feature, too."""
    acs = load_acs_income(as_frame=True)
    frame = acs.data
    age, school, hours = ((frame[c] - frame[c].mean()) / frame[c].std() for c in COLUMNS)
    married = (frame["MAR"].astype(str) == "1").to_numpy(float)
    if by == "sex":
        group = np.asarray(acs.sensitive["sex"]).astype(str)
    else:
        names = {"1": "White", "2": "Black", "6": "Asian"}
        group = frame["RAC1P"].astype(str).map(lambda code: names.get(code, "other")).to_numpy(str)
    one_hot = (group[:, None] == np.unique(group)[None, 1:]).astype(float)
    X = np.column_stack([age, age**2, school, hours, married, school * hours, one_hot])
    return X, np.asarray(acs.target, dtype=int), group


COLUMNS = ("AGEP", "SCHL", "WKHP")


def rule_of(kind: type[Constraint], bound: float) -> Constraint:
    """Return the constraint of a problem."""
    if kind is BoundedGroupError:
        return BoundedGroupError(bound)
    return kind(bound, reference="pairwise")  # type: ignore[call-arg]


def truth(
    model: FairClassifier, rule: Constraint, X: NDArray, y: NDArray, group: NDArray
) -> tuple[float, float]:
    """Return the slack of the worst row, and the error, in the population."""
    selected = model.predict(X).astype(float)
    wrong = selected != y
    if isinstance(rule, BoundedGroupError):
        worst = max(wrong[group == name].mean() for name in np.unique(group))
        return rule.bound - worst, float(wrong.mean())
    kinds = (y == 0, y == 1) if isinstance(rule, EqualizedOdds) else (y >= 0,)
    rates = [[selected[k & (group == name)].mean() for name in np.unique(group)] for k in kinds]
    return rule.eps - max(float(np.ptp(each)) for each in rates), float(wrong.mean())


def run(problem: str, n: int, samples: int, methods: list[str], seed: int) -> None:
    """Print the table of one problem."""
    by, kind, bound = PROBLEMS[problem]
    X, y, group = population(by)
    rule = rule_of(kind, bound)
    rng = np.random.default_rng([seed, n])
    results: dict[str, list[tuple[float, ...]]] = {name: [] for name in methods}
    for _ in range(samples):
        at = rng.choice(len(y), n, replace=False)
        for name in methods:
            start = time.process_time()
            model = FairClassifier(LogisticRegression(C=10), rule, **METHODS[name])
            model.fit(X[at], y[at], sensitive_features=group[at])
            seconds = time.process_time() - start
            found = name == "plain" or model.proof_.holds
            slack, error = truth(model, rule, X, y, group) if found else (np.nan, np.nan)
            results[name].append((found, found and slack < 0, slack, error, seconds))
    lines = []
    for name, values in results.items():
        table = np.array(values, dtype=float)
        cells: list[object] = [name, len(table)]
        for share in table[:, :2].mean(axis=0):
            cells.append(f"{share:.3f} ± {np.sqrt(share * (1 - share) / len(table)):.3f}")
        cells += [f"{np.nanmean(column):.4f}" for column in table[:, 2:4].T]
        lines.append([*cells, f"{table[:, 4].mean():.1f}"])
    head = ["method", "samples", "found", "broken", "slack", "error", "CPU s"]
    print(f"\n**{rule!r}, {by}, {n:,} people**\n\n{markdown_table(head, lines)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--people", nargs="+", type=int, default=[4000, 10_000])
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="one problem, two samples")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine())
    if options.quick:
        run("dp-sex", 2000, 2, list(METHODS), 0)
        return
    for n in options.people:
        for problem in options.problems:
            run(problem, n, options.samples, options.methods, options.seed)


if __name__ == "__main__":
    main()
