"""Logistic regression on rows that are elsewhere: Newton's method on sums over shards."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit
from sklearn.base import clone

from equipoise.cells.table import Array
from equipoise.engines.dask.shard import Shard, Task
from equipoise.engines.dask.shards import Shards

_BLOCK = 1 << 15
#: Newton's method stops where the objective, per row, can fall by no more than this.
_PRECISION = 1e-15


class LogisticTrainer:
    """Fits a `sklearn.linear_model.LogisticRegression` by sums of gradients and Hessians.

    An iteration sends the coefficients out and brings back a sum of d x d numbers; the objective is
    scikit-learn's, and its minimum is found to more digits than scikit-learn's default asks for.
    """

    dtype = np.float64

    def __init__(self, estimator: Any, shards: Shards) -> None:
        self.estimator, self.shards = estimator, shards
        self._start: Array | None = None

    @staticmethod
    def suits(estimator: Any) -> bool:
        """Whether it is a logistic regression, of the default penalty or none, with equal classes.

        >>> from sklearn.linear_model import LogisticRegression
        >>> LogisticTrainer.suits(LogisticRegression(C=0.1))
        True
        """
        if type(estimator).__name__ != "LogisticRegression":
            return False
        given = estimator.get_params()
        return (
            given.get("penalty", "l2") in ("l2", "deprecated", None, "none")
            and not given.get("l1_ratio")
            and given["class_weight"] is None
            and not given["dual"]
        )

    def start_from(self, classifier: Any) -> None:
        """Start the next fit from this solution."""
        if hasattr(classifier, "coef_"):
            self._start = np.append(classifier.coef_[0], classifier.intercept_[0])

    def fit(self, task: Task) -> tuple[Any, None]:
        """Return the fitted classifier."""
        e, d = self.estimator, self.shards.example.shape[1]
        penalised = not (getattr(e, "penalty", "l2") in (None, "none") or np.isinf(e.C))
        ridge = np.append(np.full(d, 1.0 if penalised else 0.0), 0.0)
        scale = float(e.C) if penalised else 1.0
        at = np.zeros(d + 1) if self._start is None else self._start
        at, rounds = self._minimise(task, at, ridge, scale, bool(e.fit_intercept))
        classifier = clone(e)
        classifier.classes_ = np.array([0, 1])
        classifier.coef_, classifier.intercept_ = at[None, :-1], at[-1:]
        classifier.n_features_in_, classifier.n_iter_ = d, np.array([rounds], dtype=np.int32)
        if hasattr(self.shards.example, "columns"):
            classifier.feature_names_in_ = np.asarray(self.shards.example.columns, dtype=object)
        return classifier, None

    def _minimise(
        self, task: Task, at: Array, ridge: Array, scale: float, intercept: bool
    ) -> tuple[Array, int]:
        """Newton's method; a step is halved until the objective falls."""
        n, step = len(self.shards), np.zeros_like(at)
        least, slope, curve = self._objective(task, at, ridge, scale, intercept)
        for rounds in range(1, self.estimator.max_iter + 1):
            step = _newton_step(slope, curve)
            fall = float(-slope @ step)
            if fall <= _PRECISION * n * scale:
                return at, rounds
            for _ in range(30):
                value, *derivatives = self._objective(task, at + step, ridge, scale, intercept)
                if value <= least - 1e-4 * fall or fall <= 1e-12 * abs(least):
                    break
                step, fall = step / 2, fall / 2
            at, least, (slope, curve) = at + step, value, derivatives
        return at, self.estimator.max_iter

    def _objective(
        self, task: Task, at: Array, ridge: Array, scale: float, intercept: bool
    ) -> tuple[float, Array, Array]:
        sums = self.shards.total(logistic_sums, task, at)
        d = len(at)
        loss, slope, curve = sums[0], sums[1 : d + 1], sums[d + 1 :].reshape(d, d)
        value = scale * loss + 0.5 * float(ridge @ at**2)
        slope, curve = scale * slope + ridge * at, scale * curve + np.diag(ridge)
        if not intercept:
            slope[-1], curve[-1, :], curve[:, -1], curve[-1, -1] = 0.0, 0.0, 0.0, 1.0
        return value, slope, curve


def _newton_step(slope: Array, curve: Array) -> Array:
    jitter = 0.0
    for _ in range(12):
        try:
            return -cho_solve(cho_factor(curve + jitter * np.eye(len(slope))), slope)
        except LinAlgError:  # columns that depend on each other, without a penalty
            jitter = max(10 * jitter, 1e-10 * float(np.trace(curve)) / len(slope))
    return -slope


def logistic_sums(shard: Shard, task: Task, at: Array) -> Array:
    """Return loss, gradient and Hessian of a shard, in one array."""
    label, weight = shard.examples(task)
    d = len(at)
    loss, slope, curve = 0.0, np.zeros(d), np.zeros((d, d))
    for start in range(0, len(shard), _BLOCK):
        rows = slice(start, start + _BLOCK)
        X, y, w = shard.X[rows], label[rows], weight[rows]
        z = X @ at[:-1] + at[-1]
        p = expit(z)
        loss += float(w @ (np.logaddexp(0.0, z) - y * z))
        rest, bend = w * (p - y), w * p * (1 - p)
        slope += np.append(X.T @ rest, rest.sum())
        bent = X * bend[:, None]
        curve[:-1, :-1] += X.T @ bent
        curve[-1, :-1] += bent.sum(axis=0)
        curve[-1, -1] += bend.sum()
    curve[:-1, -1] = curve[-1, :-1]
    return np.concatenate([[loss], slope, curve.ravel()])
