"""What the baselines share: one learner inside, trained on the labels 0, 1, ..."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.constraints.fairlearn_words import SaysNewWords
from equipoise.oracles.decisions import predictions
from equipoise.oracles.trainers import weight_parameter
from equipoise.rows.people import People
from equipoise.rows.validation import (
    ANY,
    check_features,
    check_two_labels,
    read_labels,
    read_weights,
)


def _has_probabilities(baseline: Any) -> bool:
    return hasattr(getattr(baseline, "estimator_", baseline.estimator), "predict_proba")


class Baseline(SaysNewWords, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that ends as one fitted learner, ``estimator_``.

    Subclasses check their parameters in ``_check``, before the data are read, and train in
    ``_train``.
    """

    estimator: Any
    #: Whether it has a meaning for more than two labels.
    several_labels: ClassVar[bool] = False
    #: The favourable label, of methods that have a parameter for it.
    positive: Any = None

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the learner.

        Parameters
        ----------
        X : table of n rows
            Handed to the learner as it comes.
        y : array-like of shape (n,)
            Two labels of any kind; see ``positive``.
            `Unconstrained` and `Reweighting` take more.
        sensitive_features : array-like or data frame of n rows
            The groups; of several columns, every combination that occurs. `Unconstrained` ignores
            them, and only `ThresholdOptimizer` needs them again to predict.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples, wherever the method counts them.
        """
        self._check()
        people = People(X, y, sensitive_features, sample_weight=sample_weight)
        # To methods for any number of labels none of them is favourable.
        people = replace(people, positive=ANY if self.several_labels else self.positive)
        cells, classes = people.read_plain()
        if not self.several_labels:
            # The first sentence is what scikit-learn's checks look for.
            what = f"Only binary classification is supported. {type(self).__name__}"
            check_two_labels(classes, what)
        fitted = self._train(X, cells, classes)
        check_features(self, X, reset=True)
        for name, value in {**fitted, "classes_": classes}.items():
            setattr(self, name, value)
        return self

    def _check(self) -> None:
        """Refuse parameters that cannot be used."""

    def _train(self, X: Any, cells: Cells, classes: NDArray) -> dict[str, Any]:
        """Return the fitted attributes, ``estimator_`` among them."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray:
        """Return the label that the learner gives to each row."""
        check_is_fitted(self)
        check_features(self, X, reset=False)
        decided = predictions(self.estimator_, X, len(self.classes_))
        return self.classes_[decided.astype(np.intp)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the learner's estimate of the probability of each label."""
        check_is_fitted(self)
        check_features(self, X, reset=False)
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.several_labels
        # A learner of the user's own need not know scikit-learn's tags.
        with suppress(AttributeError):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class Unconstrained(Baseline):
    """The learner as it is: what is given up, and what is gained, is measured against this.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``fit`` and ``predict``; it is cloned and sees the labels 0, 1, ...

    Attributes
    ----------
    estimator_ : classifier
        The fitted learner.
    classes_ : array of two or more labels

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> Unconstrained(LogisticRegression()).fit(X, y, sensitive_features=[0, 1, 0, 1]).predict(X)
    array(['no', 'no', 'yes', 'yes'], dtype=object)
    """

    several_labels = True

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the learner; ``sensitive_features`` are ignored."""
        n = _num_samples(X)
        label, classes = read_labels(y, n, positive=ANY)
        estimator = fit_learner(self.estimator, X, label, read_weights(sample_weight, n))
        check_features(self, X, reset=True)
        self.estimator_, self.classes_ = estimator, classes
        return self


def fit_learner(estimator: Any, X: Any, label: NDArray, weight: Array | None) -> Any:
    """Fit a clone of the learner to labels 0, 1, ..., weighted if there are weights."""
    weighted = {} if weight is None else {weight_parameter(estimator): weight}
    with config_context(enable_metadata_routing=False):
        return clone(estimator).fit(X, label.astype(np.int64), **weighted)


def read_scores(estimator: Any, X: Any) -> Array:
    """Return the fitted learner's scores: its probabilities of label 1, or its margins."""
    if hasattr(estimator, "predict_proba"):
        scores = np.asarray(estimator.predict_proba(X), dtype=float)
        scores = scores[:, 1] if scores.ndim == 2 else scores
    elif hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=float)
    else:
        raise TypeError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function; expected "
            "a classifier with scores. Wrap it, for example in CalibratedClassifierCV."
        )
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError(
            f"{type(estimator).__name__} returned scores of shape {scores.shape}, or some that are "
            "not finite; expected one number for each row."
        )
    return scores
