"""What is true where a learner answers, well or badly: all that it was trained to is remembered."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from _truth import SOLVER
from sklearn.tree import DecisionTreeClassifier

from equipoise import FairClassifier, constraints
from equipoise.exceptions import DeploymentError
from equipoise.game.evidence import Status
from equipoise.oracles import Refit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import by_hand
from by_hand import PARITIES, Crowd, Inequalities


class Remembered(DecisionTreeClassifier):
    """A small tree, no true minimiser, whose answers are all kept.

    ``way`` is how it misbehaves: not at all, works in its input's place, answers the same to all,
    refuses data of one label, or draws at random.
    """

    found: ClassVar[list[Any]] = []

    def __init__(self, way: str = "well", max_depth: int = 2, random_state: int = 0) -> None:
        super().__init__(max_depth=max_depth, random_state=random_state)
        self.way = way

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Remembered:
        """Learn, and keep the decisions."""
        if self.way == "refuses" and len(np.unique(y)) < 2:
            raise ValueError("this learner needs two labels")
        if self.way == "in place":
            X -= X.mean(axis=0)
            y[:] = y
            sample_weight *= 2.0
        super().fit(X, y, sample_weight)
        self.found.append(self)
        return self

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """Decide."""
        if self.way == "constant":
            return np.full(len(X), self.classes_[-1])
        decided = super().predict(X, check_input)
        if self.way == "draws":
            return np.where(np.random.default_rng().random(len(X)) < 0.3, 1 - decided, decided)
        return decided


def check_learner(way: str, rng: np.random.Generator) -> set[str]:
    """Check fits of a learner, complete and stopped, against all that it has answered."""
    n, most = int(rng.integers(30, 120)), int(rng.integers(2, 5))
    A = np.append(np.arange(most), rng.integers(most, size=n - most))
    X = np.column_stack([A + rng.normal(size=n), rng.normal(size=(n, 2))])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > rng.normal() + most / 2).astype(int)
    y[:2] = 0, 1
    weight = None if rng.random() < 0.5 else rng.choice([0.0, 1.0, 3.0], n)
    if weight is not None:
        weight[:most] = 1.0
    eps, wrong = float(rng.choice([0.0, 0.02, 0.1])), set[str]()
    kind, rows_of = _constraint(rng, eps)
    how = {"oracle": Refit(threshold="learner")} if rng.random() < 0.5 else {}
    groups = {"group": A.astype(str)}
    for max_iter in (100, int(rng.integers(1, 6))):
        Remembered.found.clear()
        clf = FairClassifier(Remembered(way), kind, max_iter=max_iter, **how)
        given = X.copy(), y.copy()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf.fit(*given, sensitive_features=groups, sample_weight=weight)
        except DeploymentError:
            wrong |= set() if way == "draws" else {"raised"}
            continue
        wrong |= {"stated"} if (given[0] != X).any() or (given[1] != y).any() else set()
        # With thresholds of its own the library decides otherwise than the learner.
        answers = Remembered.found if "oracle" in how and way != "draws" else []
        decided = [learner.predict(X) for learner in answers]
        H = np.array([*decided, np.zeros(n), np.ones(n)], dtype=float)
        crowd = Crowd(y, H, groups, weight=weight)
        deployed = crowd.with_predictions(clf.predict_proba(X)[:, 1])
        wrong |= set(_check(clf, crowd, deployed, rows_of, clf.n_iter_ < max_iter))
    return wrong


def _constraint(rng: np.random.Generator, eps: float) -> tuple[Any, Callable[..., Inequalities]]:
    name = str(rng.choice(["DemographicParity", "EqualizedOdds", "BoundedGroupError"]))
    if name == "BoundedGroupError":
        bound = 0.1 + eps
        return constraints.BoundedGroupError(bound), partial(
            by_hand.group_error, bound=bound, name="bounded group error"
        )
    return getattr(constraints, name)(eps), partial(by_hand.parity, kind=PARITIES[name], eps=eps)


def _check(
    clf: Any, crowd: Crowd, deployed: Crowd, rows_of: Any, is_settled: bool
) -> Iterable[str]:
    """Yield what a fit states that the decisions of its learner disprove."""
    found, rows, after = clf.certificate_, rows_of(crowd), rows_of(deployed)
    values = np.array([float(after[str(row)][0][0]) for row in found.rows])
    asked = np.array([after[str(row)][1] for row in found.rows])
    violation = float((values - found.bound).max(initial=0.0))
    stated = [(found.error, deployed.error()[0]), (found.violation, violation)]
    is_met = (values - asked).max(initial=0.0) <= 1e-7
    if any(abs(a - b) > 1e-9 for a, b in [*stated, *zip(found.gamma, values, strict=True)]):
        yield "stated"
    if (found.status is Status.MET) != is_met:
        yield "stated"
    if found.status is Status.IMPOSSIBLE:
        if not is_settled:
            yield "stopped"
        if found.proven_slack > by_hand.least_slack(rows) + SOLVER:
            yield "stated"
    best = by_hand.least_error(crowd.error(), rows, found.least_slack + 1e-9)
    leeway = SOLVER * (1 + found.multipliers.sum())
    if best is not None and found.lower > best.value + leeway:
        yield "lower"


#: Learners, and how they misbehave.
LEARNERS: dict[str, Callable[[np.random.Generator], set[str]]] = {
    "a tree": partial(check_learner, "well"),
    "a tree that works in place": partial(check_learner, "in place"),
    "a learner with one answer": partial(check_learner, "constant"),
    "a tree that refuses one label": partial(check_learner, "refuses"),
    "a tree that draws at random": partial(check_learner, "draws"),
}
