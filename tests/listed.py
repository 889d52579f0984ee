"""The crowds of `by_hand`, handed to the library with their classifiers as a short list."""

from __future__ import annotations

from typing import Any

import numpy as np
from by_hand import Array, Crowd

from equipoise import FairClassifier, Probabilities
from equipoise.cells import Cells
from equipoise.constraints.base import Constraint
from equipoise.game.objectives import Loss, Objective
from equipoise.rows.people import People


class Listed:
    """A classifier that knows the row numbers in X and looks its decisions up."""

    def __init__(self, decisions: Array) -> None:
        several = decisions.ndim == 2  # chances of each, one of them 1
        self.decisions = decisions.argmax(axis=1) if several else decisions.astype(int)

    def predict(self, X: Any) -> np.ndarray:
        return self.decisions[np.asarray(X)[:, 0]]


def arguments(crowd: Crowd) -> dict[str, Any]:
    """Return what to pass to fit besides X and y."""
    sensitive: Any = dict(crowd.columns)
    if crowd.probability is not None:
        names = [f"g{k}" for k in range(crowd.probability.shape[1])]
        sensitive = {"guess": Probabilities(crowd.probability, names)} | sensitive
    return {
        "sensitive_features": sensitive,
        "control_features": crowd.control,
        "sample_weight": crowd.weight,
        "utilities": crowd.utility,
    }


def rows_of(crowd: Crowd) -> np.ndarray:
    return np.arange(crowd.n)[:, None]


def cells_of(crowd: Crowd) -> Cells:
    people = People(rows_of(crowd), crowd.y, **arguments(crowd))
    cells, _ = people.read(constraint_weights=crowd.counts == "both")
    return cells


def fitted(
    crowd: Crowd,
    constraint: Constraint,
    objective: Objective | Loss | None = None,
    **parameters: Any,
) -> FairClassifier:
    clf = FairClassifier(
        [Listed(h) for h in crowd.H],
        constraint,
        objective=objective,
        constraint_weights=crowd.counts == "both",
        **{"nu": 1e-4, **parameters},
    )
    return clf.fit(rows_of(crowd), crowd.y, **arguments(crowd))


def outcome(clf: FairClassifier, crowd: Crowd) -> Crowd:
    """Return the crowd with the decisions of the randomized classifier."""
    pmf = clf.predict_proba(rows_of(crowd))
    return crowd.with_predictions(pmf[:, 1] if crowd.H.ndim == 2 else pmf)
