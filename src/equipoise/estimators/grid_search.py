"""Grid search over cost adjustments (section 3.4): a deterministic classifier.

The multipliers act on the learner only through delta = lambda . M U, the adjustment of the cost of
predicting 1 in each cell. For demographic parity these adjustments satisfy
``sum over a of p_a delta_a = 0``, for equalized odds the same within each label, so the grid walks
the free ones and the others follow.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.rows import Array
from equipoise.constraints.base import Constraint
from equipoise.engines import engine_for
from equipoise.estimators.base import Problem, Reduction
from equipoise.estimators.pools import keeping
from equipoise.exceptions import InfeasibleWarning
from equipoise.game.column_generation import column_generation
from equipoise.game.lagrangian import TOLERANCE, Costs, Lagrangian, Loss
from equipoise.game.pool import Response, play_out
from equipoise.rows.validation import read_integer, read_positive


@dataclass(frozen=True, eq=False)
class Candidate:
    """A best response: the multipliers asked, the classifier, its error and its violation."""

    lam: Array = field(repr=False)
    classifier: Any = field(repr=False)
    error: float
    violation: float


class GridSearch(Reduction):
    """One deterministic classifier, chosen among best responses to a grid of multipliers.

    For those who cannot use a randomized decision. It may err more or violate more than
    `FairClassifier`, and carries no certificate; the grid grows exponentially with the number of
    groups, so beyond three or four use ``grid="saddle_point"``.

    Parameters
    ----------
    estimator, constraint, objective, nu, slack, weights
        As for `FairClassifier`.
    grid_size : int, default=21
        About how many points the grid has in all; rounded so that it is symmetric and contains
        lambda = 0.
    grid_limit : float, default=2.0
        The largest adjustment of a cost. A wrong decision costs 1, so that an adjustment beyond 1
        outweighs every label.
    grid : array-like of shape (m, K), "saddle_point" or None, default=None
        Multipliers to use instead; or "saddle_point": the members of the randomized classifier
        that `FairClassifier` finds with ``threshold="learner"``, which are the best responses to
        lambda-dagger that Q-dagger puts mass on.
    tradeoff : float in [0, 1], optional
        Select by ``(1 - tradeoff) * error + tradeoff * violation`` instead of by least error
        within the constraints.
    n_jobs : int, optional
        Fits to run at a time (joblib).
    checkpoint : str or Path, optional
        As for `FairClassifier`.

    Attributes
    ----------
    best_estimator_ : classifier
        The classifier selected; it predicts 0 and 1.
    candidates_ : list of Candidate
        All of them, for a choice of one's own, see `use`.
    best_index_ : int
    classes_ : array of two labels

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity, GridSearch
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 1000)
    >>> X = np.column_stack([A + rng.normal(size=1000), rng.normal(size=1000)])
    >>> y = (X.sum(axis=1) + rng.normal(size=1000) > 0.5).astype(int)
    >>> grid = GridSearch(LogisticRegression(), DemographicParity(eps=0.05), grid_size=11)
    >>> grid.fit(X, y, sensitive_features=A).candidates_[grid.best_index_].violation
    0.0
    """

    def __init__(
        self,
        estimator: Any,
        constraint: Constraint,
        *,
        objective: Costs | Loss | None = None,
        grid_size: int = 21,
        grid_limit: float = 2.0,
        grid: ArrayLike | str | None = None,
        tradeoff: float | None = None,
        nu: float | None = None,
        slack: float | None = None,
        weights: str = "both",
        n_jobs: int | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.objective = objective
        self.grid_size = grid_size
        self.grid_limit = grid_limit
        self.grid = grid
        self.tradeoff = tradeoff
        self.nu = nu
        self.slack = slack
        self.weights = weights
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
    ) -> Self:
        """Fit the learner for every point of the grid and select one classifier.

        The parameters are those of `FairClassifier.fit`.
        """
        tradeoff = self.tradeoff
        if tradeoff is not None and not (
            isinstance(tradeoff, (int, float, np.number)) and 0 <= tradeoff <= 1
        ):
            raise ValueError(f"tradeoff is {tradeoff!r}; expected a number from 0 to 1, or None.")
        problem = self._problem(
            X, y, sensitive_features, control_features, sample_weight, utilities
        )
        with keeping(problem.pool):
            if isinstance(self.grid, str):
                candidates = self._from_saddle_point(problem)
            else:
                candidates = self._from_grid(problem)
        best = self._select(candidates)
        self._check_features(X, reset=True)
        self.candidates_ = candidates
        self.classes_ = problem.classes
        return self.use(best)

    def use(self, index: int) -> Self:
        """Make the candidate of this number the one that predicts."""
        check_is_fitted(self, "candidates_")
        self.best_index_ = range(len(self.candidates_))[index]
        self.best_estimator_ = self.candidates_[index].classifier
        return self

    def predict(self, X: Any) -> NDArray:
        """Decide for each row."""
        check_is_fitted(self)
        self._check_features(X, reset=False)
        return engine_for(X).decide(self.best_estimator_, X, self.classes_)

    @available_if(lambda self: hasattr(self.best_estimator_, "predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Return the scores of the selected classifier, which was trained on adjusted costs."""
        self._check_features(X, reset=False)
        return self.best_estimator_.predict_proba(X)

    def _from_grid(self, problem: Problem) -> list[Candidate]:
        game = problem.lagrangian
        if self.grid is None:
            lams = delta_grid(
                game,
                read_integer(self.grid_size, "grid_size", least=1),
                read_positive(self.grid_limit, "grid_limit"),
            )
        else:
            lams = np.atleast_2d(np.asarray(self.grid, dtype=float))
            if lams.ndim != 2 or lams.shape[1] != game.n_constraints or not lams.size:
                raise ValueError(
                    f"grid has shape {lams.shape}; expected (m, {game.n_constraints}), one "
                    "multiplier >= 0 for each constraint."
                )
            if not (np.isfinite(lams) & (lams >= 0)).all():
                raise ValueError("grid holds negative or NaN multipliers; expected numbers >= 0.")
        costs, pool = [game.costs(lam) for lam in lams], problem.pool
        return [
            _candidate(game, lam, Response(pool.classifiers[h], pool.s[h]))
            for lam, h in zip(lams, pool.ask(problem.oracle, *costs), strict=True)
        ]

    def _from_saddle_point(self, problem: Problem) -> list[Candidate]:
        if self.grid != "saddle_point":
            raise ValueError(
                f"grid is {self.grid!r}; expected multipliers of shape (m, K), 'saddle_point' or "
                "None."
            )
        pool = problem.pool
        plays = column_generation(problem.lagrangian, problem.oracle, pool, nu=problem.nu)
        last = play_out(plays, max_iter=100)
        return [
            _candidate(problem.lagrangian, last.lam, Response(pool.classifiers[h], pool.s[h]))
            for h in np.flatnonzero(last.weights)
        ]

    def _select(self, candidates: list[Candidate]) -> int:
        error = np.array([candidate.error for candidate in candidates])
        violation = np.array([candidate.violation for candidate in candidates])
        if self.tradeoff is not None:
            return int(np.argmin((1 - self.tradeoff) * error + self.tradeoff * violation))
        if (violation <= TOLERANCE).any():
            return int(np.argmin(np.where(violation <= TOLERANCE, error, np.inf)))
        best = int(np.lexsort((error, violation))[0])
        warnings.warn(
            f"none of the {len(candidates)} candidates meets the constraints; the one that exceeds "
            f"them least, by {violation[best]:.4g}, was selected. Try a larger grid_size, or "
            "FairClassifier, which mixes candidates.",
            InfeasibleWarning,
            stacklevel=3,
        )
        return best


def _candidate(game: Lagrangian, lam: Array, response: Response) -> Candidate:
    error, violation = game.error(response.s), game.violation(response.s)
    return Candidate(lam, response.classifier, float(error), float(violation))


def delta_grid(lagrangian: Lagrangian, size: int, limit: float) -> Array:
    """Return multipliers for a symmetric lattice of adjustments around zero, shape (m, K).

    About ``size`` points in all; each free adjustment runs over the same odd number of values, and
    the largest adjustment of a cell along one axis is ``limit``.
    """
    axes = free_adjustments(lagrangian.gamma_slope)
    if not len(axes):
        return np.zeros((1, lagrangian.n_constraints))
    axes *= limit / np.abs(axes).max(axis=1, keepdims=True)
    steps = max(round((size ** (1 / len(axes)) - 1) / 2), 1)
    ticks = np.arange(-steps, steps + 1) / steps
    if len(ticks) ** len(axes) > 10 * max(size, 100):
        raise ValueError(
            f"a grid in {len(axes)} dimensions needs at least {len(ticks) ** len(axes)} fits. Use "
            "FairClassifier, or GridSearch(grid='saddle_point')."
        )
    deltas = [np.array(point) @ axes for point in product(ticks, repeat=len(axes))]
    return np.array([nnls(lagrangian.gamma_slope.T, delta)[0] for delta in deltas])


def free_adjustments(gamma_slope: Array) -> Array:
    """Return a basis of the adjustments lambda . gamma_slope, in reduced row echelon form.

    Each row has a free cell, where it is one and the other rows are zero. For demographic parity
    with two groups it is the printed delta_a' = -p_a delta_a / p_a'.

    >>> p = 0.25  # share of group a; one cell for each group
    >>> free_adjustments(np.array([[1 / p - 1, -1.0], [-1.0, 1 / (1 - p) - 1]])).round(3)
    array([[ 1.   , -0.333]])
    """
    rows = gamma_slope.copy()
    done = 0
    for cell in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, cell])))
        if abs(rows[pivot, cell]) <= 1e-9 * max(np.abs(gamma_slope).max(), 1e-300):
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, cell]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, cell], rows[done])
        done += 1
    return rows[:done]
