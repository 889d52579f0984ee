"""Disparities: how far the rates of groups are apart, in one number."""

from __future__ import annotations

from typing import Any

from equipoise.metrics.audit import Audit
from equipoise.metrics.comparison import (
    DEMOGRAPHIC_PARITY,
    EQUAL_OPPORTUNITY,
    EQUALIZED_ODDS,
    Agg,
    Disparity,
    Method,
)


def demographic_parity_violation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """The paper's violation of demographic parity: max_a \\|E[h | A=a] - E[h]\\|.

    What ``DemographicParity(eps)`` bounds by ``eps``. The same as `demographic_parity_difference`
    with ``method="to_overall"``.

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label
        See `selection_rate`. The labels are not used, but are needed to tell their kind.
    sensitive_features : array-like or data frame of n rows
        The groups; of several columns, every combination that occurs.
    control_features : array-like or data frame of n rows, optional
        Compare within each of their values, and take the worst.

    Examples
    --------
    >>> demographic_parity_violation([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"))
    0.25
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(DEMOGRAPHIC_PARITY).of(audit, "to_overall", "worst_case")


def equalized_odds_violation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """The paper's violation of equalized odds: max_{a,y} \\|E[h | A=a, Y=y] - E[h | Y=y]\\|.

    What ``EqualizedOdds(eps)`` bounds by ``eps``. Parameters are those of
    `demographic_parity_violation`.

    Examples
    --------
    >>> A = list("aaabbb")
    >>> equalized_odds_violation([0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0], sensitive_features=A)
    0.25
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(EQUALIZED_ODDS).of(audit, "to_overall", "worst_case")


def demographic_parity_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Largest difference of selection rates.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
        See `demographic_parity_violation`.
    method : "between_groups" or "to_overall", default="between_groups"
        The gap between the highest and the lowest group, or the largest distance of a group from
        everybody: the paper's.

    Examples
    --------
    >>> demographic_parity_difference([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"))
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(DEMOGRAPHIC_PARITY).of(audit, method, "worst_case")


def demographic_parity_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Smallest ratio of selection rates; the four-fifths rule asks for 0.8 between groups.

    Parameters are those of `demographic_parity_difference`. One where nobody is selected.

    >>> demographic_parity_ratio([0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"))
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(DEMOGRAPHIC_PARITY, ratio=True).of(audit, method, "worst_case")


def equalized_odds_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    agg: Agg = "worst_case",
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Largest difference of true-positive rates or of false-positive rates.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, method, control_features, sample_weight, pos_label
        See `demographic_parity_difference`.
    agg : "worst_case" or "mean", default="worst_case"
        The greater of the two differences, or their mean.

    Examples
    --------
    >>> A = list("aaabbb")
    >>> equalized_odds_difference([0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0], sensitive_features=A)
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(EQUALIZED_ODDS).of(audit, method, agg)


def equalized_odds_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    agg: Agg = "worst_case",
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Smallest ratio of true-positive rates or of false-positive rates.

    Parameters are those of `equalized_odds_difference`.

    >>> A = list("aaabbb")
    >>> equalized_odds_ratio([0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 1, 0], sensitive_features=A)
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(EQUALIZED_ODDS, ratio=True).of(audit, method, agg)


def equal_opportunity_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Largest difference of true-positive rates.

    Parameters are those of `demographic_parity_difference`.

    >>> A = list("aaabbb")
    >>> equal_opportunity_difference([0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0], sensitive_features=A)
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(EQUAL_OPPORTUNITY).of(audit, method, "worst_case")


def equal_opportunity_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Smallest ratio of true-positive rates.

    Parameters are those of `demographic_parity_difference`.

    >>> A = list("aaabbb")
    >>> equal_opportunity_ratio([0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0], sensitive_features=A)
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    return Disparity(EQUAL_OPPORTUNITY, ratio=True).of(audit, method, "worst_case")
