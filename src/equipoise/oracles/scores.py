"""Scores of classifiers: how likely one takes the label to be, and its score with the cut on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from equipoise.cells.table import Array
from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.decisions import (
    Guard,
    ThresholdedClassifier,
    TransformedClassifier,
    decisions,
    scores,
)
from equipoise.oracles.plugin import PluginClassifier
from equipoise.oracles.thresholds import has_scores, own_threshold
from equipoise.rows.validation import MOST_LABELS

#: The least number that still has a sign.
LEAST = float(np.finfo(float).tiny)


class Scored(NamedTuple):
    """The score of each row, and the cut: those whose score is above it are selected."""

    score: Array
    cut: float

    def margin(self, selected: NDArray[np.bool_]) -> Array:
        """Return score minus cut; for who is decided on otherwise, next to nothing of that sign."""
        if not np.isfinite(self.cut):  # everybody, or nobody
            return np.where(selected, 1.0, -1.0)
        least = np.where(selected, LEAST, -LEAST)
        return np.where(self.decides(selected), self.score - self.cut, least)

    def decides(self, selected: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whose decision the score explains: a learner may have reasons of its own."""
        return (self.score > self.cut) == selected


def score_with_cut(classifier: Any, X: Any) -> Scored | None:
    """Return the scores and the cut of a classifier; None where it gives decisions only.

    Of a plug-in classifier it is the expected gain of selecting a person, as a share of the
    largest price of a cell; of a trained learner its ``decision_function``, or else its
    probability of label 1.

    >>> from sklearn.linear_model import LogisticRegression
    >>> logistic = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> score, cut = score_with_cut(ThresholdedClassifier(logistic, 0.1), [[0.4], [0.9]])
    >>> (score > cut).tolist(), cut
    ([False, True], 0.1)
    """
    if isinstance(classifier, TransformedClassifier):
        rows = Guard()(classifier.transformer.transform, X)
        return score_with_cut(classifier.classifier, rows)
    if isinstance(classifier, PluginClassifier):
        expected = classifier.expected_costs(classifier.probabilities(X))
        return Scored(-expected / (classifier.largest_cost or 1.0), 0.0)
    if isinstance(classifier, ThresholdedClassifier):
        return Scored(scores(classifier.classifier, X), float(classifier.threshold))
    if isinstance(classifier, LabelAdapter):
        inner = classifier.classifier
        ascends = list(getattr(inner, "classes_", ())) == classifier.classes.tolist()
        return score_with_cut(inner, X) if ascends else None
    if not has_scores(classifier):
        return None
    return Scored(scores(classifier, X), own_threshold(classifier))


class _Source(NamedTuple):
    """The model that knows probabilities, behind some transformers, and what it calls 0, 1, ..."""

    transformers: list[Any]
    model: Any
    labels: Sequence[Any]


def _source(classifier: Any) -> _Source:
    if isinstance(classifier, TransformedClassifier):
        inner = _source(classifier.classifier)
        return inner._replace(transformers=[classifier.transformer, *inner.transformers])
    if isinstance(classifier, ThresholdedClassifier):
        return _source(classifier.classifier)
    if isinstance(classifier, LabelAdapter):
        return _Source([], classifier.classifier, classifier.classes.tolist())
    return _Source([], classifier, range(MOST_LABELS))


def learner_name(classifier: Any) -> str:
    """Return the class of the model that a classifier's scores come from."""
    return type(_source(classifier).model).__name__


def has_probabilities(classifier: Any) -> bool:
    """Whether a classifier says how likely its label 1 is."""
    model = _source(classifier).model
    return isinstance(model, PluginClassifier) or hasattr(model, "predict_proba")


def has_order(classifier: Any) -> bool:
    """Whether a classifier says more of people than whom it selects."""
    return has_probabilities(classifier) or hasattr(_source(classifier).model, "decision_function")


def order(classifier: Any, X: Any) -> Array:
    """Return a number from 0 to 1 for each row, in the order of a classifier's scores.

    Its probabilities, or else its ``decision_function`` brought into that range.
    """
    if has_probabilities(classifier):
        return np.clip(probability(classifier, X), 0.0, 1.0)
    transformers, model, labels = _source(classifier)
    for transformer in transformers:
        X = Guard()(transformer.transform, X)
    score = np.asarray(Guard()(model.decision_function, X), dtype=float)
    if np.asarray(getattr(model, "classes_", [0, 1]))[0] == labels[1]:
        score = -score
    return 0.5 + 0.5 * score / (1.0 + np.abs(score))


def probability(classifier: Any, X: Any, label: int = 1) -> Array:
    """Return how likely a classifier takes a label to be, for each row; see `has_probabilities`."""
    transformers, model, labels = _source(classifier)
    for transformer in transformers:
        X = Guard()(transformer.transform, X)
    if isinstance(model, PluginClassifier):
        return model.probabilities.label(X)[:, label]
    found = np.asarray(Guard()(model.predict_proba, X), dtype=float)
    known = np.asarray(getattr(model, "classes_", [0, 1])).tolist()
    if found.ndim != 2 or found.shape[1] != len(known) or not np.isfinite(found).all():
        raise ValueError(
            f"{type(model).__name__}.predict_proba returned an array of shape {found.shape}; "
            f"expected {len(known)} finite probabilities for each row."
        )
    # A candidate of the user's may never have met this label.
    at = labels[label]
    return found[:, known.index(at)] if at in known else np.zeros(len(found))


def mean_margin(members: Sequence[Any], weights: Array, X: Any) -> Array:
    """Return how far each row is from the cut, on average over the members of a mixture."""
    total = np.zeros(_num_samples(X))
    for weight, member, selected in zip(weights, members, decisions(members, X), strict=True):
        scored = score_with_cut(member, X)
        alone = np.where(selected, 1.0, -1.0) if scored is None else scored.margin(selected)
        total += weight * alone
    return total
