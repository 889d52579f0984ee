"""Learners: what is asked of them, their share of the cores, and a stand-in for weights."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from equipoise.cells.table import Array
from equipoise.rows.tables import take_rows
from equipoise.rows.validation import check_features, read_positive, read_target, read_weights


def check_probabilistic(estimator: Any) -> None:
    """Refuse a learner that gives no probabilities.

    >>> from sklearn.svm import LinearSVC
    >>> check_probabilistic(LinearSVC())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: LinearSVC has no predict_proba, which the plug-in oracle needs. ...
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator is {estimator!r}; expected a classifier object.")
    if not hasattr(estimator, "predict_proba"):
        name = type(estimator).__name__
        raise TypeError(
            f"{name} has no predict_proba, which the plug-in oracle needs. Use oracle='refit', or "
            f"wrap it: CalibratedClassifierCV({name}(...))."
        )


#: What to do with a model that is fitted already.
OF_FITTED_MODELS = (
    "A fitted model cannot be trained for other labels and weights, as a fit does in every query. "
    "Pass the learner itself, unfitted. To keep the fitted model: "
    "equipoise.baselines.ThresholdOptimizer(FrozenEstimator(model), constraint) puts thresholds by "
    "group on its scores; a list of fitted classifiers, [model, other], is mixed as they are; or "
    "add the model's score to X as a column, for a learner that is trained."
)


def check_trains(estimator: Any) -> None:
    """Refuse a learner that is frozen, also as the last step of a pipeline or inside a wrapper.

    >>> from sklearn.linear_model import LogisticRegression
    >>> check_trains(FrozenEstimator(LogisticRegression()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: estimator is FrozenEstimator(estimator=LogisticRegression()), which is frozen; ...
    """
    learner = estimator
    while learner is not None:
        if isinstance(learner, FrozenEstimator):
            raise TypeError(
                f"estimator is {estimator!r}, which is frozen; expected a learner that can be "
                f"trained. {OF_FITTED_MODELS}"
            )
        learner = _inner(learner)


def _inner(learner: Any) -> Any:
    """Return the learner that a pipeline or a wrapper decides by, None of other learners.

    A calibrated classifier learns something even where the classifier inside is frozen.
    """
    if isinstance(learner, Pipeline):
        return learner.steps[-1][1] if learner.steps else None
    if isinstance(learner, (CalibratedClassifierCV, type)):
        return None
    return getattr(learner, "estimator", None)


def with_cores(estimator: Any, n_jobs: int) -> Any:
    """Return the learner with its share of the cores, when several are trained at a time.

    Two learners of two threads each on two cores can be a hundred times slower than one.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> with_cores(RandomForestClassifier(n_jobs=-1), 10_000).n_jobs
    1
    """
    if n_jobs == 1 or not hasattr(estimator, "get_params"):
        return estimator
    share, params = max(cpu_count() // n_jobs, 1), estimator.get_params()
    greedy = {}
    for name, asked in params.items():
        path, _, last = name.rpartition("__")
        if last == "n_jobs" and _exceeds(asked, share, params.get(path, estimator)):
            greedy[name] = share
    return clone(estimator).set_params(**greedy) if greedy else estimator


def _exceeds(n_jobs: int | None, share: int, learner: Any) -> bool:
    """Whether a learner that was given these ``n_jobs`` uses more cores than its share."""
    if n_jobs is None:  # one core in scikit-learn, all of them elsewhere
        return not type(learner).__module__.startswith("sklearn.")
    return not 1 <= n_jobs <= share


class ResampledClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A learner that takes no weights, trained on examples drawn in proportion to them.

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
        rows = self._draw(read_weights(sample_weight, n, summed=False), n)
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
        """Return rows drawn systematically: each as often as expected, rounded up or down."""
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
