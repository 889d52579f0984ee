"""What a trainer is, what it returns, and how learners take weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from inspect import Parameter, signature
from threading import Lock
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from equipoise.cells.labels import SoftLabels
from equipoise.cells.table import Array
from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.decisions import Guard
from equipoise.rows.tables import take_rows

#: Weights that differ by less are the same.
_ROUNDING = 1e-12


def weight_parameter(estimator: Any) -> str:
    """Return the name under which ``estimator.fit`` takes weights; an error if it takes none.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_parameter(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    """
    # Stacks show their predict only once fitted; their class has it from the start.
    predicts = hasattr(estimator, "predict") or hasattr(type(estimator), "predict")
    if isinstance(estimator, type) or not (predicts and hasattr(estimator, "fit")):
        raise TypeError(
            f"estimator is {estimator!r}; expected a classifier object with fit and predict."
        )
    if _is_regressor(estimator):
        raise TypeError(
            f"estimator is {type(estimator).__name__}, a regressor, whose predictions are not the "
            "two labels; expected a classifier."
        )
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_parameter(last)}"
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    takes_any = any(
        p.kind is Parameter.VAR_KEYWORD for p in signature(estimator.fit).parameters.values()
    )
    if takes_any and hasattr(estimator, "estimator") and _passes_on(estimator):
        return weight_parameter(estimator.estimator)
    if takes_any and hasattr(estimator, "estimators"):  # votes and stacks give it to all alike
        names = {weight_parameter(e) for _, e in estimator.estimators if e != "drop"}
        if names == {"sample_weight"}:
            return "sample_weight"
    raise TypeError(
        f"{type(estimator).__name__}.fit takes no sample_weight, which the reduction needs. "
        f"Wrap it: ResampledClassifier({type(estimator).__name__}(...)) trains it on examples "
        "drawn in proportion to their weights."
    )


def _passes_on(estimator: Any) -> bool:
    """Whether a wrapper hands fit parameters to what it wraps, without metadata routing."""
    foreign = not type(estimator).__module__.startswith("sklearn.")
    return foreign or isinstance(estimator, (BaseSearchCV, FrozenEstimator))


def _is_regressor(estimator: Any) -> bool:
    try:
        return is_regressor(estimator)
    except AttributeError:  # a learner of the user's own need not know scikit-learn's tags
        return False


@dataclass(frozen=True)
class Trained:
    """A fitted classifier, and the cheapest way to its answers on the training rows.

    Attributes
    ----------
    classifier : fitted classifier
        Takes rows like those of X. Keeps nothing of this path.
    local : object
        Answers for the training rows as the classifier does, when asked about ``rows``: the
        classifier itself, the last step of a pipeline, or `CachedScores`.
    rows : table of n rows
        What ``local`` takes.
    selected : array of n bools, or None
        Whom the classifier selects of them, where that is known; of more than two labels, its
        decisions.
    """

    classifier: Any
    local: Any
    rows: Any
    selected: NDArray | None = None


class Trainer(ABC):
    """Fits the learner to labels and weights, on rows it was given once.

    Parameters
    ----------
    estimator : classifier
    X : table of n rows
    """

    #: The class of the learners that it is for; empty: of any.
    learner: ClassVar[str] = ""
    #: Whether later fits use what earlier ones made.
    caches: ClassVar[bool] = False
    #: Whether rows of weight zero change nothing, so that one trainer serves all folds.
    skips_weightless: bool = False

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator, self.X = estimator, X
        self.weight_parameter = weight_parameter(estimator)
        self._guard = Guard()

    @classmethod
    @abstractmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether this learner, on these rows, is known to be trained rightly by it."""

    @abstractmethod
    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Train for labels 0 and 1; what is returned does not change with later calls."""

    def fit_soft(self, examples: SoftLabels) -> Trained:
        """Train for more than two labels; here on copies of rows, one for each label.

        XGBoost refuses labels that are not 0 to K - 1: where some are not in use it gets these, and
        an adapter gives the labels back.
        """
        label, weight, rows = examples.copies()
        known = examples.labels
        gaps = known[-1] >= len(known) and _last_step(self.estimator).startswith("XGB")
        given = np.searchsorted(known, label) if gaps else label
        classifier = (
            PlainTrainer(self.estimator, take_rows(self.X, rows)).fit(given, weight).classifier
        )
        if gaps:
            number = np.full(known[-1] + 1, -1)
            number[known] = np.arange(len(known))
            classifier = LabelAdapter(classifier, number)
        return Trained(classifier, classifier, self.X)

    def start_from(self, classifier: Any) -> None:  # noqa: B027
        """Take note of a classifier trained before, or of none; few trainers have use for it."""

    def share_trees(self, share: float) -> None:
        """Let the classifiers to come share this part of their trees; few trainers can."""
        raise TypeError(
            f"shared_trees is {share:g}, but the learner is {_last_step(self.estimator)}, or has "
            "settings under which trees are not shared; expected an LGBMClassifier or "
            "XGBClassifier with its own objective and without early stopping, callbacks or class "
            "weights, on a table of numbers in memory. Use shared_trees=0 with this one."
        )

    def grow_from(self, classifier: Any) -> None:  # noqa: B027
        """Take note of the classifier without constraints, whose first trees may be shared."""


def _last_step(estimator: Any) -> str:
    """Return the name of the class of a learner, behind a pipeline or not."""
    return type(estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator).__name__


class CachingTrainer(Trainer):
    """A trainer that prepares the rows once and uses what it made in every fit.

    One thread at a time may use what is kept. It does not travel to another process: there it is
    made again.
    """

    caches = True

    def __init__(self, estimator: Any, X: Any) -> None:
        super().__init__(estimator, X)
        self._cache: Any = None
        self._lock = Lock()

    @abstractmethod
    def _prepare(self, label: NDArray) -> Any:
        """Return data that labels and weights do not change; ``label`` are those of one fit."""

    def _prepared(self, label: NDArray) -> Any:
        """Return the data kept, made on the first call; to be called with the lock."""
        if self._cache is None:
            self._cache = self._prepare(label)
        return self._cache

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_cache", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _cache=None, _lock=Lock())


class BoostingTrainer(CachingTrainer):
    """A trainer of boosted trees, whose classifiers may share their first trees.

    These are the first trees of the classifier without constraints. Each fit goes on from them
    and grows the rest.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        super().__init__(estimator, X)
        self._share = 0.0
        self._first: Any = None

    def share_trees(self, share: float) -> None:
        """Let the classifiers to come share this part of their trees."""
        self._share = share

    def grow_from(self, classifier: Any) -> None:
        """Take note of the classifier without constraints, unless it has no trees."""
        if self._first is None and type(classifier).__name__ == self.learner:
            self._first = classifier

    def _n_shared(self, n_trees: int) -> int:
        """Return the number of trees to share of so many; 0 before there is a first classifier."""
        return 0 if self._first is None else int(self._share * n_trees)


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
            weights = {self.weight_parameter: weight}
            if _draws_rows(self.estimator) and _are_one(weight):
                weights = {}  # with weights of one it would draw other rows than without
            classifier.fit(X, label, **weights)
            return classifier

        classifier = self._guard(train, self.X, label, weight)
        return Trained(classifier, classifier, self.X)


def _draws_rows(estimator: Any) -> bool:
    """Whether this is a forest of scikit-learn's, or its like, behind a pipeline or not."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return type(last).__module__.startswith("sklearn.") and bool(getattr(last, "bootstrap", False))


def _are_one(weight: Array) -> bool:
    """Whether all weights are one, up to rounding."""
    return bool(abs(weight[0] - 1.0) <= _ROUNDING and np.ptp(weight) <= _ROUNDING)
