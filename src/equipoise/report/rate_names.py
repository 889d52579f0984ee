"""Rates as tables call them, and who is counted among whom."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.constraints.rates import GROUP_RATES, of_decision, rate_and_decision
from equipoise.metrics.predictive import PREDICTIVE

#: Rate -> its name in tables. The first is of the labels, the others are of decisions.
RATE_NAMES = {rate.column: rate.words.capitalize() for rate in (*GROUP_RATES, *PREDICTIVE)}
#: Rate -> who is counted among whom.
RATE_MEANINGS = {rate.column: rate.meaning for rate in (*GROUP_RATES, *PREDICTIVE)}

#: Rate of one of several decisions -> its name in tables, and who is counted among whom.
_OF_DECISION = {
    "base_rate": ("Label {0}", "people whose label is {0}, among all"),
    "selection_rate": ("Get {0}", "people who get {0}, among all"),
    "true_positive_rate": (
        "Label {0}, get it",
        "people who get {0}, among those whose label is {0}",
    ),
    "false_positive_rate": (
        "Other label, get {0}",
        "people who get {0}, among those whose label is another",
    ),
    "precision": ("Get {0}, have its label", "people whose label is {0}, among those who get it"),
    "false_discovery_rate": (
        "Get {0}, other label",
        "people whose label is another, among those who get {0}",
    ),
    "false_omission_rate": (
        "Get another, label {0}",
        "people whose label is {0}, among those who get another decision",
    ),
}


def rate_name(rate: str) -> str:
    """Return what a rate is called in tables.

    >>> rate_name("selection_rate"), rate_name("selection_rate[refer]")
    ('Selected', 'Get refer')
    """
    name, decision = rate_and_decision(rate)
    return RATE_NAMES[rate] if decision is None else _OF_DECISION[name][0].format(decision)


def rate_meaning(rate: str) -> str:
    """Return who is counted among whom."""
    name, decision = rate_and_decision(rate)
    return RATE_MEANINGS[rate] if decision is None else _OF_DECISION[name][1].format(decision)


def rates_of(rates: Sequence[str], decision: str) -> list[str]:
    """Return rates of one of several decisions; errors are of all of them.

    >>> rates_of(["selection_rate", "error_rate"], "refer")
    ['selection_rate[refer]']
    """
    return [of_decision(rate, decision) for rate in rates if rate != "error_rate"]
