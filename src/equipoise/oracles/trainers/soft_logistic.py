"""Logistic regression of soft labels: scikit-learn's loss on copies of rows, without the copies."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from equipoise.cells.table import Array


def takes_soft_labels(estimator: Any) -> bool:
    """Whether it is a logistic regression of the default penalty or none, with equal classes.

    >>> from sklearn.linear_model import LogisticRegression
    >>> takes_soft_labels(LogisticRegression(C=0.1)), takes_soft_labels(
    ...     LogisticRegression(class_weight="balanced"))
    (True, False)
    """
    given = estimator.get_params()
    return (
        given.get("penalty", "l2") in ("l2", "deprecated", None)
        and not given.get("l1_ratio")
        and given["class_weight"] is None
        and given["intercept_scaling"] == 1
    )


def fit_soft_logistic(
    classifier: Any,
    X: Any,
    saved: Array,
    labels: NDArray[np.intp],
    start: tuple[NDArray, NDArray] | None = None,
) -> Any:
    """Fit the classifier to three or more labels that each row has in part.

    Objective, solver and stopping rule are those of scikit-learn's "lbfgs" on copies of rows, one
    for each label. The problem is convex: both find the same solution, up to the tolerance.

    Parameters
    ----------
    classifier : LogisticRegression
        Not fitted; is fitted here and returned.
    saved : array of shape (n, K)
        What each label weighs in each row.
    labels : array of K labels
    start : tuple of coefficients and intercepts, optional
        Where to start.
    """
    X = validate_data(classifier, X, accept_sparse="csr", dtype=np.float64)
    d, K = X.shape[1], len(labels)
    weight = saved.sum(axis=1)
    total = float(weight.sum())
    without_penalty = getattr(classifier, "penalty", "l2") is None or np.isinf(classifier.C)
    ridge = 0.0 if without_penalty else 1.0 / (classifier.C * total)

    def objective(flat: Array) -> tuple[float, Array]:
        at = flat.reshape(K, d + 1)
        z = X @ at[:, :-1].T + at[:, -1]
        top = logsumexp(z, axis=1)
        loss = (weight @ top - np.vdot(saved, z)) / total
        rest = (weight[:, None] * np.exp(z - top[:, None]) - saved) / total
        slope = np.empty_like(at)
        slope[:, :-1] = (X.T @ rest).T + ridge * at[:, :-1]
        slope[:, -1] = rest.sum(axis=0) if classifier.fit_intercept else 0.0
        return loss + 0.5 * ridge * float(np.sum(at[:, :-1] ** 2)), slope.ravel()

    first = np.zeros((K, d + 1)) if start is None else np.column_stack(start)
    options = {"maxiter": classifier.max_iter, "gtol": classifier.tol, "maxls": 50}
    options["ftol"] = 64 * np.finfo(float).eps
    found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options=options)
    if found.nit >= classifier.max_iter:
        warnings.warn(
            f"logistic regression did not converge in max_iter={classifier.max_iter} steps; "
            "scale the features, or let it take more.",
            ConvergenceWarning,
            stacklevel=2,
        )
    at = found.x.reshape(K, d + 1)
    classifier.classes_ = labels
    classifier.coef_, classifier.intercept_ = at[:, :-1], at[:, -1]
    classifier.n_iter_ = np.array([found.nit], dtype=np.int32)
    return classifier
