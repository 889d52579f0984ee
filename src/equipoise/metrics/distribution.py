"""How far those selected are distributed otherwise than all: the Kolmogorov distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.metrics.audit import Audit


def distribution_parity_violation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    r"""The largest difference, over thresholds t, of the shares above t of those selected and all.

    What ``DistributionParity(feature, eps)`` bounds by ``eps``: max_t \|P[A>=t \| h=1] - P[A>=t]\|,
    the Kolmogorov distance of two distributions. NaN where nobody is selected.

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label
        See `selection_rate`.
    sensitive_features : array-like of n rows
        One column of numbers, dates or an ordered category.
    control_features : array-like or data frame of n rows, optional
        The distance is taken within each of their values; the largest counts.

    Examples
    --------
    >>> y_true, y_pred, age = [0, 1, 0, 1], [0, 0, 1, 1], [20, 30, 40, 50]
    >>> distribution_parity_violation(y_true, y_pred, sensitive_features=age)
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    if len(audit.cells.sensitive) != 1:
        raise ValueError(
            f"sensitive_features has {len(audit.cells.sensitive)} columns; expected one, over "
            "whose values distributions are compared."
        )
    values, distances = np.array(list(audit.cells.groups().values())), []
    for stratum in audit.cells.strata().values():
        inside = (values & stratum).astype(float)
        if not (inside @ audit.selected).sum() > 0:
            continue
        # Shares up to each value: one less these are the shares above it.
        shares = (np.cumsum(inside @ mass) for mass in (audit.mass, audit.selected))
        everybody, selected = (share / share[-1] for share in shares)
        distances.append(float(np.abs(everybody - selected).max()))
    return max(distances, default=float("nan"))
