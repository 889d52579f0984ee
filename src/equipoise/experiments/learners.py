"""Learners: those that the authors name, LightGBM, and how much work each is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from equipoise.exceptions import needing


@dataclass(frozen=True)
class Learner:
    """A learner and the settings of every method with it, the same for all panels."""

    make: Callable[[], Any]  #: Returns an unfitted classifier.
    encoding: str  #: "indicators" or "codes", see `equipoise.experiments.panels.load_split`.
    n_eps: int  #: Bounds for methods that pay for each one: exponentiated gradient.
    n_scales: int  #: Interpolants of reweighting and relabeling, the method in full included.
    grid_size: int  #: Points of grid search.
    max_iter: int  #: The most rounds of exponentiated gradient for a bound; one or two fits each.
    max_rounds: int  #: The most rounds of column generation, for all bounds; about one fit each.
    seconds: float  #: One fit to 10,000 rows, roughly; for the estimate of remaining time.

    def bounds(self, n: int | None = None) -> list[float]:
        """Return the bounds: evenly spaced in ratio from 0.001 to 0.1."""
        return np.geomspace(0.001, 0.1, self.n_eps if n is None else n).tolist()

    def quickly(self) -> Learner:
        """Return the same learner with less work for every method."""
        return replace(self, n_eps=5, n_scales=5, grid_size=25)

    def scales(self) -> list[float]:
        """Return the scales of interpolants, above 0 (unconstrained) up to 1 (in full)."""
        return np.linspace(0, 1, self.n_scales + 1)[1:].tolist()


def _lightgbm() -> Any:
    with needing("the panels with LightGBM need", "'equipoise[boosting]'"):
        from lightgbm import LGBMClassifier
    return LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)


#: Bounds for methods that get them all from one fit.
N_BOUNDS = 20

_LOGISTIC = partial(LogisticRegression, C=0.01, max_iter=1000)
_GBM = partial(GradientBoostingClassifier, learning_rate=0.25, n_estimators=150, random_state=101)
LEARNERS: dict[str, Learner] = {
    # make, encoding; n_eps, n_scales, grid_size, max_iter, max_rounds, seconds
    "logistic": Learner(_LOGISTIC, "indicators", 10, 10, 81, 100, 200, 0.04),
    "gbm": Learner(_GBM, "codes", 5, 4, 25, 12, 50, 1.0),
    "lightgbm": Learner(_lightgbm, "codes", 5, 5, 25, 20, 50, 0.1),
}
PAPER_LEARNERS = ("logistic", "gbm")
