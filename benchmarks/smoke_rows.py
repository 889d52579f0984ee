"""The 43 problems of fairlearn's smoke tests, with the learner of these tests, on both sides.

Twenty people in three groups, and least squares cut at one half: a learner whose own loss has
little to do with the error. It answers some multipliers with a classifier that is far from the
best one. Both libraries get the same learner, bound, ratio and costs.

- Errors are computed from the members' decisions, without either library's metrics.
- A row is "reached" where the error is at most fairlearn's plus 1e-5, the gap asked for, and
  every bound is met.
- Calls are counted by the learner.

Twelve more rows say whether the scale of the costs matters: a false negative costs 1, 2 or 3, or
those with label 1 stand in the data once, twice or thrice, which is the same problem on another
scale. The errors are compared in the same units.

Run ``python benchmarks/smoke_rows.py``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _machine import machine, markdown_table, parse
from _raw import expected_predictions, members
from numpy.typing import NDArray

GROUP = np.array(list("AAAAAAABBBBBBBCCCCCC"))
LABEL = np.array(list("01101000010111001111"), dtype=int)
FEATURES = np.array(
    [list("01101010111101001011"), list("00001000000011111111"), ["1"] * 20], dtype=float
).T
#: The gap that is asked for, in units of an error rate.
NU = 1e-5
NAMES = {  # fairlearn's and equipoise's
    "DP": ("DemographicParity", "DemographicParity"),
    "EO": ("EqualizedOdds", "EqualizedOdds"),
    "error": ("ErrorRateParity", "AccuracyEquality"),
    "TPR": ("TruePositiveRateParity", "EqualOpportunity"),
    "FPR": ("FalsePositiveRateParity", "FalsePositiveRateParity"),
}


class LeastSquares:
    """Weighted least squares on the labels; selects where the fit exceeds one half."""

    calls = 0

    def __init__(self) -> None:
        self.coef: NDArray | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def set_params(self, **_: Any) -> LeastSquares:
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any) -> LeastSquares:
        LeastSquares.calls += 1
        root = np.sqrt(np.asarray(sample_weight, dtype=float))
        rows, target = np.asarray(X) * root[:, None], np.asarray(y) * root
        self.coef = np.linalg.lstsq(rows, target, rcond=-1)[0]
        return self

    def predict(self, X: Any) -> NDArray:
        return (np.asarray(X) @ self.coef > 0.5).astype(int)


class Problem(NamedTuple):
    """One row: a constraint, its bound and ratio, and what a false negative costs."""

    constraint: str
    eps: float
    ratio: float = 1.0
    false_negative: float = 1.0
    flipped: bool = False

    def __str__(self) -> str:
        more = f", ratio {self.ratio:g}" if self.ratio < 1 else ""
        more += f", false negatives cost {self.false_negative:g}" if self.false_negative > 1 else ""
        return f"{self.constraint} {self.eps:g}{more}{', labels flipped' if self.flipped else ''}"


def problems() -> Iterator[Problem]:
    """Yield the 43 rows."""
    for name, eps, ratio in product(
        ("DP", "EO", "error"), (0.1, 0.05, 0.02, 0.01, 0.005), (1, 0.8)
    ):
        yield Problem(name, eps, ratio)
    for name, eps, ratio in product(("DP", "EO"), (0.05, 0.02), (1, 0.8)):
        yield Problem(name, eps, ratio, 2.0)
    yield from (Problem(name, 0.005) for name in ("TPR", "FPR"))
    yield from (Problem(name, 0.005, flipped=True) for name in ("TPR", "FPR", "EO"))


class People(NamedTuple):
    X: NDArray
    y: NDArray
    A: NDArray

    @classmethod
    def of(cls, flipped: bool = False, copies: int = 1) -> People:
        """The twenty people; those with label 1 several times."""
        y = 1 - LABEL if flipped else LABEL
        rows = np.concatenate([np.arange(20)] + [np.flatnonzero(y == 1)] * (copies - 1))
        return cls(FEATURES[rows], y[rows], GROUP[rows])


class Found(NamedTuple):
    error: float
    excess: float
    calls: int


def fitted(problem: Problem, people: People, theirs: bool, scale: float = 1.0) -> tuple[Any, int]:
    """Fit one side, and count the calls of the learner."""
    import fairlearn.reductions as fairlearn

    import equipoise

    names, eps, ratio = NAMES[problem.constraint], problem.eps, problem.ratio
    LeastSquares.calls = 0
    if theirs:
        bound = {"difference_bound": eps}
        if ratio < 1:
            bound = {"ratio_bound": ratio, "ratio_bound_slack": eps}
        costs = {"fp": 1.0, "fn": problem.false_negative}
        made = fairlearn.ExponentiatedGradient(
            LeastSquares(),
            getattr(fairlearn, names[0])(**bound),
            objective=fairlearn.ErrorRate(costs=costs),
            eps=eps,
        )
    else:
        made = equipoise.FairClassifier(
            LeastSquares(),
            getattr(equipoise.constraints, names[1])(eps, ratio=ratio),
            objective=equipoise.Costs(scale, scale * problem.false_negative),
            nu=NU * scale * 20 / len(people.y),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.fit(people.X, people.y, sensitive_features=people.A)
    return made, LeastSquares.calls


def measured(made: Any, calls: int, problem: Problem, people: People) -> Found:
    """Return error and excess of a fitted classifier, from its members' decisions."""
    X, y, A = people
    q = expected_predictions(members(made), X)
    error = float(np.where(y == 1, problem.false_negative * (1 - q), q).mean())
    wrong = np.where(y == 1, 1 - q, q)
    everybody = np.ones(len(y), dtype=bool)
    compared = {
        "DP": [(q, everybody)],
        "error": [(wrong, everybody)],
        "TPR": [(q, y == 1)],
        "FPR": [(q, y == 0)],
        "EO": [(q, y == 0), (q, y == 1)],
    }[problem.constraint]
    excess = -np.inf
    for value, event in compared:
        overall = value[event].mean()
        for a in np.unique(A):
            rate = value[event & (a == A)].mean()
            over = max(problem.ratio * rate - overall, problem.ratio * overall - rate)
            excess = max(excess, over - problem.eps)
    return Found(error, float(excess), calls)


def run(problem: Problem, people: People, theirs: bool, scale: float = 1.0) -> Found:
    return measured(*fitted(problem, people, theirs, scale), problem, people)


def smoke() -> tuple[list[list[object]], str]:
    """Return the table of the 43 rows, and a sentence about all of them."""
    rows, found = [], []
    for problem in problems():
        people = People.of(problem.flipped)
        theirs, ours = (run(problem, people, side) for side in (True, False))
        reached = ours.error <= theirs.error + NU and ours.excess <= 1e-6
        found.append((reached, ours.calls, theirs.calls))
        row = [problem, f"{ours.error:.4f}", f"{theirs.error:.4f}", "yes" if reached else "no"]
        rows.append([*row, f"{ours.excess:+.0e}", ours.calls, theirs.calls])
    reached, calls, their_calls = np.array(found, dtype=float).T
    return rows, (
        f"{reached.sum():.0f} of {len(rows)} reach fairlearn's error, with {calls.mean():.1f} "
        f"calls against {their_calls.mean():.1f}."
    )


def scaled() -> tuple[list[list[object]], str]:
    """Return the table of the twelve problems on two scales, and a sentence about them."""
    rows, same = [], 0
    for eps, ratio, copies in product((0.05, 0.02), (1.0, 0.8), (1, 2, 3)):
        problem, people = Problem("EO", eps, ratio, float(copies)), People.of(copies=copies)
        repeated = run(problem._replace(false_negative=1.0), people, theirs=False)
        by_costs = [run(problem, People.of(), theirs=False, scale=10.0**k) for k in (-2, 0, 2)]
        errors = [found.error for found in by_costs] + [repeated.error * len(people.y) / 20]
        same += (agree := max(errors) - min(errors) <= 2 * NU)
        rows.append([problem, *(f"{error:.4f}" for error in errors), "yes" if agree else "no"])
    return rows, f"{same} of {len(rows)} do not depend on the scale of the costs."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse(parser)
    print(f"{machine()}\n")
    rows, said = smoke()
    header = ["problem", "error", "fairlearn's", "reached", "over a bound", "calls", "fairlearn's"]
    print(f"{markdown_table(header, rows)}\n\n{said}\n")
    rows, said = scaled()
    header = ["problem", "costs / 100", "costs", "costs x 100", "copies", "the same"]
    print(f"{markdown_table(header, rows)}\n\n{said}")


if __name__ == "__main__":
    main()
