"""Logistic regression: the solution of scikit-learn's own fit, from rows that are read once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

from equipoise.cells.codes import blocks
from equipoise.cells.labels import SoftLabels
from equipoise.cells.table import Array
from equipoise.oracles.trainers.base import Trained, Trainer
from equipoise.rows.distinct import DistinctRows

#: Solvers that can be started anywhere and draw nothing at random.
_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
#: Equal rows are merged where at most this share of the rows is left.
_MOST_DISTINCT = 0.8
#: Common values are left out where so many features are, and at most this share of values is left.
_LEAST_FEATURES, _MOST_LEFT = 50, 0.25
#: From so many rows, an odd number, the common values are guessed.
_SAMPLE = 255
#: So many numbers at a time are compared, which fits into the processor's cache.
_BLOCK = 1 << 18


class LogisticTrainer(Trainer):
    """Start each fit from the solution that was named last, on rows kept in `CompactRows`.

    The problem is convex: a warm start reaches the same solution as a cold one, up to the
    solver's own tolerance. The start is named from outside, by the pool, and not simply the last
    solution, so that a fit that was interrupted and resumed finds what an undisturbed one finds.

    Where the loss is the plain one, "lbfgs" runs here, step by step as scikit-learn's. Otherwise,
    and for rows in single precision, scikit-learn's own fit is started from the solution.
    """

    learner = "LogisticRegression"

    def __init__(self, estimator: Any, X: Any) -> None:
        super().__init__(estimator, X)
        self._start: tuple[NDArray, NDArray] | None = None
        self._start_labels: list[int] = []
        #: Whether scikit-learn has looked through these rows for missing values: once is enough.
        self._has_looked = False
        is_single = getattr(X, "dtype", None) == np.float32  # which need not be copied
        self._is_compact = estimator.solver == "lbfgs" and not is_single
        self._is_compact &= has_plain_loss(estimator)
        self.skips_weightless = self._is_compact
        if self._is_compact:
            self._rows = self._read()

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the learner has a solver that can be started anywhere.

        >>> LogisticTrainer.suits(LogisticRegression(), None)
        True
        >>> LogisticTrainer.suits(LogisticRegression(solver="saga"), None)
        False
        """
        return type(estimator) is LogisticRegression and estimator.solver in _SOLVERS

    def start_from(self, classifier: Any) -> None:
        """Start all later fits from the solution of this one, or from zero."""
        if classifier is None:
            self._start = None
        elif isinstance(classifier, LogisticRegression):
            self._start = classifier.coef_, classifier.intercept_
            self._start_labels = classifier.classes_.tolist()

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Fit a clone of the learner, from the start if there is one."""
        if not self._is_compact:
            return self._fit_with_sklearn(label, weight)
        return self._fit(weight * (label == 1), weight, np.array([0, 1]))

    def fit_soft(self, examples: SoftLabels) -> Trained:
        """Fit the same loss to soft labels, which takes no copies of rows."""
        labels = examples.labels
        if len(labels) < 3 or not has_plain_loss(self.estimator):
            return super().fit_soft(examples)
        saved = examples.saved[:, labels]
        return self._fit(saved, saved.sum(axis=1), labels)

    @cached_property
    def _rows(self) -> CompactRows:
        return self._read()

    def _read(self) -> CompactRows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(self.estimator).fit([[0.0], [1.0]], [0, 1])  # refuses parameters that are wrong
        X = validate_data(clone(self.estimator), self.X, accept_sparse="csr", dtype=np.float64)
        return CompactRows(X)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_rows"}

    def _fit(self, saved: Array, weight: Array, labels: NDArray) -> Trained:
        rows = self._rows
        classifier = clone(self.estimator)
        validate_data(classifier, self.X, skip_check_array=True)  # notes the features and names
        is_alike = self._start is not None and self._start_labels == labels.tolist()
        start = self._start if is_alike else None
        minimise(classifier, rows, rows.merge(saved), rows.merge(weight), start)
        classifier.classes_ = labels
        return Trained(classifier, classifier, self.X)

    def _fit_with_sklearn(self, label: NDArray, weight: Array) -> Trained:
        def train(X: Any, label: NDArray, weight: Array) -> Any:
            classifier = clone(self.estimator).set_params(warm_start=True)
            if self._start is not None:
                # scikit-learn starts from these two.
                classifier.coef_, classifier.intercept_ = (part.copy() for part in self._start)
            classifier.fit(X, label, **{self.weight_parameter: weight})
            return classifier.set_params(warm_start=self.estimator.warm_start)

        with config_context(assume_finite=self._has_looked or None):
            classifier = self._guard(train, self.X, label, weight)
        self._has_looked = True
        return Trained(classifier, classifier, self.X)


def has_plain_loss(estimator: Any) -> bool:
    """Whether it is a logistic regression of the default penalty or none, with equal classes.

    >>> has_plain_loss(LogisticRegression(C=0.1)), has_plain_loss(
    ...     LogisticRegression(class_weight="balanced"))
    (True, False)
    """
    given = estimator.get_params()
    return (
        given.get("penalty", "l2") in ("l2", "deprecated", None)
        and not given.get("l1_ratio")
        and given["class_weight"] is None
        and given["intercept_scaling"] == 1
        and given.get("multi_class", "auto") in ("auto", "deprecated")
    )


def minimise(
    classifier: Any,
    rows: CompactRows,
    saved: Array,
    weight: Array,
    start: tuple[NDArray, NDArray] | None = None,
) -> None:
    """Give the classifier the coefficients that scikit-learn's "lbfgs" finds.

    Objective, solver and stopping rule are scikit-learn's. With more than two labels these are
    those of copies of rows, one for each label.

    Parameters
    ----------
    classifier : LogisticRegression
    rows : CompactRows
    saved : array of shape (n,) or (n, K)
        What label 1, or each of K > 2 labels, weighs in each distinct row.
    weight : array of shape (n,)
        What all labels weigh together.
    start : tuple of coefficients and intercepts, optional
        Where to start.
    """
    n_scores = 1 if saved.ndim == 1 else saved.shape[1]
    first = np.zeros((n_scores, rows.d + 1)) if start is None else np.column_stack(start)
    options = {"maxiter": classifier.max_iter, "gtol": classifier.tol, "maxls": 50}
    options["ftol"] = 64 * np.finfo(float).eps
    found = minimize(
        _objective(classifier, rows, saved, weight),
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options=options,
    )
    if not found.success:
        warnings.warn(
            f"logistic regression did not converge within max_iter={classifier.max_iter} steps "
            f"({found.message}); scale the features, or let it take more.",
            ConvergenceWarning,
            stacklevel=2,
        )
    at = found.x.reshape(n_scores, rows.d + 1)
    classifier.coef_, classifier.intercept_ = at[:, :-1].copy(), at[:, -1].copy()
    classifier.n_iter_ = np.array([found.nit], dtype=np.int32)


def _objective(
    classifier: Any, rows: CompactRows, saved: Array, weight: Array
) -> Callable[[Array], tuple[float, Array]]:
    """Return the penalised loss, and its slope, as a function of coefficients and intercepts."""
    total = float(weight.sum())
    saved, weight = saved / total, weight / total
    without_penalty = getattr(classifier, "penalty", "l2") is None or np.isinf(classifier.C)
    ridge = 0.0 if without_penalty else 1.0 / (classifier.C * total)
    of_scores = _two_labels if saved.ndim == 1 else _more_labels

    def objective(flat: Array) -> tuple[float, Array]:
        at = flat.reshape(-1, rows.d + 1)
        coef = at[:, :-1]
        scores = rows.scores(coef.T if saved.ndim == 2 else coef[0])
        scores += at[:, -1]
        top, share = of_scores(scores)
        loss = float(weight @ top - np.vdot(saved, scores))
        rest = (weight * share.T).T - saved
        slope = np.empty_like(at)
        slope[:, :-1] = rows.slopes(rest).T + ridge * coef
        slope[:, -1] = rest.sum(axis=0) if classifier.fit_intercept else 0.0
        return loss + 0.5 * ridge * float(np.vdot(coef, coef)), slope.ravel()

    return objective


def _two_labels(score: Array) -> tuple[Array, Array]:
    """Return log(1 + exp(score)), and the probability of label 1."""
    small = np.exp(-np.abs(score))
    return np.log1p(small) + np.maximum(score, 0.0), np.where(score < 0, small, 1.0) / (1.0 + small)


def _more_labels(scores: Array) -> tuple[Array, Array]:
    """Return log(sum of exp(scores)), and the probability of each label.

    The maximum is taken label by label and the sum as a product: labels are few, rows are many.
    """
    top = scores[:, 0].copy()
    for score in scores.T[1:]:
        np.maximum(top, score, out=top)
    share = np.exp(scores - top[:, None])
    total = share @ np.ones(scores.shape[1])
    share /= total[:, None]
    return top + np.log(total), share


class CompactRows:
    """Rows X in the form that takes least work to multiply: X = S + 1 m', equal rows once.

    Where most values of a feature are the same, as in the columns of a one-hot encoding, scaled or
    not, S holds what differs from the common values m and is sparse. Products are those of X, up to
    the order in which numbers are added.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Finite numbers. It is kept where nothing is gained by another form.

    Examples
    --------
    >>> rows = CompactRows(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]))
    >>> rows.n, sorted(rows.scores(np.array([1.0, 1.0])).tolist())
    (2, [1.0, 3.0])
    >>> sorted(rows.merge(np.array([1.0, 5.0, 3.0])).tolist())
    [3.0, 6.0]
    """

    def __init__(self, X: Any) -> None:
        self._number: NDArray[np.intp] | None = None  # of the distinct row that each row is
        self._common: Array | None = None
        if not issparse(X):
            X = self._without_common_values(self._distinct(X))
        self._rows = X
        self.n, self.d = X.shape

    def merge(self, weight: Array) -> Array:
        """Return the sums of (n,) or (n, K) numbers over equal rows."""
        if self._number is None:
            return weight
        columns = weight.reshape(len(weight), -1).T
        merged = np.column_stack([np.bincount(self._number, c, self.n) for c in columns])
        return merged.reshape(self.n, *weight.shape[1:])

    def scores(self, coef: Array) -> Array:
        """Return X coef for the distinct rows; ``coef`` has shape (d,) or (d, K)."""
        scores = self._rows @ coef
        if self._common is not None:
            scores += self._common @ coef
        return np.asarray(scores)

    def slopes(self, weight: Array) -> Array:
        """Return X' weight for the distinct rows; ``weight`` has shape (n,) or (n, K)."""
        slopes = self._rows.T @ weight
        if self._common is not None:
            slopes += np.multiply.outer(self._common, weight.sum(axis=0))
        return np.asarray(slopes)

    def _distinct(self, X: Array) -> Array:
        """Return the distinct rows if they are few, and keep which of them each row is."""
        found = DistinctRows.of(X)
        if found is None or len(found.first) > _MOST_DISTINCT * len(X):
            return X
        self._number = found.number
        return X[found.first]

    def _without_common_values(self, X: Array) -> Any:
        """Return what differs from the common values, or X where these are too few."""
        n, d = X.shape
        sample = X[np.linspace(0, n - 1, _SAMPLE).astype(np.intp)]
        common = np.median(sample, axis=0)
        if d < _LEAST_FEATURES or np.mean(sample != common) > _MOST_LEFT:
            return X
        values, columns, counts = [], [], [np.zeros(1, dtype=np.int64)]
        for part in blocks(n, max(_BLOCK // d, 1)):
            differs = X[part] != common
            values.append((X[part] - common)[differs])
            columns.append(np.nonzero(differs)[1].astype(np.int32))
            counts.append(differs.sum(axis=1))
        starts = np.cumsum(np.concatenate(counts))
        self._common = common
        return csr_matrix(
            (np.concatenate(values), np.concatenate(columns), starts), shape=(n, d), copy=False
        )
