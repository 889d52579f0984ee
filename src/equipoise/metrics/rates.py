"""Rates: how often something happens to the people of a group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.rows import Array, Mask
from equipoise.metrics.audit import Audit

#: g(label, prediction) as a 2 x 2 table: what is averaged.
SELECTION = ((0.0, 1.0), (0.0, 1.0))
REJECTION = ((1.0, 0.0), (1.0, 0.0))
ERROR = ((0.0, 1.0), (1.0, 0.0))
ACCURACY = ((1.0, 0.0), (0.0, 1.0))
LABEL = ((0.0, 0.0), (1.0, 1.0))


class Rate(NamedTuple):
    """The mean of ``utility[label][prediction]`` among the people whose label is ``given``."""

    name: str
    utility: tuple[tuple[float, float], tuple[float, float]]
    given: int | None = None

    def event(self, audit: Audit) -> Mask:
        """Return the cells that count."""
        label = audit.cells.label
        return np.ones(len(label), dtype=bool) if self.given is None else label == self.given

    def of(self, audit: Audit, masks: Mask, mass: Array, selected: Array) -> Array:
        """Return the rate in each of the masks (G, C): shape (..., G), NaN where nobody is.

        ``mass`` and ``selected`` are of shape (..., C).
        """
        low, high = np.array(self.utility)[audit.cells.label].T
        inside = (masks & self.event(audit)).T.astype(float)
        total = mass @ inside
        with np.errstate(invalid="ignore", divide="ignore"):
            return ((low * (mass - selected) + high * selected) @ inside) / total


SELECTION_RATE = Rate("selection_rate", SELECTION)
TRUE_POSITIVE_RATE = Rate("true_positive_rate", SELECTION, 1)
FALSE_POSITIVE_RATE = Rate("false_positive_rate", SELECTION, 0)
TRUE_NEGATIVE_RATE = Rate("true_negative_rate", REJECTION, 0)
FALSE_NEGATIVE_RATE = Rate("false_negative_rate", REJECTION, 1)
ERROR_RATE = Rate("error_rate", ERROR)
ACCURACY_SCORE = Rate("accuracy_score", ACCURACY)
BASE_RATE = Rate("base_rate", LABEL)


def _everybody(rate: Rate, y_true: Any, y_pred: Any, pos_label: Any, sample_weight: Any) -> float:
    audit = Audit.read(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label)
    everybody = np.ones((1, audit.cells.n_cells), dtype=bool)
    return float(rate.of(audit, everybody, audit.mass, audit.selected)[0])


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
    return _everybody(SELECTION_RATE, y_true, y_pred, pos_label, sample_weight)


def true_positive_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 1 who are selected: P[h = 1 | Y = 1]. NaN if there are none.

    Parameters are those of `selection_rate`.

    >>> true_positive_rate([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.75
    """
    return _everybody(TRUE_POSITIVE_RATE, y_true, y_pred, pos_label, sample_weight)


def false_positive_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 0 who are selected: P[h = 1 | Y = 0]. NaN if there are none.

    Parameters are those of `selection_rate`.

    >>> false_positive_rate([0, 1, 1, 0], [0, 1, 0.5, 0.5])
    0.25
    """
    return _everybody(FALSE_POSITIVE_RATE, y_true, y_pred, pos_label, sample_weight)


def true_negative_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 0 who are not selected: P[h = 0 | Y = 0].

    Parameters are those of `selection_rate`.

    >>> true_negative_rate([0, 1, 1, 0], [0, 1, 0.5, 0.5])
    0.75
    """
    return _everybody(TRUE_NEGATIVE_RATE, y_true, y_pred, pos_label, sample_weight)


def false_negative_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the people with label 1 who are not selected: P[h = 0 | Y = 1].

    Parameters are those of `selection_rate`.

    >>> false_negative_rate([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.25
    """
    return _everybody(FALSE_NEGATIVE_RATE, y_true, y_pred, pos_label, sample_weight)


def error_rate(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the decisions that are wrong, in expectation over the draws: P[h != Y].

    Parameters are those of `selection_rate`.

    >>> error_rate([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.125
    """
    return _everybody(ERROR_RATE, y_true, y_pred, pos_label, sample_weight)


def accuracy_score(
    y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Share of the decisions that are right, in expectation over the draws: P[h = Y].

    scikit-learn's function of the same name, also for probabilities. Parameters are those of
    `selection_rate`.

    >>> accuracy_score([0, 1, 1, 0], [0, 1, 0.5, 0])
    0.875
    """
    return _everybody(ACCURACY_SCORE, y_true, y_pred, pos_label, sample_weight)
