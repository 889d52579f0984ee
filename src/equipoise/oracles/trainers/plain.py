"""The plain trainer, which clones the learner and fits it, and what trainers share."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from equipoise.cells.rows import Array


@dataclass(frozen=True)
class Trained:
    """A fitted classifier, and the cheapest way to its answers on the training rows.

    Attributes
    ----------
    classifier : fitted classifier
        Takes rows like those of X. Holds no training data.
    local : object
        Answers for the training rows as the classifier does, when asked about ``rows``: the
        classifier itself, the last step of a pipeline, or answers that were remembered.
    rows : table of n rows
        What ``local`` takes.
    """

    classifier: Any
    local: Any
    rows: Any


class Trainer(Protocol):
    """Fits the learner to labels 0 and 1 and weights, on rows it was given once."""

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Train; what is returned does not change with later calls."""
        ...

    def start_from(self, classifier: Any) -> None:
        """Take note of a classifier trained before, from which later fits may start."""
        ...


class Remembered:
    """Stands in for a fitted classifier on the training rows; the rows passed are not looked at.

    Parameters
    ----------
    decisions : array of n values 0 or 1
    margins, probabilities : array of n numbers, optional
        The score of class 1: one of them, as the classifier that this stands for has it.
    """

    def __init__(
        self,
        decisions: NDArray,
        margins: Array | None = None,
        probabilities: Array | None = None,
    ) -> None:
        self.classes_ = np.array([0, 1])
        self._decisions = decisions
        if margins is not None:
            self.decision_function = lambda X: margins
        if probabilities is not None:
            self.predict_proba = lambda X: np.column_stack([1 - probabilities, probabilities])

    def predict(self, X: Any) -> NDArray:
        """Return the decisions on the training rows."""
        return self._decisions


class PlainTrainer:
    """Clone the learner, fit it, ask it about the rows: right for every learner."""

    def __init__(self, estimator: Any, X: Any, weight_parameter: str) -> None:
        self.estimator, self.X, self.weight_parameter = estimator, X, weight_parameter

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Fit a clone of the learner."""
        classifier = clone(self.estimator, safe=False)
        classifier.fit(self.X, label, **{self.weight_parameter: weight})
        return Trained(classifier, classifier, self.X)

    def start_from(self, classifier: Any) -> None:
        """Do nothing: every fit starts from nothing."""


class KeepingTrainer(PlainTrainer):
    """What trainers share that keep something from call to call.

    One thread at a time may use what is kept. It does not travel to another process: there it is
    made again.
    """

    def __init__(self, estimator: Any, X: Any, weight_parameter: str) -> None:
        super().__init__(estimator, X, weight_parameter)
        self._kept: Any = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_kept", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _kept=None, _lock=Lock())


def is_binnable(X: Any) -> bool:
    """Whether X is a table that boosting libraries put into bins themselves.

    That is an array or a sparse matrix of numbers, or a pandas data frame.

    >>> is_binnable(np.zeros((2, 1))), is_binnable([[0.0], [1.0]]), is_binnable(np.array([["a"]]))
    (True, False, False)
    """
    if nw.dependencies.is_pandas_dataframe(X):
        return True
    array = isinstance(X, np.ndarray) or (issparse(X) and X.format in ("csr", "csc"))
    return array and X.ndim == 2 and X.dtype.kind in "fiub"


def first_rows(X: Any, n: int) -> Any:
    """Return the first rows of such a table."""
    return X.iloc[:n] if hasattr(X, "iloc") else X[:n]


def has_fixed_seed(estimator: Any) -> bool:
    """Whether the learner draws from a seed, or from its default one, and not from a generator."""
    seed = getattr(estimator, "random_state", None)
    return seed is None or isinstance(seed, (int, np.integer))
