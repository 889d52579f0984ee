"""Rates: how often something happens to the people of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.constraints.rates import ACCURACY, ERROR, FNR, FPR, SELECTION, TNR, TPR, Rate
from equipoise.metrics.decisions import audit_of
from equipoise.metrics.predictive import FALSE_DISCOVERY, FALSE_OMISSION, PRECISION, Predictive

Metric = Callable[..., float]

#: The rate that each function measures.
RATE_OF: dict[Metric, Rate | Predictive] = {}

_DOC = """{what}

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind; more with ``pos_label``, or for errors.
    y_pred : array-like of shape (n,)
        Labels of the same kind, or probabilities of being selected, such as
        ``predict_proba(X)[:, 1]`` of a randomized classifier.
    pos_label : label, optional
        The favourable label; by default 1 or True, the larger of two numbers, or of two texts the
        one that plain words say, such as "yes" of "no" and "yes". Other texts need it.
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> {name}([0, 1, 1, 0], [0, 1, 0.5, 0.5])
    {example}
    """


def _of_everybody(rate: Rate | Predictive, what: str, example: float) -> Metric:
    """Make the function that measures a rate over everybody."""

    def metric(
        y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None
    ) -> float:
        audit, measured = audit_of(rate, y_true, y_pred, sample_weight, pos_label)
        everybody = np.ones((1, audit.cells.n_cells), dtype=bool)
        return float(audit.rate(measured, everybody)[0])

    RATE_OF[metric] = rate
    anybody = isinstance(rate, Rate) and rate.given is None
    what += "" if anybody else " NaN if there are none."
    return named(metric, rate.column, _DOC.format(what=what, name=rate.column, example=example))


def named(metric: Metric, name: str, doc: str) -> Metric:
    """Give a function that was made from a table its name and its documentation."""
    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = doc
    return metric


selection_rate = _of_everybody(SELECTION, "Share of the people who are selected: P[h = 1].", 0.5)
true_positive_rate = _of_everybody(
    TPR, "Share of the people with label 1 who are selected: P[h = 1 | Y = 1].", 0.75
)
false_positive_rate = _of_everybody(
    FPR, "Share of the people with label 0 who are selected: P[h = 1 | Y = 0].", 0.25
)
true_negative_rate = _of_everybody(
    TNR, "Share of the people with label 0 who are not selected: P[h = 0 | Y = 0].", 0.75
)
false_negative_rate = _of_everybody(
    FNR, "Share of the people with label 1 who are not selected: P[h = 0 | Y = 1].", 0.25
)
error_rate = _of_everybody(
    ERROR, "Share of the decisions that are wrong, in expectation over the draws: P[h != Y].", 0.25
)
accuracy_score = _of_everybody(
    ACCURACY, "Share of the decisions that are right, also for probabilities: P[h = Y].", 0.75
)
precision = _of_everybody(
    PRECISION, "Share of the selected people whose label is 1: P[Y = 1 | h = 1].", 0.75
)
false_discovery_rate = _of_everybody(
    FALSE_DISCOVERY, "Share of the selected people whose label is 0: P[Y = 0 | h = 1].", 0.25
)
false_omission_rate = _of_everybody(
    FALSE_OMISSION, "Share of the people turned down whose label is 1: P[Y = 1 | h = 0].", 0.25
)
