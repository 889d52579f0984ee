"""Metrics: rates by group, the disparities between them, and how sure one can be of both.

Every function takes decisions (labels) or the probabilities of a randomized classifier,
``predict_proba(X)[:, 1]``. Names and values are those of ``fairlearn.metrics`` where both exist.
"""

from typing import Any

from equipoise.constraints.fairlearn_words import missing
from equipoise.metrics.by_group import group_table
from equipoise.metrics.disparities import (
    demographic_parity_difference,
    demographic_parity_ratio,
    demographic_parity_violation,
    distribution_parity_violation,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    equalized_odds_violation,
)
from equipoise.metrics.intervals import Interval, confidence_interval
from equipoise.metrics.pairs import compare_groups
from equipoise.metrics.rates import (
    accuracy_score,
    error_rate,
    false_discovery_rate,
    false_negative_rate,
    false_omission_rate,
    false_positive_rate,
    precision,
    selection_rate,
    true_negative_rate,
    true_positive_rate,
)
from equipoise.metrics.scorers import make_scorer
from equipoise.metrics.table import GroupTable

__all__ = [
    "demographic_parity_violation",
    "equalized_odds_violation",
    "distribution_parity_violation",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "true_negative_rate",
    "false_negative_rate",
    "precision",
    "false_discovery_rate",
    "false_omission_rate",
    "error_rate",
    "accuracy_score",
    "group_table",
    "GroupTable",
    "confidence_interval",
    "compare_groups",
    "Interval",
    "make_scorer",
]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)
