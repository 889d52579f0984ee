"""What a trainer is, what it returns, and what trainers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from equipoise.cells.table import Array
from equipoise.oracles.thresholds import Guard


@dataclass(frozen=True)
class Trained:
    """A fitted classifier, and the cheapest way to its answers on the training rows.

    Attributes
    ----------
    classifier : fitted classifier
        Takes rows like those of X. Holds no training data.
    local : object
        Answers for the training rows as the classifier does, when asked about ``rows``: the
        classifier itself, the last step of a pipeline, or `CachedScores`.
    rows : table of n rows
        What ``local`` takes.
    selected : array of n bools, or None
        Whom the classifier selects of them, where that is known.
    """

    classifier: Any
    local: Any
    rows: Any
    selected: NDArray[np.bool_] | None = None


class Trainer(ABC):
    """Fits the learner to labels 0 and 1 and weights, on rows it was given once.

    Parameters
    ----------
    estimator : classifier
    X : table of n rows
    weight_parameter : str
        The name under which ``estimator.fit`` takes weights.
    """

    #: The class of the learners that it is for; empty: of any.
    learner: ClassVar[str] = ""
    #: Whether later fits use what earlier ones made.
    caches: ClassVar[bool] = False

    def __init__(self, estimator: Any, X: Any, weight_parameter: str) -> None:
        self.estimator, self.X, self.weight_parameter = estimator, X, weight_parameter
        self._guard = Guard()

    @classmethod
    @abstractmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether this learner, on these rows, is known to be trained rightly by it."""

    @abstractmethod
    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Train; what is returned does not change with later calls."""

    def start_from(self, classifier: Any) -> None:  # noqa: B027
        """Take note of a classifier trained before; most trainers have no use for it."""


class CachingTrainer(Trainer):
    """A trainer that prepares the rows once and uses what it made in every fit.

    One thread at a time may use what is kept. It does not travel to another process: there it is
    made again.
    """

    caches = True

    def __init__(self, estimator: Any, X: Any, weight_parameter: str) -> None:
        super().__init__(estimator, X, weight_parameter)
        self._cache: Any = None
        self._lock = Lock()

    @abstractmethod
    def _prepare(self, label: NDArray) -> Any:
        """Return what does not depend on labels and weights; ``label`` are those of one fit."""

    def _prepared(self, label: NDArray) -> Any:
        """Return what is kept, made on the first call; to be called with the lock."""
        if self._cache is None:
            self._cache = self._prepare(label)
        return self._cache

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_cache", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _cache=None, _lock=Lock())


class CachedScores:
    """Decisions and scores of a fitted classifier on its training rows, whatever rows are passed.

    Parameters
    ----------
    decisions : array of n values 0 or 1
    margins, probabilities : array of n numbers, optional
        The score of class 1: at most one of them, as the classifier that this stands for has it.
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


def constant_classifier(label: int, n_decisions: int = 2) -> DummyClassifier:
    """Return a classifier that decides the same for everybody."""
    dummy = DummyClassifier(strategy="constant", constant=label)
    return dummy.fit(np.zeros((n_decisions, 1)), list(range(n_decisions)))


def is_constant(classifier: Any) -> bool:
    """Whether this is a `constant_classifier`, or one like it."""
    return type(classifier) is DummyClassifier and classifier.strategy == "constant"


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


def has_fixed_seed(estimator: Any) -> bool:
    """Whether the learner draws from a seed, or from its default one, and not from a generator."""
    seed = getattr(estimator, "random_state", None)
    return seed is None or isinstance(seed, (int, np.integer))


class PlainTrainer(Trainer):
    """Clone the learner, fit it, ask it about the rows: right for every learner."""

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Return True: nothing is assumed of the learner."""
        return True

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Fit a clone of the learner."""

        def train(X: Any, label: NDArray, weight: Array) -> Any:
            classifier = clone(self.estimator, safe=False)
            classifier.fit(X, label, **{self.weight_parameter: weight})
            return classifier

        classifier = self._guard(train, self.X, label, weight)
        return Trained(classifier, classifier, self.X)


#: Solvers that can be started anywhere and draw nothing at random.
_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")


class WarmStartTrainer(Trainer):
    """Start each fit from the solution that was named last.

    The problem is convex: a warm start reaches the same solution as a cold one, up to the
    solver's own tolerance. The start is named from outside, by the pool, and not simply the last
    solution, so that a fit that was interrupted and resumed finds what an undisturbed one finds.
    """

    learner = "LogisticRegression"

    def __init__(self, estimator: Any, X: Any, weight_parameter: str) -> None:
        super().__init__(estimator, X, weight_parameter)
        self._start: tuple[NDArray, NDArray] | None = None

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the learner has a solver that can be started anywhere.

        >>> WarmStartTrainer.suits(LogisticRegression(), None)
        True
        >>> WarmStartTrainer.suits(LogisticRegression(solver="saga"), None)
        False
        """
        return type(estimator) is LogisticRegression and estimator.solver in _SOLVERS

    def start_from(self, classifier: Any) -> None:
        """Start all later fits from the solution of this one."""
        if isinstance(classifier, LogisticRegression):
            self._start = classifier.coef_, classifier.intercept_

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Fit a clone of the learner, from the start if there is one."""

        def train(X: Any, label: NDArray, weight: Array) -> Any:
            classifier = clone(self.estimator).set_params(warm_start=True)
            if self._start is not None:
                # scikit-learn starts from these two.
                classifier.coef_, classifier.intercept_ = (part.copy() for part in self._start)
            classifier.fit(X, label, **{self.weight_parameter: weight})
            return classifier.set_params(warm_start=self.estimator.warm_start)

        classifier = self._guard(train, self.X, label, weight)
        return Trained(classifier, classifier, self.X)
