"""Oracles: Best_h, from the costs of the cells to a classifier (section 3.1).

An oracle holds the rows. The game sends it one signed cost per cell and gets back a classifier
and its selected share of each cell; nothing of size n goes either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_regressor,
)
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from equipoise.cells.layered import AnyCells
from equipoise.cells.rows import LabelCache
from equipoise.cells.table import Array
from equipoise.game.pool import Oracle, Response
from equipoise.oracles.thresholds import (
    ThresholdedClassifier,
    binary_predictions,
    is_tuned,
    learner_of,
    read_threshold,
    tuned,
)
from equipoise.oracles.trainers import Trained, choose_trainer
from equipoise.rows.take import take_rows
from equipoise.rows.validation import check_features, read_positive, read_target, read_weights


class RefitOracle:
    """The paper's oracle: fit a clone of the learner to relabelled, reweighted examples.

    With d_i the signed cost of the cell of example i, the label is 1 where d_i < 0 and the weight
    is |d_i| times the example's own, scaled to mean one so that the learner's regularisation
    keeps its meaning.

    Parameters
    ----------
    estimator : classifier
        Takes ``fit(X, y, sample_weight)`` with labels 0 and 1; see `weight_parameter`.
    X : table of n rows
        Handed to the learner as it is.
    cells : Cells
    threshold : "auto", "tuned" or "learner", default="learner"
        "tuned" moves the threshold on the learner's scores to where the costs are least, and
        "auto" does so for linear classifiers, see `equipoise.oracles.thresholds.is_linear`. The
        learner minimises a loss of its own; this lets it answer for the one that counts, at the
        price of a sort. Learners without scores are left as they are.
    """

    exact = False
    out_of_fold = False

    def __init__(self, estimator: Any, X: Any, cells: AnyCells, threshold: str = "learner") -> None:
        self.estimator, self.X, self.cells = estimator, X, cells
        self.threshold, self._labels = read_threshold(threshold), LabelCache()
        self._trainer = choose_trainer(estimator, X, weight_parameter(estimator))

    def best_response(self, costs: Array) -> Response:
        """Fit the learner for these costs."""
        label, weight = self.cells.relabel_rows(costs, self._labels)
        trained = self._trained(label, weight)
        if is_tuned(self.threshold, trained.local):
            cut, h = tuned(trained.local, trained.rows, label, weight)
            classifier = ThresholdedClassifier(trained.classifier, cut.threshold)
        else:
            del label, weight  # 16 bytes a row, before the predictions take theirs
            h = binary_predictions(trained.local, trained.rows)
            classifier = trained.classifier
        return Response(classifier, self.cells.sum(h))

    def start_from(self, classifier: Any) -> None:
        """Let learners that can start from a solution start from this one, an earlier answer."""
        self._trainer.start_from(learner_of(classifier))

    def _trained(self, label: NDArray[np.int64], weight: Array) -> Trained:
        labels = _labels_in_use(label, weight)
        if len(labels) < 2:
            constant = constant_classifier(max(labels, default=0))
            return Trained(constant, constant, self.X)
        with config_context(enable_metadata_routing=False):
            return self._trainer.fit(label, weight)


def is_out_of_fold(oracle: Oracle) -> bool:
    """Whether the shares that an oracle returns are of people whom its models had not seen."""
    return bool(getattr(oracle, "out_of_fold", False))


class ExactOracle:
    """A short list of classifiers, searched in full: a true argmin over H.

    Parameters
    ----------
    classifiers : sequence
        The members of H.
    s : array of shape (P, C)
        The selected shares of each.
    """

    exact = True

    def __init__(self, classifiers: Sequence[Any], s: ArrayLike) -> None:
        self.classifiers, self.s = list(classifiers), np.asarray(s, dtype=float)
        if len(self.classifiers) != len(self.s):
            raise ValueError(
                f"got {len(self.classifiers)} classifiers but shares of {len(self.s)}."
            )

    @classmethod
    def from_predictions(
        cls, predictions: ArrayLike, cells: AnyCells, classifiers: Sequence[Any] | None = None
    ) -> ExactOracle:
        """Make one from predictions of shape (P, n); without classifiers, their row numbers."""
        predictions = np.atleast_2d(np.asarray(predictions))
        names = range(len(predictions)) if classifiers is None else classifiers
        return cls(names, [cells.sum(h) for h in predictions])

    def best_response(self, costs: Array) -> Response:
        """Return the classifier of least cost."""
        best = int(np.argmin(self.s @ costs))
        return Response(self.classifiers[best], self.s[best])


class ResampledClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Gives sample weights to a learner that takes none, by drawing examples in their proportion.

    ``fit`` draws, with replacement, as many rows as there are and trains the learner on these.
    The draw adds noise that true weights would not; a larger ``factor`` lowers it.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``fit(X, y)`` and ``predict``.
    factor : float, default=1.0
        Rows drawn, as a multiple of the rows given.
    random_state : int, RandomState or None, default=0
        Source of the draw. Fixed by default, so that equal weights draw equal rows.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [1.0]], [0, 0, 1]
    >>> knn = ResampledClassifier(KNeighborsClassifier(1))
    >>> knn.fit(X, y, sample_weight=[1, 0, 1]).predict([[0.1], [0.9]])
    array([0, 1])
    """

    def __init__(self, estimator: Any, factor: float = 1.0, random_state: Any = 0) -> None:
        self.estimator = estimator
        self.factor = factor
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> ResampledClassifier:
        """Draw rows in proportion to their weights and train the learner on them."""
        n = _num_samples(X)
        y = read_target(y, n)
        rows = self._draw(read_weights(sample_weight, n), n)
        learner = clone(self.estimator, safe=False)
        drawn = y[rows]
        if (drawn == drawn[0]).all():  # many learners refuse to learn from one class
            learner = DummyClassifier(strategy="most_frequent")
        learner.fit(take_rows(X, rows), drawn)
        check_features(self, X, reset=True)
        self.estimator_ = learner
        self.classes_ = np.unique(y)
        return self

    def _draw(self, weight: Array | None, n: int) -> NDArray[np.intp]:
        """Systematic sampling: each row its expected number of times, rounded up or down."""
        size = max(round(read_positive(self.factor, "factor") * n), 1)
        total = np.cumsum(np.ones(n) if weight is None else weight)
        start = check_random_state(self.random_state).uniform()
        ticks = (start + np.arange(size)) / size * total[-1]
        return np.minimum(np.searchsorted(total, ticks, side="right"), n - 1)

    def predict(self, X: Any) -> NDArray:
        """Predict with the trained learner."""
        check_is_fitted(self)
        check_features(self, X, reset=False)
        return self.estimator_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(AttributeError):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


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


def _labels_in_use(label: NDArray[np.int64], weight: Array, block: int = 4096) -> set[int]:
    """Return the labels of examples with positive weight; the first block often has both."""
    labels: set[int] = set()
    for start in range(0, len(label), block):
        rows = slice(start, start + block)
        counted = label[rows][weight[rows] > 0]
        if counted.size:
            labels.update((int(counted.min()), int(counted.max())))
        if len(labels) == 2:
            break
    return labels


def constant_classifier(label: int) -> DummyClassifier:
    """Return a classifier that decides the same for everybody."""
    return DummyClassifier(strategy="constant", constant=label).fit(np.zeros((2, 1)), [0, 1])


class Relabelled:
    """A fitted classifier of the user's, whose labels are translated to 0 and 1."""

    def __init__(self, classifier: Any, classes: NDArray) -> None:
        self.classifier, self.classes = classifier, classes

    def predict(self, X: Any) -> NDArray:
        """Decide 0 or 1 for each row."""
        predicted = np.asarray(self.classifier.predict(X))
        if strange := set(np.unique(predicted).tolist()) - set(self.classes.tolist()):
            raise ValueError(
                f"candidate {type(self.classifier).__name__} predicts {sorted(map(str, strange))}, "
                f"which y does not contain; expected {self.classes.tolist()}."
            )
        return predicted == self.classes[1]


def candidate_oracle(
    candidates: Sequence[Any], shares: Callable[[Sequence[Any]], Array], classes: NDArray
) -> ExactOracle:
    """Return the exact oracle over fitted classifiers, whose ``shares`` an engine knows."""
    if not candidates:
        raise ValueError("estimator is an empty list; expected one or more fitted classifiers.")
    members = [Relabelled(candidate, classes) for candidate in candidates]
    return ExactOracle(members, shares(members))
