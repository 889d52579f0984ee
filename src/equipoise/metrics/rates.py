"""Rates: how often something happens to the people of a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.constraints.rates import ACCURACY, ERROR, FNR, FPR, SELECTION, TNR, TPR, Rate
from equipoise.metrics.audit import Audit


def _everybody(rate: Rate, y_true: Any, y_pred: Any, pos_label: Any, sample_weight: Any) -> float:
    audit = Audit.read(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label)
    everybody = np.ones((1, audit.cells.n_cells), dtype=bool)
    return float(audit.rate(rate, everybody)[0])


def selection_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people who are selected: P[h = 1].

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind.
    y_pred : array-like of shape (n,)
        Labels of the same kind, or probabilities of being selected, such as
        ``predict_pmf(X)[:, 1]`` of a randomized classifier.
    pos_label : label, optional
        The favourable label; by default 1, or the second of two other labels in sorted order.
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> selection_rate([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.375
    """
    return _everybody(SELECTION, y_true, y_pred, pos_label, sample_weight)


def true_positive_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 1 who are selected: P[h = 1 | Y = 1]. NaN if there are none.

    Parameters are those of `selection_rate`.

    >>> true_positive_rate([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.75
    """
    return _everybody(TPR, y_true, y_pred, pos_label, sample_weight)


def false_positive_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 0 who are selected: P[h = 1 | Y = 0]. NaN if there are none.

    Parameters are those of `selection_rate`.

    >>> false_positive_rate([0, 1, 1, 0], [0, 1, 0.5, 0.5])
    0.25
    """
    return _everybody(FPR, y_true, y_pred, pos_label, sample_weight)


def true_negative_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 0 who are not selected: P[h = 0 | Y = 0].

    Parameters are those of `selection_rate`.

    >>> true_negative_rate([0, 1, 1, 0], [0, 1, 0.5, 0.5])
    0.75
    """
    return _everybody(TNR, y_true, y_pred, pos_label, sample_weight)


def false_negative_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 1 who are not selected: P[h = 0 | Y = 1].

    Parameters are those of `selection_rate`.

    >>> false_negative_rate([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.25
    """
    return _everybody(FNR, y_true, y_pred, pos_label, sample_weight)


def error_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the decisions that are wrong, in expectation over the draws: P[h != Y].

    Parameters are those of `selection_rate`.

    >>> error_rate([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.125
    """
    return _everybody(ERROR, y_true, y_pred, pos_label, sample_weight)


def accuracy_score(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the decisions that are right, in expectation over the draws: P[h = Y].

    scikit-learn's function of the same name, also for probabilities. Parameters are those of
    `selection_rate`.

    >>> accuracy_score([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.875
    """
    return _everybody(ACCURACY, y_true, y_pred, pos_label, sample_weight)
