"""Logistic regression on rows that workers hold: Newton's method on sums over shards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, logsumexp
from sklearn.base import clone

from equipoise.cells.table import Array
from equipoise.engines.dask.shard import Shard, Task
from equipoise.engines.dask.shards import Shards

#: A function of a shard, its further arguments, and coefficients, which come last; it returns
#: loss, gradient and Hessian in one array.
Sums = tuple[Any, ...]

_BLOCK = 1 << 15
#: Newton's method stops where the objective, per row, can fall by no more than this.
_PRECISION = 1e-15


class LogisticTrainer:
    """Fits a `sklearn.linear_model.LogisticRegression` by sums of gradients and Hessians.

    An iteration sends the coefficients out and brings back a sum of d x d numbers; the objective is
    scikit-learn's, and its minimum is found to more digits than scikit-learn's default asks for.
    """

    dtype = np.float64
    takes_soft_labels = True

    def __init__(self, estimator: Any, shards: Shards) -> None:
        self.estimator, self.shards = estimator, shards
        self._start: Array | None = None
        self._start_labels: list[int] = []

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
            self._start = np.column_stack([classifier.coef_, classifier.intercept_]).ravel()
            self._start_labels = classifier.classes_.tolist()

    def fit(self, task: Task) -> tuple[Any, None]:
        """Return the fitted classifier."""
        return self._fitted((logistic_sums, task), np.array([0, 1]), 1)

    def fit_soft(self, task: Task, labels: NDArray) -> tuple[Any, None]:
        """Return the same for more than two labels, given those that save something."""
        return self._fitted((soft_sums, task, labels), labels, len(labels))

    def _fitted(self, sums: Sums, labels: NDArray, n_scores: int) -> tuple[Any, None]:
        e, d = self.estimator, self.shards.example.shape[1]
        penalised = not (getattr(e, "penalty", "l2") in (None, "none") or np.isinf(e.C))
        # Two scores that are told apart by their difference share its penalty.
        strength = (2.0 if n_scores == 2 else 1.0) if penalised else 0.0
        ridge = np.tile(np.append(np.full(d, strength), 0.0), n_scores)
        scale = float(e.C) if penalised else 1.0
        at = self._start
        if at is None or len(at) != len(ridge) or self._start_labels != labels.tolist():
            at = np.zeros(len(ridge))
        at, rounds = self._minimise(sums, at, ridge, scale, bool(e.fit_intercept))
        scores = at.reshape(n_scores, d + 1)
        if n_scores == 2:
            scores = scores[1:] - scores[:1]
        classifier = clone(e)
        classifier.classes_ = labels
        classifier.coef_, classifier.intercept_ = scores[:, :-1], scores[:, -1]
        classifier.n_features_in_, classifier.n_iter_ = d, np.array([rounds], dtype=np.int32)
        if hasattr(self.shards.example, "columns"):
            classifier.feature_names_in_ = np.asarray(self.shards.example.columns, dtype=object)
        return classifier, None

    def _minimise(
        self, sums: Sums, at: Array, ridge: Array, scale: float, intercept: bool
    ) -> tuple[Array, int]:
        """Newton's method; a step is halved until the objective falls."""
        n, step = len(self.shards), np.zeros_like(at)
        least, slope, curve = self._objective(sums, at, ridge, scale, intercept)
        for rounds in range(1, self.estimator.max_iter + 1):
            step = _newton_step(slope, curve)
            fall = float(-slope @ step)
            if fall <= _PRECISION * n * scale:
                return at, rounds
            for _ in range(30):
                value, *derivatives = self._objective(sums, at + step, ridge, scale, intercept)
                if value <= least - 1e-4 * fall or fall <= 1e-12 * abs(least):
                    break
                step, fall = step / 2, fall / 2
            at, least, (slope, curve) = at + step, value, derivatives
        return at, self.estimator.max_iter

    def _objective(
        self, sums: Sums, at: Array, ridge: Array, scale: float, intercept: bool
    ) -> tuple[float, Array, Array]:
        found = self.shards.total(*sums, at)
        d = len(at)
        loss, slope, curve = found[0], found[1 : d + 1], found[d + 1 :].reshape(d, d)
        value = scale * loss + 0.5 * float(ridge @ at**2)
        slope, curve = scale * slope + ridge * at, scale * curve + np.diag(ridge)
        if not intercept:
            last = np.arange(len(at)) % (self.shards.example.shape[1] + 1)
            last = np.flatnonzero(last == self.shards.example.shape[1])
            slope[last], curve[last], curve[:, last] = 0.0, 0.0, 0.0
            curve[last, last] = 1.0
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


def soft_sums(shard: Shard, task: Task, labels: NDArray, at: Array) -> Array:
    """Return loss, gradient and Hessian of three or more scores, for labels that rows have in part.

    Adding the same to all scores changes no probability. The Hessian gets a term that keeps the
    sum of the intercepts where it is, which the solution does not notice.
    """
    saved = shard.saved(task)[:, labels]
    K, size = len(labels), len(at)
    scores = at.reshape(K, -1)
    loss, slope, curve = 0.0, np.zeros_like(scores), np.zeros((K, size // K, K, size // K))
    for start in range(0, len(shard), _BLOCK):
        rows = slice(start, start + _BLOCK)
        X = np.column_stack([shard.X[rows], np.ones(len(saved[rows]))])
        z, weight = X @ scores.T, saved[rows].sum(axis=1)
        top = logsumexp(z, axis=1)
        chance = np.exp(z - top[:, None])
        loss += float(weight @ top - np.vdot(saved[rows], z))
        slope += (weight[:, None] * chance - saved[rows]).T @ X
        for j in range(K):
            for k in range(j + 1):
                bend = weight * chance[:, j] * ((j == k) - chance[:, k])
                curve[j, :, k] += X.T @ (X * bend[:, None])
                curve[k, :, j] = curve[j, :, k].T
    curve[:, -1, :, -1] += float(saved.sum()) / K**2
    return np.concatenate([[loss], slope.ravel(), curve.ravel()])
