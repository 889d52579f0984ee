"""Learners: those that the authors name, LightGBM, and how much work each is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from equipoise.cells.table import Array


@dataclass(frozen=True)
class Learner:
    """A learner and the settings of every method with it, the same for all panels.

    Attributes
    ----------
    make : callable
        Returns an unfitted classifier.
    encoding : "indicators" or "codes"
        See `equipoise.experiments.panels.load_split`.
    n_eps : int
        Bounds for methods that pay for each one: exponentiated gradient.
    n_scales : int
        Interpolants of reweighting and relabeling, the method in full included.
    grid_size : int
        Points of grid search.
    max_iter : int
        The most rounds of exponentiated gradient, for one bound; each is one or two fits.
    max_rounds : int
        The most rounds of column generation, for all bounds together; each is about one fit.
    seconds : float
        Roughly, one fit to 10,000 rows; only the estimate of remaining time depends on it.
    """

    make: Callable[[], Any]
    encoding: str
    n_eps: int
    n_scales: int
    grid_size: int
    max_iter: int
    max_rounds: int
    seconds: float

    def bounds(self, n: int | None = None) -> Array:
        """Return the bounds: evenly spaced in ratio from 0.001 to 0.1."""
        return np.geomspace(0.001, 0.1, self.n_eps if n is None else n)

    def quickly(self) -> Learner:
        """Return the same learner with less work for every method."""
        return replace(self, n_eps=5, n_scales=5, grid_size=25)

    def scales(self) -> Array:
        """Return the scales of interpolants, above 0 (unconstrained) up to 1 (in full)."""
        return np.linspace(0, 1, self.n_scales + 1)[1:]


def _lightgbm() -> Any:
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        raise ImportError(
            "the panels with LightGBM need lightgbm, which is not installed. Run: "
            "pip install 'equipoise[boosting]'"
        ) from error
    return LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)


#: Bounds for methods that get them all from one fit.
N_BOUNDS = 20

LEARNERS: dict[str, Learner] = {
    "logistic": Learner(
        partial(LogisticRegression, C=0.01, max_iter=1000),
        "indicators",
        n_eps=10,
        n_scales=10,
        grid_size=81,
        max_iter=100,
        max_rounds=200,
        seconds=0.04,
    ),
    "gbm": Learner(
        partial(GradientBoostingClassifier, learning_rate=0.25, n_estimators=150, random_state=101),
        "codes",
        n_eps=5,
        n_scales=4,
        grid_size=25,
        max_iter=12,
        max_rounds=50,
        seconds=1.0,
    ),
    "lightgbm": Learner(
        _lightgbm,
        "codes",
        n_eps=5,
        n_scales=5,
        grid_size=25,
        max_iter=20,
        max_rounds=50,
        seconds=0.1,
    ),
}
PAPER_LEARNERS = ("logistic", "gbm")
